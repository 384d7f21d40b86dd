// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// The places of keys are found for tables up to maxDepth deep whose dotted names have at most maxPath bytes.
// No key of ours is beyond, and the paths of all keys of a document could have the square of its size.
const (
	maxDepth = 6
	maxPath  = 1 << 10
)

type place struct{ line, col int }

// places knows where each key and table of a file stands.
type places map[string]place

// of returns the place of a dotted key, else that of the nearest table around it, else the start of the file;
// the zero place when there is no file at all.
func (p places) of(path string) place {
	if p == nil {
		return place{}
	}
	for path != "" {
		if at, ok := p[path]; ok {
			return at
		}
		if base, _, ok := strings.Cut(path, "["); ok && strings.HasSuffix(path, "]") {
			path = base
		} else {
			path, _ = cutLast(path)
		}
	}
	return place{1, 1}
}

// findPlaces walks the syntax tree of a document that go-toml has already accepted.
func findPlaces(data []byte) places {
	out := places{}
	var starts []int // offset of each line
	for off := 0; ; {
		starts = append(starts, off)
		i := bytes.IndexByte(data[off:], '\n')
		if i < 0 {
			break
		}
		off += i + 1
	}
	add := func(path string, n *unstable.Node) {
		if _, seen := out[path]; seen || n == nil {
			return
		}
		off := int(n.Raw.Offset)
		line := sort.SearchInts(starts, off+1)
		out[path] = place{line, off - starts[line-1] + 1}
	}
	// keys adds the parts of a dotted key
	keys := func(prefix string, depth int, it unstable.Iterator) (string, int) {
		for ; depth < maxDepth && it.Next(); depth++ {
			if len(prefix)+len(it.Node().Data) > maxPath {
				return prefix, maxDepth
			}
			prefix = join(prefix, string(it.Node().Data))
			add(prefix, it.Node())
		}
		return prefix, depth
	}
	var keyValue func(prefix string, depth int, n *unstable.Node)
	keyValue = func(prefix string, depth int, n *unstable.Node) {
		prefix, depth = keys(prefix, depth, n.Key())
		if v := n.Value(); depth < maxDepth && v.Kind == unstable.InlineTable {
			for it := v.Children(); it.Next(); {
				if it.Node().Kind == unstable.KeyValue {
					keyValue(prefix, depth, it.Node())
				}
			}
		}
	}
	elements := map[string]int{} // of arrays of tables
	var p unstable.Parser
	p.Reset(data)
	table, depth := "", 0
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table:
			table, depth = keys("", 0, n.Key())
		case unstable.ArrayTable:
			table, depth = keys("", 0, n.Key())
			elements[table]++
			table = fmt.Sprintf("%s[%d]", table, elements[table]-1)
			add(table, firstKey(n))
		case unstable.KeyValue:
			keyValue(table, depth, n)
		}
	}
	return out
}

// firstKey returns the first part of the name of a table.
func firstKey(n *unstable.Node) *unstable.Node {
	it := n.Key()
	if !it.Next() {
		return nil
	}
	return it.Node()
}

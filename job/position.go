// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
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

// findPlaces finds the keys of a document that go-toml has already accepted.
func findPlaces(data []byte) places {
	out := places{}
	line, start := 1, 0
	for _, p := range outlineOf(data).parts {
		if between := data[start:p.at]; bytes.IndexByte(between, '\n') >= 0 {
			line += bytes.Count(between, []byte{'\n'})
			start += bytes.LastIndexByte(between, '\n') + 1
		}
		if _, seen := out[p.path]; !seen {
			out[p.path] = place{line, p.at - start + 1}
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

// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"

	"github.com/pelletier/go-toml/v2/unstable"
)

// maxKeys is how many keys and tables a document may have at a time. The decoder compares each with all
// before it, excepted those of earlier elements of a [[list]].
const maxKeys = 1000

// cut is a place in a document, and the offset at which its line starts.
type cut struct {
	place
	start int
}

// crowded returns the place of the first expression with which a document has too many keys. Its time and
// memory grow with the size of the document alone. A syntax error ends it.
func crowded(data []byte) (at cut, ok bool) {
	var p unstable.Parser
	p.Reset(data)
	all, inList, list := 0, 0, false // keys; those below the last [[…]]
	for p.NextExpression() {
		n := p.Expression()
		if n.Kind != unstable.KeyValue {
			all, inList, list = all-inList, 0, n.Kind == unstable.ArrayTable
		}
		some := keysIn(n)
		if all += some; list {
			inList += some
		}
		if all > maxKeys {
			off := int(firstKey(n).Raw.Offset)
			start := bytes.LastIndexByte(data[:off], '\n') + 1
			line := bytes.Count(data[:start], []byte{'\n'}) + 1
			return cut{place{line, off - start + 1}, start}, true
		}
	}
	return cut{}, false
}

// keysIn counts the keys of an expression or a value. Of a list the element that has most counts.
func keysIn(n *unstable.Node) (all int) {
	switch n.Kind {
	case unstable.KeyValue:
		all = keysIn(n.Value())
		fallthrough
	case unstable.Table, unstable.ArrayTable:
		for it := n.Key(); it.Next(); {
			all++
		}
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			all += keysIn(it.Node())
		}
	case unstable.Array:
		for it := n.Children(); it.Next(); {
			all = max(all, keysIn(it.Node()))
		}
	}
	return all
}

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
	c := crowd{ids: map[edge]int{}, nodes: []crowdNode{{edge: edge{parent: -1}}}}
	var p unstable.Parser
	p.Reset(data)
	table := 0
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table:
			table = c.keys(0, n.Key())
		case unstable.ArrayTable:
			before := c.keys(0, n.Key())
			c.drop(before)
			table = c.add(c.nodes[before].edge)
		case unstable.KeyValue:
			c.value(c.keys(table, n.Key()), n.Value())
		}
		if c.full {
			off := int(firstKey(n).Raw.Offset)
			start := bytes.LastIndexByte(data[:off], '\n') + 1
			line := bytes.Count(data[:start], []byte{'\n'}) + 1
			return cut{place{line, off - start + 1}, start}, true
		}
	}
	return cut{}, false
}

// crowd is the tree of keys of a document so far. It ends when it is full, so that to walk up costs little.
type crowd struct {
	ids   map[edge]int
	nodes []crowdNode // by id; 0 is the root
	full  bool
}

type edge struct {
	parent int
	name   string
}

type crowdNode struct {
	edge
	below int // keys and tables below it
}

// keys adds the parts of a dotted key, and returns the id of the last.
func (c *crowd) keys(parent int, it unstable.Iterator) int {
	for it.Next() && !c.full {
		e := edge{parent, string(it.Node().Data)}
		id, known := c.ids[e]
		if !known {
			id = c.add(e)
		}
		parent = id
	}
	return parent
}

func (c *crowd) add(e edge) int {
	id := len(c.nodes)
	c.nodes = append(c.nodes, crowdNode{edge: e})
	c.ids[e] = id
	for up := e.parent; up >= 0; up = c.nodes[up].parent {
		c.nodes[up].below++
	}
	c.full = c.full || c.nodes[0].below > maxKeys
	return id
}

// drop takes a key or table, and all below it, from the count.
func (c *crowd) drop(id int) {
	n := c.nodes[id]
	for up := n.parent; up >= 0; up = c.nodes[up].parent {
		c.nodes[up].below -= n.below + 1
	}
}

// value adds the keys of inline tables.
func (c *crowd) value(parent int, v *unstable.Node) {
	if v.Kind != unstable.InlineTable && v.Kind != unstable.Array {
		return
	}
	for it := v.Children(); it.Next() && !c.full; {
		switch n := it.Node(); n.Kind {
		case unstable.KeyValue:
			c.value(c.keys(parent, n.Key()), n.Value())
		case unstable.InlineTable, unstable.Array:
			element := c.add(edge{parent, ""})
			c.value(element, n)
			c.drop(element)
		}
	}
}

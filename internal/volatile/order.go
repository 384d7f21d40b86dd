// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Some programs have no order for things of equal rank, or keep them in a table without one: two answers of
// one moment show the same lines or items in another order. The element that holds them is a position. What
// they say counts there, their order does not.

// block is an element with its content. One with an id or a class is named by these, as an element is;
// another one by its name, its place among those of its kind, and the element around it.
type block struct {
	path     Position
	name     string
	tag      []byte // its start tag
	from, to int    // its content
	around   int    // the block around it, or -1
	depth    int    // blocks around it
	near     Position
}

const (
	mostBlocks  = 1 << 14 // that are looked at in a document
	mostTried   = 16      // blocks of two answers that are compared for their order
	separators  = " \t\r\n,;|"
	impliedEnds = " li p dt dd tr td th option tbody thead "
)

// blocksOf returns the elements of a document, in the order of their beginnings.
func blocksOf(doc []byte) (out []block) {
	nth, in := map[Position]int{}, -1
	for i := 0; i < len(doc) && len(out) < mostBlocks; {
		n, k := cut(doc[i:])
		seg, at := doc[i:i+n], i
		if i += n; k != tag || len(seg) < 3 {
			continue
		}
		if seg[1] == '/' {
			name, _, _ := nextAttr(seg[2:])
			in = closed(out, in, strings.ToLower(string(name)), at, "")
			continue
		}
		first, _, _ := nextAttr(seg[1:])
		if !letter(seg[1]) || isVoid(first) || bytes.HasSuffix(seg, []byte("/>")) {
			continue
		}
		if isRaw(first) {
			i += rawLen(doc[i:], first)
			continue
		}
		b := block{
			name: strings.ToLower(string(first)),
			tag:  seg,
			from: i,
			to:   len(doc),
		}
		if strings.Contains(impliedEnds, " "+b.name+" ") {
			in = closed(out, in, b.name, at, impliedEnds)
		}
		if b.around = in; in >= 0 {
			b.near, b.depth = out[in].near, out[in].depth+1
		}
		if b.depth == mostDepth {
			continue
		}
		if ids := idsOf(unmarked(seg), allClasses); len(ids) > 0 && wholeName(seg) == nil {
			b.near = hashOf(b.near, ids...)
			b.path = hashOf(b.near, []byte("order"))
		} else {
			kind := hashOf(b.near, []byte(b.name))
			nth[kind]++
			b.path = hashOf(kind, []byte("order"), []byte{byte(nth[kind])})
		}
		in = len(out)
		out = append(out, b)
	}
	return out
}

// closed ends the innermost open block of a name, and those in it, and returns the one around it. With only,
// no block of another name than one of those is ended.
func closed(all []block, in int, name string, at int, only string) int {
	for k := in; k >= 0; k = all[k].around {
		if all[k].name != name {
			if only != "" && !strings.Contains(only, " "+all[k].name+" ") {
				break
			}
			continue
		}
		for ; in != all[k].around; in = all[in].around {
			all[in].to = at
		}
		break
	}
	return in
}

// unmarked returns a tag with # for each masked value.
func unmarked(seg []byte) []byte {
	for i := bytes.IndexByte(seg, mark); i >= 0 && i+1 < len(seg); i = bytes.IndexByte(seg, mark) {
		seg = slices.Concat(seg[:i], []byte{'#'}, seg[i+2:])
	}
	return seg
}

// How fine the content of an element is cut into items: at blank lines and before elements that are no part
// of a line, at each line, and before each element.
const (
	paragraphs = iota
	lines
	elements
	finest = elements
)

// itemsOf returns the items directly in the content of an element, without what separates them.
func itemsOf(content []byte, how int) (items []span) {
	start := 0
	end := func(at int) {
		text := bytes.Trim(content[start:at], separators)
		if len(text) > 0 {
			from := start + bytes.Index(content[start:at], text)
			items = append(items, span{from, from + len(text)})
		}
		start = at
	}
	inner := blocksOf(content)
	for i, next := 0, 0; i < len(content); {
		n, k := cut(content[i:])
		if k == tag && n > 2 && content[i+1] != '/' {
			if name, _, _ := nextAttr(content[i+1 : i+n]); how == elements || !isInline(name) {
				end(i)
			}
		}
		i += n
		for next < len(inner) && inner[next].from < i {
			next++
		}
		if next < len(inner) && inner[next].from == i { // an element directly in it
			i = inner[next].to
			continue
		}
		if k == text && content[i-1] == '\n' {
			if line := bytes.LastIndexByte(content[:i-1], '\n') + 1; how >= lines || blank(content[line:i]) {
				end(i)
			}
		}
	}
	end(len(content))
	return items
}

// isInline reports whether an element is a part of a line.
func isInline(name []byte) bool {
	switch string(bytes.ToLower(name)) {
	case "a", "abbr", "b", "bdi", "br", "button", "cite", "code", "em", "font", "i", "img", "input", "kbd",
		"label", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var",
		"wbr":
		return true
	}
	return false
}

// inOrder returns the content of an element with its items, and what separates them, in the order of their
// bytes.
func inOrder(content []byte, how int) []byte {
	var texts, between [][]byte
	at := 0
	for _, x := range itemsOf(content, how) {
		texts, between = append(texts, content[x.from:x.to]), append(between, content[at:x.from])
		at = x.to
	}
	between = append(between, content[at:])
	slices.SortFunc(texts, bytes.Compare)
	slices.SortFunc(between, bytes.Compare)
	out := append(make([]byte, 0, len(content)), between[0]...)
	for i, text := range texts {
		out = append(append(out, text...), between[i+1]...)
	}
	return out
}

// order puts the items of the known elements of a masked document in the order of their texts: inner ones
// first. Their sum of bytes stays.
func (m *masking) order(k Positions) {
	known := func(at At) bool { return at.Kind == Order }
	if !slices.ContainsFunc(slices.Collect(maps.Values(k)), known) {
		return
	}
	for _, b := range slices.Backward(blocksOf(m.Body)) {
		if known(k[b.path]) {
			was := bytes.Clone(m.Body[b.from:b.to])
			copy(m.Body[b.from:b.to], inOrder(m.Body[b.from:b.to], k[b.path].Short))
			m.Hits = append(m.Hits, Sighting{
				Position: b.path,
				Value:    was,
				Where:    Short(b.tag),
				kind:     Order,
			})
		}
	}
}

// reordered returns the innermost elements of two answers around two places that hold the same items in
// another order, and how these are cut: as coarse as can be. It returns nil for none.
func (p *pair) reordered(i, j int) (in, to *block, how int) {
	if p.blocks == nil {
		p.blocks, p.twins, p.tried = blocksOf(p.a.doc), blocksOf(p.b.doc), map[*block]bool{}
	}
	for x := range enclosing(p.blocks, i) {
		for y := range enclosing(p.twins, j) {
			same := x.path == y.path && x.to-x.from == y.to-y.from
			if !same || p.tried[x] || len(p.tried) == mostTried {
				continue
			}
			p.tried[x] = true
			for how := range finest + 1 {
				if bytes.Equal(inOrder(p.a.doc[x.from:x.to], how), inOrder(p.b.doc[y.from:y.to], how)) {
					return x, y, how
				}
			}
		}
	}
	return nil, nil, 0
}

// enclosing returns the blocks around a place, the innermost first.
func enclosing(all []block, at int) iter.Seq[*block] {
	return func(yield func(*block) bool) {
		k, _ := slices.BinarySearchFunc(all, at+1, func(b block, at int) int { return b.from - at })
		for k--; k >= 0; k = all[k].around {
			if all[k].to > at && !yield(&all[k]) {
				return
			}
		}
	}
}

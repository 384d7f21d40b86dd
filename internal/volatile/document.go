// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"slices"
	"strings"
)

// Limits of a region.
const (
	mostRegion = 8 << 10 // bytes
	mostDepth  = 256     // open elements of a document
)

// span is doc[from:to].
type span struct{ from, to int }

// unit is a word that may stand at a position: it looks like a number or a token.
type unit struct {
	span
	narrow, wide Position // with the words beside it; without them, 0 where these matter
	value        span     // the attribute that has it
	tag          span     // what has it, for a person
	prose, leads bool     // in a text that is shown; in an address
	ages         bool     // it says how long ago something was, and has no position
	dates        bool     // it is a word of a date, and has no position
	fixed        bool     // it is in an attribute that says something, see mayVary
}

// segmentAt is a tag, a comment, or a text, with its units.
type segmentAt struct {
	span
	kind
	first, last int
}

// element is an element with an id or a class, named by a hash of these and of the first ones of the elements
// around it.
type element struct {
	path     Position
	tag      []byte // its start tag
	from, to int    // its content; to is 0 when it has no end tag
}

// small reports whether the content is as short as that of a region may be, in bytes and beside the document.
func (e *element) small(doc []byte) bool {
	n := e.to - e.from
	return (e.to > 0) && (n <= mostRegion) && n <= len(doc)/2
}

// opened is an element whose end tag has not come.
type opened struct {
	name []byte
	tag  span
	path Position // of the innermost element with an id or a class up to here
	self Position // of the element: its attributes, or its name and those of the element around it
	near Position // of the innermost element with an id or a class, alone
	at   int      // of the element in the result, or -1
	own  bool     // it has an id or a class
}

// document is a document that was read.
type document struct {
	doc      []byte
	segs     []segmentAt
	units    []unit
	elements []element
	leads    []span // values that lead somewhere

	whole [][]byte // the id and first classes of html and body
	head  int      // elements before the body

	open []opened
	last []byte // the last word of the text before
}

// of returns a unit's value.
func (d *document) of(u *unit) []byte { return d.doc[u.from:u.to] }

// around returns the bytes near a unit.
func (d *document) around(u *unit) []byte {
	return d.doc[max(0, u.from-nearBefore):min(len(d.doc), u.to+nearAfter)]
}

// in returns the known position of a unit that its value fits.
func (u *unit) in(k Positions, d *document) (Position, bool) {
	for _, at := range [...]Position{u.narrow, u.wide} {
		if a, ok := k[at]; ok && at != 0 && a.fits(d.of(u)) {
			return at, true
		}
	}
	return 0, false
}

// beside returns the known position in the comment of a unit: what a program notes there, it notes of the
// answer, although some of it is the same most of the time. No reader sees it.
func (d *document) beside(k Positions, u *unit) (Position, bool) {
	at := d.segAt(u.tag.from)
	if at == len(d.segs) || d.segs[at].kind != comment || d.segs[at].span != u.tag {
		return 0, false
	}
	s := &d.segs[at]
	for i := s.first; i < s.last; i++ {
		if at, ok := d.units[i].in(k, d); ok {
			return at, true
		}
	}
	return 0, false
}

// where names a unit for a person: what stands around it, with # for itself.
func (d *document) where(u *unit) string {
	from, to := max(u.tag.from, u.from-maxExample/2), min(u.tag.to, u.to+maxExample/4)
	return Short(slices.Concat(d.doc[from:u.from], []byte("#"), d.doc[u.to:to]))
}

// segAt returns the first segment that begins at a byte or after it.
func (d *document) segAt(at int) int {
	i, _ := slices.BinarySearchFunc(d.segs, at, func(s segmentAt, at int) int { return s.from - at })
	return i
}

// read takes a document apart.
func read(doc []byte) *document {
	d := &document{doc: doc}
	if b := bytes.TrimLeft(doc, " \t\r\n\ufeff"); len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		d.add(span{0, len(doc)}, text, func(s span) { d.script(s, hashOf(0)) })
		return d
	}
	for i := 0; i < len(doc); {
		n, k := cut(doc[i:])
		s := span{i, i + n}
		i += n
		switch k {
		case comment:
			d.add(s, k, func(s span) { d.text(s, s, hashOf(0, []byte("<!--")), 0, false) })
			continue
		case text:
			d.add(s, k, d.prose)
			continue
		}
		d.add(s, k, d.tag)
		if raw := d.nest(s); raw != nil {
			m := rawLen(doc[i:], raw)
			d.add(span{i, i + m}, text, d.raw)
			i += m
		}
	}
	return d
}

// HasPlaces reports whether a document has a position at which answers may differ.
func HasPlaces(doc []byte) bool {
	d := read(doc)
	return len(d.elements) > 0 || slices.ContainsFunc(d.units, func(u unit) bool { return !u.dates })
}

// add adds a segment and what scan finds in it.
func (d *document) add(s span, k kind, scan func(span)) {
	first := len(d.units)
	if s.to > s.from {
		scan(s)
		d.segs = append(d.segs, segmentAt{s, k, first, len(d.units)})
	}
}

// nest keeps the stack of open elements. It returns the name of an element that begins and holds no tags.
func (d *document) nest(s span) (raw []byte) {
	seg := d.doc[s.from:s.to]
	if len(seg) < 3 {
		return nil
	}
	if seg[1] == '/' {
		name, _, _ := nextAttr(seg[2:])
		d.close(name, s.from)
		return nil
	}
	name, _, _ := nextAttr(seg[1:])
	if !letter(seg[1]) || isVoid(name) || bytes.HasSuffix(seg, []byte("/>")) || len(d.open) == mostDepth {
		return nil
	}
	o := opened{name: name, tag: s, at: -1}
	if n := len(d.open); n > 0 {
		o.path, o.near = d.open[n-1].path, d.open[n-1].near
	}
	if o.self, o.own = d.named(seg, o.near); wholeName(seg) != nil {
		d.whole, d.head = append(d.whole, idsOf(seg, kindClasses)...), len(d.elements)
	}
	if o.own {
		path := hashOf(o.path, idsOf(seg, allClasses)...)
		o.path, o.near, o.at = hashOf(o.path, idsOf(seg, kindClasses)...), o.self, len(d.elements)
		d.elements = append(d.elements, element{path: path, tag: seg, from: s.to})
	}
	if d.open = append(d.open, o); isRaw(name) {
		return name
	}
	return nil
}

// close closes the innermost element of a name.
func (d *document) close(name []byte, at int) {
	for k, o := range slices.Backward(d.open) {
		if bytes.EqualFold(o.name, name) {
			if o.at >= 0 {
				d.elements[o.at].to = at
			}
			d.open = d.open[:k]
			return
		}
	}
}

// idsOf returns the id and the first classes of a start tag, without what may be of the page.
func idsOf(seg []byte, most int) (out [][]byte) {
	for rest := seg[1:]; len(rest) > 0; {
		name, value, n := nextAttr(rest)
		rest = rest[n:]
		switch {
		case len(value) == 0:
		case bytes.EqualFold(name, []byte("id")):
			out = append(out, name, plain(value))
		case bytes.EqualFold(name, []byte("class")):
			classes := bytes.Fields(value)
			out = append(out, name, plain(bytes.Join(classes[:min(len(classes), most)], []byte{' '})))
		}
	}
	return out
}

// How many classes of an element count. Those of one that holds others say its kind first, and then, as in
// "archive category tides", its subject.
const (
	kindClasses = 2
	allClasses  = 1 << 10
)

// wholeName returns the name of a tag of what holds all of a page; nil of another one. Its classes name the
// page and its subject, not a place of the template.
func wholeName(seg []byte) []byte {
	for _, name := range [...]string{"html", "body"} {
		if n := len(name) + 1; len(seg) > n && !letter(seg[n]) && strings.EqualFold(string(seg[1:n]), name) {
			return []byte(name)
		}
	}
	return nil
}

// named names an element by its fixed attributes, or, without one that tells it from others, by its name and
// the element around it. own reports whether it has an id or a class.
func (d *document) named(seg []byte, near Position) (at Position, own bool) {
	parts, tells := [][]byte{}, false
	if name := wholeName(seg); name != nil {
		return hashOf(0, name), false
	}
	for rest, first := seg[1:], true; len(rest) > 0; first = false {
		name, value, n := nextAttr(rest)
		rest = rest[n:]
		if first {
			parts = append(parts, bytes.ToLower(name))
			continue
		}
		switch string(bytes.ToLower(name)) {
		case "id", "class":
			own = own || len(value) > 0
		case "name", "property", "itemprop", "http-equiv", "rel":
			tells = true
		case "type":
		default:
			continue
		}
		parts = append(parts, name, plain(value))
	}
	if own || tells {
		near = 0
	}
	return hashOf(near, parts...), own
}

// plain returns a value with # for each number and each hexadecimal word in it.
func plain(v []byte) []byte {
	if !bytes.ContainsAny(v, "0123456789") && !isLetters(v) {
		return v
	}
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); {
		j := i
		for j < len(v) && (letter(v[j]) || digit(v[j])) {
			j++
		}
		w := v[i:j]
		switch {
		case j == i:
			out = append(out, v[i])
			j++
		case isHex(w) && (len(w) >= leastLetters || (len(w) >= leastToken && bytes.ContainsAny(w, "0123456789"))):
			out = append(out, '#')
		default:
			for k, c := range w {
				if !digit(c) {
					out = append(out, c)
				} else if k == 0 || !digit(w[k-1]) {
					out = append(out, '#')
				}
			}
		}
		i = j
	}
	return out
}

func isVoid(name []byte) bool {
	switch string(bytes.ToLower(name)) {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr":
		return true
	}
	return false
}

// isRaw reports whether an element holds text, in which no tags are.
func isRaw(name []byte) bool {
	switch string(bytes.ToLower(name)) {
	case "script", "style", "textarea", "title":
		return true
	}
	return false
}

// rawLen returns how much of b stands before the end tag of an element that holds text.
func rawLen(b, name []byte) int {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("</"))
		if i < 0 {
			return len(b)
		}
		if at += i; len(b)-at-2 >= len(name) && bytes.EqualFold(b[at+2:at+2+len(name)], name) {
			return at
		}
		at += 2
	}
}

// single returns the elements that are the only ones of their path and may be regions, by path.
func single(d *document) map[Position]*element {
	out := make(map[Position]*element, len(d.elements))
	for i := range d.elements {
		e := &d.elements[i]
		if _, twice := out[e.path]; twice {
			out[e.path] = nil
			continue
		}
		out[e.path] = e
	}
	for p, e := range out {
		if (e == nil) || !e.small(d.doc) {
			delete(out, p)
		}
	}
	return out
}

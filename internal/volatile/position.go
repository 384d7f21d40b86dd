// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"
)

// Two answers to one request that came within seconds differ in what says nothing: a token of a form, the
// time that the answer took, an article drawn by lot. Where they do is a position of the template: an
// attribute of an element that its own attributes or those of the element around it name, a member of a
// script, a word between two others, or all of an element with a class. It holds for all pages that have
// it. Apart finds positions, Masked replaces what stands at the known ones.

// Kind says what may stand at a position, and is masked there. All else is a change.
type Kind uint8

// The kinds.
const (
	Number Kind = iota + 1 // digits, also as a date, a time, or a decimal
	Token                  // letters and digits without a meaning
	Region                 // the content of an element
	Order                  // of the lines or items in an element
	Gap                    // what stands between two texts
	Age                    // how long ago something was, or when it was sent; no position has it
	Kinds                  // how many there are, with 0
)

func (k Kind) String() string {
	names := [...]string{"", "number", "token", "region", "order", "part", "age"}
	if int(k) >= len(names) {
		return "of a later mirrord"
	}
	return names[k]
}

// Position is the name of a position: a hash.
type Position uint64

// At is what may stand at a position.
type At struct {
	Kind Kind `json:"kind"`
	// bytes of the shortest token and the longest one that were seen; of an order, how fine it is
	Short int  `json:"short,omitempty"`
	Long  int  `json:"long,omitempty"`
	Other bool `json:"other,omitempty"` // some of them were not hexadecimal

	Before string `json:"before,omitempty"` // what stands before and behind it, see Between
	After  string `json:"after,omitempty"`
}

// atOf is what two values that take the same place say of it; the zero value: nothing.
func atOf(a, b []byte) At {
	switch {
	case isNumber(a) && isNumber(b):
		return At{Kind: Number}
	case isToken(a) && isToken(b):
		return At{
			Kind:  Token,
			Short: min(len(a), len(b)),
			Long:  max(len(a), len(b)),
			Other: !isHex(a) || !isHex(b),
		}
	}
	return At{}
}

// And is what may stand at a position of which two things are known.
func (a At) And(b At) At {
	if a.Kind == Order && b.Kind == Order {
		return At{Kind: Order, Short: max(a.Short, b.Short)}
	}
	if a.Kind != Token || b.Kind != Token {
		if a.Kind >= b.Kind {
			return a
		}
		return b
	}
	a.Short, a.Long, a.Other = min(a.Short, b.Short), max(a.Long, b.Long), a.Other || b.Other
	return a
}

// fits reports whether a value may stand at the position.
func (a At) fits(value []byte) bool {
	switch a.Kind {
	case Number:
		return isNumber(value)
	case Token:
		long := len(value) >= a.Short-a.Short/4 && len(value) <= a.Long+a.Long/4
		chance := a.Short == a.Long && len(value) == a.Long && isLetters(value)
		return long && (isToken(value) || chance) && (a.Other || isHex(value))
	}
	return false
}

// Positions are the positions of a site. The zero value knows none.
type Positions map[Position]At

// mark stands for a value that is masked; its kind follows.
const mark = 0x02

// masking is a document that is being masked.
type masking struct {
	Masked
	copied int // bytes of the document that are in Body
}

// Sighting is a position of a document, with what stands there.
type Sighting struct {
	Position Position
	Value    []byte
	Where    string // for a person

	kind Kind
}

// Masked is a document without what says nothing.
type Masked struct {
	Body []byte
	Hits []Sighting
	// Named are the references in regions, and those with a number that is no time: a region, or a page that is
	// drawn by lot, may name a page that nothing else names.
	Named [][]byte
}

// Masked masks a document. It is safe for concurrent use.
func (k Positions) Masked(doc []byte) Masked {
	if len(k) == 0 || len(doc) > MaxBody {
		return Masked{Body: doc}
	}
	m := masking{Masked: k.between(revealed(doc))}
	d := read(m.Body)
	doc, m.Body = m.Body, make([]byte, 0, len(m.Body))
	region := 0
	for i := range d.units {
		u := &d.units[i]
		for ; region < len(d.elements) && d.elements[region].from <= u.from; region++ {
			m.region(k, d, &d.elements[region])
		}
		if u.from < m.copied {
			continue
		}
		at, ok := u.in(k, d)
		if !ok && isNumber(d.of(u)) {
			at, ok = d.beside(k, u)
		}
		if !ok {
			continue
		}
		m.put(d, at, k[at].Kind, u.from, u.to, d.where(u))
		if v := doc[u.from:u.to]; u.leads && k[at].Kind == Number && !unixTime(v) {
			m.Named = append(m.Named, doc[u.value.from:u.value.to])
		}
	}
	for ; region < len(d.elements); region++ {
		m.region(k, d, &d.elements[region])
	}
	m.Body = append(m.Body, doc[m.copied:]...)
	m.order(k)
	m.Body = m.everywhere(m.Body)
	return m.Masked
}

// everywhere masks the long tokens that stand at positions wherever else a document has them: what was made
// for one answer is so in each place.
func (m *masking) everywhere(doc []byte) []byte {
	var pairs []string
	for i := range m.Hits {
		if h := &m.Hits[i]; h.kind == Token && len(h.Value) >= longToken {
			pairs = append(pairs, string(h.Value), string([]byte{mark, byte(Token)}))
		}
	}
	if len(pairs) == 0 {
		return doc
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(doc)))
}

// longToken is how many bytes a token has at least that is masked wherever it occurs.
const longToken = 16

// put masks doc[from:to].
func (m *masking) put(d *document, at Position, k Kind, from, to int, where string) {
	m.Body = append(append(m.Body, d.doc[m.copied:from]...), mark, byte(k))
	m.copied = to
	m.Hits = append(m.Hits, Sighting{
		Position: at,
		Value:    d.doc[from:to],
		Where:    where,
		kind:     k,
	})
}

// region masks the content of an element, if all of it says nothing.
func (m *masking) region(k Positions, d *document, e *element) {
	if k[e.path].Kind != Region || e.from < m.copied || !e.small(d.doc) {
		return
	}
	for _, l := range d.leads {
		if l.from >= e.from && l.to <= e.to {
			m.Named = append(m.Named, d.doc[l.from:l.to])
		}
	}
	m.put(d, e.path, Region, e.from, e.to, Short(e.tag))
}

// Same reports whether two bodies of one page are the same but for what stands at known positions.
func (k Positions) Same(old, now []byte) (a, b Masked, same bool) {
	a, b = k.Masked(old), k.Masked(now)
	return a, b, len(a.Hits)+len(b.Hits) > 0 && bytes.Equal(a.Body, b.Body)
}

// Variation is a position at which two answers differ.
type Variation struct {
	Position Position
	At       At
	Prose    bool // it is one in a text that readers see
	Wide     bool // the words beside it do not matter
	Clock    bool // it is Unix time in an address
	Hidden   bool // it is one in a comment
	Counted  bool // words beside it say that it is a counter or a timing
	Seen     int  // times that the first answer has it
	Differed int
	Where    string
	Old, New string // of one of these times
}

// Apart returns the positions at which two answers differ that came within seconds. ok is false when they
// differ elsewhere, too. stored is what the mirror has of the page, nil for nothing.
func Apart(a, b, stored []byte) (out []Variation, ok bool) {
	if len(a) > MaxBody || len(b) > MaxBody {
		return nil, false
	}
	if len(pixels(a)) != len(pixels(b)) { // else their addresses may vary
		a, b = withoutPixels(a), withoutPixels(b)
	}
	x, y := read(addressed(a)), read(addressed(Ranked(a, b)))
	p := pair{
		a:      x,
		b:      y,
		stored: stored,
		found:  map[Position]*Variation{},
	}
	ok = p.walk()
	for i := range x.units {
		for _, at := range [...]Position{x.units[i].narrow, x.units[i].wide} {
			if f := p.found[at]; f != nil {
				f.Seen++
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(p.found)) {
		out = append(out, *p.found[at])
	}
	return out, ok
}

// pair is two answers that are compared.
type pair struct {
	a, b   *document
	stored []byte
	found  map[Position]*Variation
	notes  []noted               // in the order of the first answer
	once   map[Position]*element // of a, see single
	twin   map[Position]*element // of b

	blocks, twins []block // of a and b, see reordered
	tried         map[*block]bool
	gaps          int
	behind        int // the segment of a behind the last gap: none has texts in another one
}

// noted is where something was found.
type noted struct {
	at   Position
	from int
}

// walk compares the segments of the two.
func (p *pair) walk() bool {
	i, j := 0, 0
	for i < len(p.a.segs) && j < len(p.b.segs) {
		s, t := &p.a.segs[i], &p.b.segs[j]
		if bytes.Equal(p.a.doc[s.from:s.to], p.b.doc[t.from:t.to]) {
			i, j = i+1, j+1
			continue
		}
		if x, y, how := p.reordered(s.from, t.from); x != nil && len(p.found) < mostFound {
			p.content(At{Kind: Order, Short: how}, x.path, x.tag, span{x.from, x.to}, span{y.from, y.to})
			i, j = p.a.segAt(x.to), p.b.segAt(y.to)
			continue
		}
		if p.segment(s, t) {
			i, j = i+1, j+1
			continue
		}
		if len(p.found) >= mostFound {
			return false
		}
		x, y := p.around(s.from, t.from)
		if x == nil || (x.to <= s.from && y.to <= t.from) {
			var ok bool
			if i, j, ok = p.gap(i, j); !ok {
				return false
			}
			continue
		}
		p.content(At{Kind: Region}, x.path, x.tag, span{x.from, x.to}, span{y.from, y.to})
		i, j = p.a.segAt(x.to), p.b.segAt(y.to)
	}
	return i == len(p.a.segs) && j == len(p.b.segs)
}

// content notes that the content of an element differs, or its order, in place of what differs in it.
func (p *pair) content(is At, at Position, tag []byte, old, now span) {
	p.drop(old.from)
	p.note(at, old.from, &Variation{
		At:    is,
		Prose: true,
		Seen:  1,
		Where: Short(tag),
		Old:   Short(p.a.doc[old.from:old.to]),
		New:   Short(p.b.doc[now.from:now.to]),
	})
}

// mostFound is at how many positions two answers differ.
const mostFound = 64

// segment compares two segments whose bytes differ.
func (p *pair) segment(s, t *segmentAt) bool {
	us, ut := p.a.units[s.first:s.last], p.b.units[t.first:t.last]
	if s.kind != t.kind || len(us) != len(ut) {
		return false
	}
	i, j := s.from, t.from
	for k := range us {
		u, v := &us[k], &ut[k]
		if !bytes.Equal(p.a.doc[i:u.from], p.b.doc[j:v.from]) {
			return false
		}
		old, is := p.a.of(u), p.b.of(v)
		if !bytes.Equal(old, is) && atOf(old, is).Kind == 0 && !(u.ages && v.ages) {
			return false
		}
		i, j = u.to, v.to
	}
	if !bytes.Equal(p.a.doc[i:s.to], p.b.doc[j:t.to]) || len(p.found) > mostFound {
		return false
	}
	for k := range us {
		u := &us[k]
		old, is := p.a.of(u), p.b.of(&ut[k])
		if bytes.Equal(old, is) {
			continue
		}
		for n, at := range [...]Position{u.narrow, u.wide} {
			if at != 0 {
				p.note(at, u.from, &Variation{
					At:    atOf(old, is),
					Prose: u.prose,
					Wide:  n > 0,
					Clock: u.leads && unixTime(old) && unixTime(is),

					Hidden:  s.kind == comment,
					Counted: isNumber(old) && counted(p.a.around(u)),

					Where: p.a.where(u),
					Old:   Short(old),
					New:   Short(is),
				})
			}
		}
	}
	return true
}

// note counts a difference at a byte of the first answer.
func (p *pair) note(at Position, from int, d *Variation) {
	f := p.found[at]
	if f == nil {
		f = d
		f.Position = at
		p.found[at] = f
	}
	f.At = f.At.And(d.At)
	f.Differed++
	p.notes = append(p.notes, noted{at, from})
}

// drop forgets what was found from a byte of the first answer on: all of that is a region.
func (p *pair) drop(from int) {
	for len(p.notes) > 0 && p.notes[len(p.notes)-1].from >= from {
		at := p.notes[len(p.notes)-1].at
		p.notes = p.notes[:len(p.notes)-1]
		if p.found[at].Differed--; p.found[at].Differed == 0 {
			delete(p.found, at)
		}
	}
}

// around returns the innermost element that holds both positions and is the only one of its path.
func (p *pair) around(i, j int) (in, to *element) {
	if p.once == nil {
		p.once, p.twin = single(p.a), single(p.b)
	}
	for e := range slices.Values(p.a.elements) { // the last one that holds i is the innermost
		if e.from > i {
			break
		}
		x, y := p.once[e.path], p.twin[e.path]
		if x != nil && y != nil && x.to >= i && y.from <= j && y.to >= j {
			in, to = x, y
		}
	}
	return in, to
}

// Short returns a value for a person, cut.
func Short(v []byte) string {
	out := strings.Join(strings.Fields(strings.ToValidUTF8(string(v[:min(len(v), 4*maxExample)]), "?")), " ")
	if len(out) > maxExample {
		out = strings.ToValidUTF8(out[:maxExample], "") + "…"
	}
	return out
}

// hashOf hashes parts of a name.
func hashOf(of Position, parts ...[]byte) Position {
	var h xxh3.Hasher
	var n [8]byte
	h.Write(binary.LittleEndian.AppendUint64(n[:0], uint64(of)))
	for _, p := range parts {
		h.Write(p)
		h.Write([]byte{variable})
	}
	return Position(max(h.Sum64(), 1))
}

// Beginning names the template of a document by the first elements of its body with an id or a class.
func Beginning(doc []byte) []byte {
	d := read(doc[:min(len(doc), beginning)])
	of := hashOf(0, d.whole...)
	in := d.elements[d.head:]
	for i := range min(len(in), firstElements) {
		of = hashOf(of, idsOf(in[i].tag, kindClasses)...)
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(of))
}

// The beginning of a document.
const (
	beginning     = 96 << 10 // bytes; themes begin with their style
	firstElements = 8
)

// ShowsTime reports whether a document says the time at which it was made, to the second.
func ShowsTime(doc []byte, at time.Time) bool {
	if bytes.Contains(doc, strconv.AppendInt(nil, at.Unix()/10_000, 10)) { // in the hours around it
		return true
	}
	for s := range 3 { // the answer may have taken some time
		t := at.UTC().Add(-time.Duration(s) * time.Second)
		for _, form := range [...]string{":04:05", "150405"} {
			if bytes.Contains(doc, t.AppendFormat(nil, form)) {
				return true
			}
		}
	}
	return false
}

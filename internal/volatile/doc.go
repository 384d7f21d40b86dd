// SPDX-License-Identifier: Apache-2.0

// Package volatile tells a page that changed from one in which only that changed which always changes: the
// date of the request, the time it took, a visitor counter, a token of a form.
//
// Two bodies are cut into segments, tags and lines of text. When both have the same segments but for their
// variable parts, dates, times, numbers and tokens, and every part that differs is of a kind that a server
// writes by itself, the two differ in nothing that a reader came for. That is a guess about one pair; it
// becomes a rule only when it held for two changes in a row, in the same segments, and nothing was the same
// in between. A segment is named by a hash of its constant parts and of the segments before it, its template.
//
// Three ways of saying the same need no rule: how long ago something was ("3 days ago"), when it is of one
// moment at both times, the date and time of the answer itself, and a mail address that Cloudflare hides
// under another key in each answer.
//
// Never covered: words, links and everything else that leads somewhere, numbers that nothing says are
// counters or timings, and more than a handful of segments. When a rule has held a page back for MaxHeld
// answers in a row, the page is requested twice. Positions are learned where the two differ; where they do
// not, the next answer is let through, so that any change that the rule might hide is seen in the end.
//
// What two answers of one moment differ in needs no such guess, see Position.
package volatile

import (
	"bytes"
	"slices"
	"time"

	"github.com/zeebo/xxh3"
)

// Limits of a rule.
const (
	MaxTemplates = 8       // segments that may differ
	MaxBody      = 1 << 20 // bytes of a body that is looked at
	MaxHeld      = 14      // answers in a row that a rule takes for unchanged
	established  = 2       // changes in a row that make a rule
)

// Rule is the knowledge about the volatile segments of a page. The zero value knows nothing.
type Rule struct {
	Templates [MaxTemplates]uint64 // hashes, ascending but for the zeros behind them
	Seen      uint8                // changes in a row that were of these templates; 2 and more make a rule
	Held      uint8                // answers in a row that the rule took for unchanged
}

// Holds reports whether r is a rule already.
func (r Rule) Holds() bool { return r.Seen >= established }

// templates returns the hashes without the zeros.
func (r Rule) templates() []uint64 {
	n := 0
	for n < MaxTemplates && r.Templates[n] != 0 {
		n++
	}
	return r.Templates[:n]
}

// Covers reports whether a difference is one that the rule takes for none.
func (r Rule) Covers(d BodyDifference) bool {
	if r.Held > MaxHeld || len(d.Templates) == 0 || !r.Holds() {
		return false
	}
	for _, t := range d.Templates {
		if !slices.Contains(r.templates(), t) {
			return false
		}
	}
	return true
}

// Due reports whether the rule has held back so much that it is to be known whether that is noise.
func (r Rule) Due() bool { return r.Held == MaxHeld }

// Kept returns the rule after an answer that it covers.
func (r Rule) Kept() Rule {
	r.Held++
	return r
}

// Same returns the rule after an answer that was the same in every byte: what was on its way to become a rule
// does not always change.
func (r Rule) Same() Rule {
	if !r.Holds() {
		return Rule{}
	}
	r.Held = 0
	return r
}

// Still returns the rule after an answer that was the same as the last one. When that counted as unchanged
// although it differed, the rule ends: the next response is stored.
func (r Rule) Still() Rule {
	if r.Held > 0 {
		return Rule{}
	}
	return r.Same()
}

// Broken returns the rule after a change in more than what may change by itself. What always changes still
// does.
func (r Rule) Broken() Rule { return r.Same() }

// Changed returns the rule after a change in which Compare found nothing but d.
func (r Rule) Changed(d BodyDifference) Rule {
	r.Held = 0
	if r.Holds() {
		over := r
		if over.Covers(d) { // held back for long enough
			return r
		}
		r.Seen = 0
	}
	next := Rule{Seen: 1}
	copy(next.Templates[:], d.Templates)
	if r.Seen == 0 {
		return next
	}
	both := slices.DeleteFunc(slices.Clone(d.Templates), func(t uint64) bool {
		return !slices.Contains(r.templates(), t)
	})
	if len(both) == 0 {
		return next
	}
	next = Rule{Seen: r.Seen + 1}
	copy(next.Templates[:], both)
	return next
}

// Find returns the segments of a body that the rule covers, for a person: their text, cut short, with '#' for
// what varies.
func (r Rule) Find(body []byte) (found []string) {
	var c cutter
	c.begin(body)
	var s segment
	for c.next() {
		s.parse(c.seg, c.kind)
		if h := c.hash(&s); slices.Contains(r.templates(), h) {
			found = append(found, s.example())
		}
	}
	return slices.Compact(found)
}

// BodyDifference is what differs between two bodies.
type BodyDifference struct {
	Templates []uint64 // of the segments, ascending, each once; none when both say the same
	Examples  []string // of the segments, as Find writes them
}

// Times are when two bodies of one page came.
type Times struct{ Old, New time.Time }

// Compare cuts two bodies of one page into segments, which came at two times. ok is true when
// they differ, and only in what may change by itself.
func Compare(old, now []byte, at Times) (d BodyDifference, ok bool) {
	if len(old) > MaxBody || len(now) > MaxBody || bytes.Equal(old, now) {
		return d, false
	}
	old, now = revealed(old), revealed(now)
	var a, b cutter
	var s, t segment
	a.begin(old)
	b.begin(now)
	differ := 0
	for {
		more := a.next()
		if b.next() != more || a.kind != b.kind {
			return BodyDifference{}, false
		}
		if !more {
			break
		}
		if string(a.seg) == string(b.seg) {
			continue
		}
		s.parse(a.seg, a.kind)
		t.parse(b.seg, b.kind)
		if !s.like(&t, a.around(), &at) {
			return BodyDifference{}, false
		}
		if s.varied == 0 { // but for what tells the time
			if len(d.Examples) < MaxTemplates {
				d.Examples = append(d.Examples, s.example())
			}
			continue
		}
		if differ++; differ > MaxTemplates {
			return BodyDifference{}, false
		}
		h := a.hash(&s)
		if h != b.hash(&t) {
			return BodyDifference{}, false
		}
		d.Templates = append(d.Templates, h)
		d.Examples = append(d.Examples, s.example())
	}
	slices.Sort(d.Templates)
	d.Templates = slices.Compact(d.Templates)
	if len(d.Examples) == 0 {
		d.Examples = []string{hiddenMark}
	}
	return d, true
}

// kind of a segment.
type kind uint8

const (
	text kind = iota
	tag
	comment
)

// cutter cuts a body into segments: a tag, a comment, or text up to the next tag or the end of its line.
type cutter struct {
	all, rest []byte
	seg       []byte
	kind      kind
	at        int       // of seg in all
	before    [2][]byte // the two segments before that were not blank
	kinds     [2]kind
}

func (c *cutter) begin(b []byte) { *c = cutter{all: b, rest: b} }

// around returns the bytes near the segment, in which something may say what a number is.
func (c *cutter) around() []byte {
	return c.all[max(0, c.at-nearBefore):min(len(c.all), c.at+min(len(c.seg), nearInside)+nearAfter)]
}

// How far around() looks, in bytes.
const (
	nearBefore = 64
	nearInside = 256
	nearAfter  = 32
)

// hash names the segment by its constant parts and by those of the two before it.
func (c *cutter) hash(s *segment) uint64 {
	var h xxh3.Hasher
	var p segment
	for i, b := range c.before {
		p.parse(b, c.kinds[i])
		h.Write(p.norm)
		h.Write([]byte{variable, '|'})
	}
	h.Write(s.norm)
	return max(h.Sum64(), 1)
}

func (c *cutter) next() bool {
	if !blank(c.seg) {
		c.before[0], c.kinds[0] = c.before[1], c.kinds[1]
		c.before[1], c.kinds[1] = c.seg, c.kind
	}
	c.at += len(c.seg)
	if len(c.rest) == 0 {
		c.seg = nil
		return false
	}
	n := 0
	n, c.kind = cut(c.rest)
	c.seg, c.rest = c.rest[:n], c.rest[n:]
	return true
}

// SPDX-License-Identifier: Apache-2.0

// Package volatile tells a page that changed from one in which only that changed which always changes: the
// date of the request, the time it took, a visitor counter, a token of a form.
//
// Two bodies are cut into segments, tags and lines of text. When both have the same segments but for their
// units, dates, times, numbers and tokens, and every unit that differs is of a kind that a server writes by
// itself, the two differ in nothing that a reader came for. That is a guess about one pair; it becomes a rule
// only when it held for two changes in a row, in the same segments, and nothing was the same in between. A
// segment is named by a hash of what it has beside its units, its template, and of those of the segments
// before it.
//
// Four ways of saying the same need no rule: how long ago something was ("3 days ago"), when it is of one
// moment at both times, the date and time of the answer itself, how long it took to make that ("Page created
// in 0.02 s"), and a mail address that Cloudflare hides under another key in each answer.
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

// Same returns the rule after an answer that was the same in every byte, or one that changed in more than
// what may change by itself: what was on its way to become a rule does not always change.
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
	c := cutter{document: document{doc: body}}
	for c.next() {
		if slices.Contains(r.templates(), c.hash()) {
			found = append(found, c.example())
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
	a := cutter{document: document{doc: revealed(old)}}
	b := cutter{document: document{doc: revealed(now)}}
	differ, classed := 0, false
	for {
		more := a.next()
		if b.next() != more || a.seg.kind != b.seg.kind {
			return BodyDifference{}, false
		}
		if !more {
			break
		}
		if !classed && bytes.Equal(a.current(), b.current()) {
			continue
		}
		varied, ok := 0, a.sameMoment(&b, &at) || a.sameTime(&b, &at)
		if !ok && !classed {
			varied, ok = a.like(&b, &at, false)
		}
		if classed = !ok && !classed && a.seg.kind == tag && sameButClass(a.current(), b.current()); classed {
			continue // the class of an age, if one follows
		}
		if !ok {
			return BodyDifference{}, false
		}
		if varied == 0 { // but for what tells the time
			if len(d.Examples) < MaxTemplates {
				d.Examples = append(d.Examples, a.example())
			}
			continue
		}
		if differ++; differ > MaxTemplates {
			return BodyDifference{}, false
		}
		h := a.hash()
		if h != b.hash() {
			return BodyDifference{}, false
		}
		d.Templates = append(d.Templates, h)
		d.Examples = append(d.Examples, a.example())
	}
	slices.Sort(d.Templates)
	d.Templates = slices.Compact(d.Templates)
	if len(d.Examples) == 0 {
		d.Examples = []string{hiddenIn(old, now)}
	}
	return d, true
}

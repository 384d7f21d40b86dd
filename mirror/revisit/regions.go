// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"slices"

	"mirrord/internal/volatile"
)

// Items drawn into a region differ between answers of one moment, and an edit does not. So a page that
// differs from the stored one in regions, by a text that was not seen to be drawn, or by less than it had, is
// requested again before its outcome is known. A text that all of these answers have is an edit as soon as it
// is unlikely to be drawn: by how often two answers were the same there so far, or by how many of the other
// texts two of these have in common. When all are the same that a run may ask for, it is an edit in any case.
// Another page that has the text needs no second answer.
const byLot = .02 // how likely a lot comes so, at most

// look is a page that waits for another answer.
type look struct {
	Twice // with the last answer
	times int
	at    map[volatile.Position]*lookAt // where an edit may be
}

// lookAt is what an edit may be in a region.
type lookAt struct {
	new    []uint64 // texts that the stored page lacks and all answers have; none: it lost some
	rate   float64  // how often two answers are the same there
	chance float64  // that a lot came so
	apart  bool     // two of the answers were not the same
}

// lots remembers which texts are drawn by lot.
type lots struct {
	drawn    []uint64 // what was seen to be
	news     []uint64 // what was seen to be an edit
	looks    map[string]*look
	insisted int // requests of looks
}

// mayLook reports whether another page may wait, after so many requests: each that waits may need as many as
// a run asks for at least.
func (l *lots) mayLook(requests int64) bool {
	return l.insisted+laterTwice*(len(l.looks)+1) <= max(laterTwice, int(requests/twiceShare)/2)
}

// draw remembers texts that are drawn.
func (l *lots) draw(texts []uint64) {
	l.news = without(l.news, texts)
	l.drawn = lastOf(l.drawn, texts)
}

// lastOf returns texts with more of them, the last ones.
func lastOf(texts, more []uint64) []uint64 {
	texts = append(texts, without(more, texts)...)
	return texts[max(len(texts)-mostDrawn, 0):]
}

// look begins to look at a page of which regions say these texts in place of those that they said.
func (l *lots) look(positions map[volatile.Position]*PositionFact, was, is regionTexts) *look {
	out := &look{at: map[volatile.Position]*lookAt{}}
	for at, texts := range is {
		had, ok := was[at]
		fresh := without(texts, had)
		more := without(fresh, l.drawn)
		if !ok || (len(more) == 0 && (len(fresh) > 0 || len(without(had, texts)) == 0)) {
			continue
		}
		f := positions[at]
		x := &lookAt{
			new:    more,
			rate:   float64(f.Seen-f.Differed+1) / float64(f.Seen+2),
			chance: 1,
		}
		if len(without(more, l.news)) < len(more) { // another page had it
			x.chance = 0
		}
		out.at[at] = x
	}
	return out
}

// settle says what the answers of a page tell. more says that a look may begin.
func (l *lots) settle(k *look, was, is regionTexts, more bool) (edited, waits bool) {
	for at, x := range k.at {
		found := x.chance < byLot || (k.times == laterTwice && !x.apart)
		if edited = edited || found; found && k.times > 0 {
			l.news = lastOf(l.news, x.new)
			l.drawn = without(l.drawn, without(was[at], is[at])) // another edit may restore them
		}
	}
	switch {
	case edited:
		return true, false
	case len(k.at) > 0 && k.times < laterTwice && (k.times > 0 || more):
		l.insisted++
		return false, true
	}
	for at := range was {
		l.draw(without(was[at], is[at]))
	}
	return false, false
}

// narrowed takes another answer of a region beside the one before, and reports whether an edit may be there.
func (l *lots) narrowed(x *lookAt, was, is []uint64) bool {
	gone, came := without(was, is), without(is, was)
	if len(gone)+len(came) == 0 {
		if len(x.new) > 0 { // a lot may be one of nothing
			x.chance *= x.rate
		}
		return true
	}
	others := without(was, x.new)
	again := len(others) - len(without(others, is))
	x.chance, x.apart = x.chance*float64(again+1)/float64(len(others)+2), true
	x.new = without(x.new, gone)
	l.draw(gone)
	l.draw(came)
	return len(x.new) > 0
}

// regionTexts are the texts of regions, see volatile.Positions.Regions.
type regionTexts = map[volatile.Position][]uint64

// without returns the texts that others lack.
func without(texts, others []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(texts), func(t uint64) bool { return slices.Contains(others, t) })
}

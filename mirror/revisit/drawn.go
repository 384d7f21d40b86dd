// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"math"
	"slices"

	"mirrord/internal/volatile"
)

// The items drawn into a part of a page (volatile.Gap) differ between answers, and an edit there does not: a
// text that the stored page lacks and all answers since then have is one, unless it was seen to be drawn. How
// many answers that takes follows from how often they have again what was drawn into the stored page: one of
// four, or nine of ten. A text of the stored page that answers had, and none has since, is gone: the more had
// it, the sooner.
const (
	byChance  = 1e-4 // texts expected that all of these answers were drawn by chance
	mayBeEdit = .5   // fewer of these, and the page is requested more than once in a run
	mostEdits = 256  // pages that may have one
	mostDrawn = 1024 // texts that are remembered
)

// partFact is what a page has in its parts that the stored one lacks.
type partFact struct {
	New    []uint64 `json:"new"`    // texts that all answers had, see volatile.Positions.Parts
	Chance float64  `json:"chance"` // how many of these are expected if all are drawn

	Looks int               `json:"looks"` // answers
	Seen  map[uint64][2]int `json:"seen"`  // by text: how many had it, and the last that did
	lost  float64           // texts of the stored page expected to be missing for so long
}

// edited takes a page for Edited. The caller holds mu.
func (p *Noise) edited(a PageAnswer, due bool) bool {
	known := p.Known(a.URL)
	was, is := known.Parts(a.Was), known.Parts(a.Body)
	u := a.URL.String()
	f := p.parts[u]
	if f == nil || f.Seen == nil { // an earlier mirrord had none
		f = &partFact{Seen: map[uint64][2]int{}}
	}
	if len(f.New) == 0 {
		had := func(t uint64) bool { return slices.Contains(was, t) }
		f.New = slices.DeleteFunc(slices.Clone(is), had)
		f.Chance = float64(len(f.New))
	}
	p.narrow(f, was, is)
	delete(p.parts, u)
	if len(f.New) == 0 {
		f.Chance = 1
	}
	if min(f.Chance, f.lost) < byChance { // it may have taken texts out, which an edit may restore
		p.lots.drawn = slices.DeleteFunc(p.lots.drawn, func(t uint64) bool { return slices.Contains(was, t) })
		return true
	}
	if len(p.parts) < mostEdits {
		p.parts[u] = f
	}
	if due && min(f.Chance, f.lost) < mayBeEdit {
		q := newTwice(a, shapeOf(a.URL, a.Body), 0)
		q.more = moreTwice
		p.wait(q)
	}
	return false
}

// narrow takes another answer of a page, beside an earlier one. The caller holds mu.
func (p *Noise) narrow(f *partFact, was, is []uint64) {
	drawn, again := 1., .8 // nothing was seen: four of five
	f.lost = 1
	f.Looks++
	for _, t := range was {
		has, seen := slices.Contains(is, t), f.Seen[t]
		if has {
			f.Seen[t] = [2]int{seen[0] + 1, f.Looks}
		} else {
			rate := max(0, float64(seen[0]-1)/float64(seen[1]+3)) // it may have been seen often by chance
			f.lost = min(f.lost, float64(len(was))*math.Pow(1-rate, float64(f.Looks-seen[1])))
		}
		if !has {
			p.lots.draw([]uint64{t})
		}
		if slices.Contains(p.lots.drawn, t) {
			if drawn++; has {
				again++
			}
		}
	}
	var both []uint64
	for _, t := range f.New {
		switch {
		case !slices.Contains(is, t):
			p.lots.draw([]uint64{t})
		case !slices.Contains(was, t) && !slices.Contains(p.lots.drawn, t):
			both = append(both, t)
		}
	}
	f.New, f.Chance = both, f.Chance*again/drawn
}

// compareParts takes another answer of a page that was requested again. The caller holds mu.
func (p *Noise) compareParts(q *Twice, again []byte) {
	if f := p.parts[q.URL.String()]; f != nil && q.Was != nil {
		known := p.Known(q.URL)
		p.narrow(f, known.Parts(q.Was), known.Parts(again))
	}
}

// gaps is how many positions are between two texts.
func gaps(positions map[volatile.Position]*PositionFact) (n int) {
	for _, f := range positions {
		if f.Kind == volatile.Gap {
			n++
		}
	}
	return n
}

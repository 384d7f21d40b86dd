// SPDX-License-Identifier: Apache-2.0

package revisit

import "slices"

// The items drawn into a part of a page (volatile.Gap) differ between answers, and an edit there does not: a
// text that the stored page lacks and all answers since then have is one, unless it was seen to be drawn. How
// many answers that takes follows from how often they have again what was drawn into the stored page: one of
// four, or nine of ten. An edit that only removes a text is published with the next other one.
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
}

// edited takes a page for Edited. The caller holds mu.
func (p *Noise) edited(a PageAnswer, due bool) bool {
	known := p.Known(a.URL)
	was, is := known.Parts(a.Was), known.Parts(a.Body)
	u := a.URL.String()
	f := p.parts[u]
	if f == nil {
		had := func(t uint64) bool { return slices.Contains(was, t) }
		f = &partFact{New: slices.DeleteFunc(slices.Clone(is), had)}
		f.Chance = float64(len(f.New))
	}
	p.narrow(f, was, is)
	delete(p.parts, u)
	switch {
	case len(f.New) == 0:
		return false
	case f.Chance < byChance: // it may have taken texts out, which an edit may restore
		p.drawn = slices.DeleteFunc(p.drawn, func(t uint64) bool { return slices.Contains(was, t) })
		return true
	}
	if len(p.parts) < mostEdits {
		p.parts[u] = f
	}
	if due && f.Chance < mayBeEdit {
		q := newTwice(a, shapeOf(a.URL, a.Body), 0)
		q.more = moreTwice
		p.wait(q)
	}
	return false
}

// narrow takes another answer of a page, beside an earlier one. The caller holds mu.
func (p *Noise) narrow(f *partFact, was, is []uint64) {
	drawn, again := 1., .8 // nothing was seen: four of five
	for _, t := range was {
		has := slices.Contains(is, t)
		if !has {
			p.draw(t)
		}
		if slices.Contains(p.drawn, t) {
			if drawn++; has {
				again++
			}
		}
	}
	var both []uint64
	for _, t := range f.New {
		switch {
		case !slices.Contains(is, t):
			p.draw(t)
		case !slices.Contains(was, t) && !slices.Contains(p.drawn, t):
			both = append(both, t)
		}
	}
	f.New, f.Chance = both, f.Chance*again/drawn
}

// draw remembers a text that is drawn. The caller holds mu.
func (p *Noise) draw(t uint64) {
	if !slices.Contains(p.drawn, t) {
		p.drawn = append(p.drawn, t)
		p.drawn = p.drawn[max(len(p.drawn)-mostDrawn, 0):]
	}
}

// compareParts takes another answer of a page that was requested again. The caller holds mu.
func (p *Noise) compareParts(q *Twice, again []byte) {
	if f := p.parts[q.URL.String()]; f != nil && q.Was != nil {
		known := p.Known(q.URL)
		p.narrow(f, known.Parts(q.Was), known.Parts(again))
	}
}

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	mathbits "math/bits"
	"slices"
)

// Changes that keep to no pattern, such as the correction of a word in one page, are no part of the chain:
// that the neighbours are as they were says nothing of them. How often a unit changes by itself is learned
// from the runs in which little changed in its directory and in those above, shrunk to the usual rate of
// its directory, and this to the usual rate above.

const (
	// From so many changes on, when they are so large a share of what was observed in a directory, a run is a
	// tide there and everywhere below it: its changes came together.
	tideLeast, tideShare = 3, 0.01
	// Changes of a unit by itself, and of a kind of units in a directory, as which the usual rate counts. Less
	// than one, since few pages have most of the corrections.
	aloneShrink, aloneDirShrink = 0.05, 0.1
)

// tides takes note of the directories of which much has changed in the run that is being learned.
func (l *lesson) tides() {
	slices.Sort(l.touched) // children have higher numbers than their parents
	for _, d := range slices.Backward(l.touched) {
		if x := &l.dirs[d]; d != Root {
			up := &l.dirs[x.parent]
			up.looked, up.moved = up.looked+x.looked, up.moved+x.moved
		}
	}
	for _, d := range l.touched {
		x := &l.dirs[d]
		above := d != Root && l.dirs[x.parent].tide&1 != 0
		if above || (x.moved >= tideLeast && float64(x.moved) >= tideShare*float64(x.looked)) {
			x.tide |= 1
		}
	}
}

// calm are the runs that were no tide in a directory: bit i is Model.runs-i.
func (m *Model) calm(d Dir) uint64 {
	x := &m.dirs[d]
	return ^shift(x.tide, int32(m.runs)-x.run)
}

// alone counts the changes of a unit in runs, of so many that observed it.
func (m *Model) alone(u ID, runs uint64) (changes, looks float64) {
	l := m.at(m.exposure(u).looks, u) & runs
	return float64(mathbits.OnesCount64(l & m.at(m.moves(u), u))), float64(mathbits.OnesCount64(l))
}

// alone is how often the units of each directory and kind change by themselves in a run.
type alone [][kinds]float32

func newAlone(m *Model) alone {
	below := make([][kinds]share, m.Dirs())
	for u, f := range m.flags {
		if f&present != 0 {
			changes, looks := m.alone(ID(u), m.calm(m.dir[u]))
			x := &below[m.dir[u]][f&kindMask]
			x.changes, x.looks = x.changes+changes, x.looks+looks
		}
	}
	for d := m.Dirs() - 1; d > 0; d-- {
		up := &below[m.dirs[d].parent]
		for k, x := range below[d] {
			up[k].changes, up[k].looks = up[k].changes+x.changes, up[k].looks+x.looks
		}
	}
	rates := make(alone, m.Dirs())
	for d := range below {
		for k, x := range below[d] {
			usual := floor
			if d > 0 {
				usual = float64(rates[m.dirs[d].parent][k])
			}
			rates[d][k] = float32((x.changes + aloneDirShrink) / (x.looks + aloneDirShrink/usual))
		}
	}
	return rates
}

// rate is how often a unit changes by itself in a run.
func (r alone) rate(m *Model, u ID) float64 {
	d := m.dir[u]
	changes, looks := m.alone(u, m.calm(d))
	return (changes + aloneShrink) / (looks + aloneShrink/float64(r[d][m.kind(u)]))
}

// What came or was changed lately changes again sooner than its rate says: a page that was published last
// week is corrected, and one that is being written is written on; one that has rested for long changes later.
// How much sooner or later is learned from the runs so far, by how many of them are between an event and a
// look.

const (
	// Ages are 1, 2, 3 to 4, 5 to 8 and 9 to 16 runs after the last event, and more.
	ages = 6
	// Changes as which the rate itself counts.
	hasteShrink = 2
)

// ageOf is the age of so many runs after an event, at least 1; 0: there was none.
func ageOf(runs int) int {
	if runs == 0 {
		return ages - 1
	}
	return min(ages-1, mathbits.Len(uint(runs-1)))
}

// events are the runs that found a change of a unit, and the one in which it came unless it was there from
// the beginning: bit i is Model.runs-i.
func (m *Model) events(u ID) uint64 {
	e := m.at(m.moves(u), u)
	came := int(m.last(u)) - mathbits.Len64(m.exposure(u).looks) // at the latest
	if back := m.runs - came; came > 1 && back < 64 {
		e |= 1 << back
	}
	return e
}

// since is how many runs before this one the last event of a unit was; 0: none is known.
func (m *Model) since(u ID) int {
	e := m.events(u)
	if e == 0 {
		return 0
	}
	return mathbits.TrailingZeros64(e) + 1
}

// splitByAge splits runs by their age after the last of some events.
func splitByAge(events uint64) (by [ages]uint64) {
	rest := ^uint64(0)
	for runs := 1; runs <= 1<<(ages-2); runs++ {
		now := events >> runs & rest
		by[ageOf(runs)] |= now
		rest &^= now
	}
	by[ages-1] = rest
	return by
}

// haste is how many times its usual rate a unit of a kind changes by itself, by age.
type haste [kinds][ages]float32

// newHaste learns it, from rates that do not know of ages.
func newHaste(m *Model, rates alone) (h haste) {
	var by [kinds][ages]share // of changes by themselves, and as many as were expected
	for i, f := range m.flags {
		u := ID(i)
		if f&present == 0 {
			continue
		}
		looks, moves := m.at(m.exposure(u).looks, u)&m.calm(m.dir[u]), m.at(m.moves(u), u)
		rate := rates.rate(m, u)
		for age, runs := range splitByAge(m.events(u)) {
			x := &by[f&kindMask][age]
			x.changes += float64(mathbits.OnesCount64(looks & moves & runs))
			x.looks += rate * float64(mathbits.OnesCount64(looks&runs))
		}
	}
	for k := range h {
		for age, x := range by[k] {
			h[k][age] = float32((x.changes + hasteShrink) / (x.looks + hasteShrink))
		}
	}
	return h
}

// after is the factor of a run in which the last event of a unit was so many runs ago; 0: none is known.
func (h *haste) after(k Kind, runs int) float64 { return float64(h[k][ageOf(runs)]) }

// aloneChance is the chance that a unit has changed by itself since it was last observed, so many usual
// intervals before the last run. Earlier runs that found it not worth a look count as one: on the recorded
// sites, looks at units that had not been observed for more runs found a tenth of what their rates say.
func aloneChance(a *adaptive, u ID, g *group, steps float64) float64 {
	switch { // of listings and what they tell of cohorts know more
	case g.listed:
		return -math.Expm1(-listedFloor * (steps + a.chain.gap))
	case a.lists.tells(a.Model, u):
		return -math.Expm1(-floor * (steps + a.chain.gap))
	}
	rate, since := a.alone.rate(a.Model, u), a.since(u)
	now := rate * a.haste.after(g.kind, since)
	if a.quiet.now {
		changes, looks := a.Model.alone(u, a.calm(g.dir)&a.quiet.runs)
		now = (changes + silentShrink*now*a.quiet.alone) / (looks + silentShrink)
	}
	before := rate * a.haste.after(g.kind, max(since-1, min(since, 1))) * min(steps, 1)
	return -math.Expm1(-max(before, leastRate*steps) - max(now, leastRate)*a.chain.gap)
}

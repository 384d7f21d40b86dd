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

// What has happened to a unit says how often it changes by itself: a page that was corrected is corrected
// again, sooner rather than later; so is one that was published last week; one that only changed with all
// others hardly more often than one that never did. This is the state of a unit: its course, and how many
// runs ago the last event of that was.

// state is a course and an age; 0 is settled.
type state uint8

// The courses.
const (
	settled = iota // nothing happened
	swept          // it changed in tides only
	fresh          // it came, as one of few
	bulk           // it came, as one of many
	once           // it changed by itself once
	twice
	thrice
	often
	courses
)

// Ages are 1, 2, 3 to 4, 5 to 8, 9 to 16 and 17 to 32 runs after the last event, and more.
const ages = 7

// usualAlone is how often pages changed by themselves in a week, on twelve recorded sites of 120 to 3300
// pages; ten larger ones have nearly the same rates. Of pages that had not done so before, it is how many
// times as often as settled ones did. Of 60 000 requests for what had come in bulk at least two weeks before
// and was expected to change by itself, five found a change.
var usualAlone = [courses][ages]float32{
	settled: {1, 1, 1, 1, 1, 1, 1},
	swept:   {9, 6, 9, 3.5, 2, 1, 1},
	fresh:   {100, 22, 26, 17, 4, 1.5, 1.5},
	bulk:    {1, 0.1, 0.1, 0.1, 0.3, 0.3, 1},
	once:    {0.117, 0.045, 0.044, 0.031, 0.025, 0.011, 0.010},
	twice:   {0.10, 0.08, 0.067, 0.047, 0.032, 0.019, 0.0066},
	thrice:  {0.23, 0.22, 0.062, 0.08, 0.058, 0.017, 0.01},
	often:   {0.37, 0.31, 0.25, 0.17, 0.12, 0.058, 0.02},
}

const (
	// Changes as which these count, for each state and kind of units.
	stateShrink = 2
	// So many units that come to a directory in one run come in bulk.
	bulkLeast = 10
)

func stateOf(course, age int) state { return state(course*ages + age) }

// own says that the unit has changed by itself.
func (s state) own() bool { return s >= once*ages }

func (s state) usual() float64 { return float64(usualAlone[s/ages][s%ages]) }

// ageOf is the age of so many runs after an event, at least 1.
func ageOf(runs int) int { return min(ages-1, mathbits.Len(uint(runs-1))) }

// course yields the states of a unit, from the first to the last, and the runs at which it was in each: bit i
// is Model.runs-i. It returns the state of the run to come.
func (m *Model) course(u ID, yield func(s state, runs uint64)) (now state) {
	moves, came := m.at(m.moves(u), u), m.came(u)
	if moves == 0 && came == 0 {
		yield(settled, ^uint64(0))
		return settled
	}
	calm := m.calm(m.dir[u])
	alone, before, c := moves&calm, moves&^calm, swept
	if came != 0 {
		if before, c = came, fresh; m.flags[u]&inBulk != 0 {
			c = bulk
		}
	}
	if alone != 0 { // what came after the first change by itself says less than that
		before &= ^uint64(0) << mathbits.Len64(alone)
	}
	events := before | alone
	at := mathbits.Len64(events) - 1
	yield(settled, ^uint64(0)<<max(at, 0))
	for at >= 0 {
		if alone>>at&1 != 0 {
			c = min(max(c+1, once), often)
		}
		events &^= 1 << at
		next := mathbits.Len64(events) - 1
		until := max(next, 0)
		for age := 0; age < ages && at-1<<age>>1 > until; age++ {
			from, to := at-1<<age>>1, until
			if age < ages-1 {
				to = max(until, at-1<<age)
			}
			yield(stateOf(c, age), 1<<from-1<<to)
		}
		now = stateOf(c, ageOf(at+1))
		at = next
	}
	return now
}

// came is the run in which a unit came, unless it was there from the beginning: bit i is Model.runs-i.
func (m *Model) came(u ID) uint64 {
	run := int(m.last(u)) - mathbits.Len64(m.exposure(u).looks) // at the latest
	if back := m.runs - run; m.flags[u]&later != 0 && back < 64 {
		return 1 << back
	}
	return 0
}

// tell yields what the calm ones of some runs found of a unit, by its states: changes, of so many looks, and
// how many calm runs had observed it before. It returns the state of the run to come, and how many have.
func (m *Model) tell(
	u ID, runs uint64, yield func(s state, changes, looks, before float64),
) (now state, all float64) {
	looks := m.at(m.exposure(u).looks, u) & m.calm(m.dir[u])
	moves := m.at(m.moves(u), u)
	now = m.course(u, func(s state, in uint64) {
		if n := looks & in & runs; n != 0 {
			yield(s, float64(mathbits.OnesCount64(n&moves)), float64(mathbits.OnesCount64(n)), all)
		}
		all += float64(mathbits.OnesCount64(looks & in))
	})
	return now, all
}

// alone is how often units change by themselves in a run.
type alone struct {
	settled [][kinds]float32 // by directory and kind
	states  [kinds][courses * ages]float32
}

func newAlone(m *Model) *alone {
	a := &alone{settled: make([][kinds]float32, m.Dirs())}
	below := make([][kinds]share, m.Dirs())
	for u, f := range m.flags {
		if f&present == 0 {
			continue
		}
		x := &below[m.dir[u]][f&kindMask]
		m.tell(ID(u), ^uint64(0), func(s state, changes, looks, _ float64) {
			if !s.own() {
				looks *= s.usual()
			}
			x.changes, x.looks = x.changes+changes, x.looks+looks
		})
	}
	for d := m.Dirs() - 1; d > 0; d-- {
		up := &below[m.dirs[d].parent]
		for k, x := range below[d] {
			up[k].changes, up[k].looks = up[k].changes+x.changes, up[k].looks+x.looks
		}
	}
	for d := range below {
		for k, x := range below[d] {
			usual := floor
			if d > 0 {
				usual = float64(a.settled[m.dirs[d].parent][k])
			}
			a.settled[d][k] = float32((x.changes + aloneDirShrink) / (x.looks + aloneDirShrink/usual))
		}
	}
	a.learn(m)
	return a
}

// learn holds the usual rates against what happened on the site.
func (a *alone) learn(m *Model) {
	var by [kinds][courses * ages]share // changes, and as many as were expected
	for k := range a.states {
		for s := range a.states[k] {
			a.states[k][s] = float32(state(s).usual())
		}
	}
	for u, f := range m.flags {
		if f&present == 0 {
			continue
		}
		of := &by[f&kindMask]
		m.tell(ID(u), ^uint64(0), func(s state, changes, looks, before float64) {
			x := &of[s]
			x.changes, x.looks = x.changes+changes, x.looks+looks*a.in(m, ID(u), s, before+looks/2)
		})
	}
	for k := range by {
		for s, x := range by[k] {
			a.states[k][s] *= float32((x.changes + stateShrink) / (x.looks + stateShrink))
		}
	}
}

// in is how often a unit changes by itself in a run when it is in a state, after so many calm runs that
// observed it.
func (a *alone) in(m *Model, u ID, s state, looks float64) float64 {
	rate := float64(a.states[m.kind(u)][s])
	if !s.own() {
		rate *= aloneShrink / (looks + aloneShrink/float64(a.settled[m.dir[u]][m.kind(u)]))
	}
	return rate
}

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
	s, known := a.Model.tell(u, 0, nil)
	now := a.alone.in(a.Model, u, s, known)
	before := now * min(steps, 1)
	if a.quiet.now {
		changes, looks := a.Model.alone(u, a.calm(g.dir)&a.quiet.runs)
		now = (changes + silentShrink*now*a.quiet.alone) / (looks + silentShrink)
	}
	return -math.Expm1(-max(before, leastRate*steps) - max(now, leastRate)*a.chain.gap)
}

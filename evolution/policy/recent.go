// SPDX-License-Identifier: Apache-2.0

package policy

import mathbits "math/bits"

// What came or was changed lately changes again sooner than its rate says: a page that was published last week
// is corrected, and one that is being written is written on; one that has rested for long changes later. How
// much sooner or later is learned from the runs so far, by how many of them lie between an event and a look.

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

// events are the runs that found a change of a unit, and the one in which it came unless it was there from the
// beginning: bit i is Model.runs-i.
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

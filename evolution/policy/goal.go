// SPDX-License-Identifier: Apache-2.0

package policy

import "math"

// A goal of lateness. A price says what a change is worth whenever it is found; that changes are found in
// time is kept to by two things more.
//
// The price does not rise with what a run finds: most changes are made in a few runs that change
// much, and what such a run leaves for another day is late by a whole interval.
//
// And the price falls while the changes found had waited for longer than they may. How long a change waited
// is unknown, but it came after the first look that could not have seen it: in the mean it is half of the
// time since the run after the last look, and nothing for what the last run looked at. The model counts both
// when it learns a run, so all that a plan needs of earlier runs is in their observations, but for one thing:
// what a hub, a feed or a sitemap told of had not changed when that was last looked at (Run.Told).

// The price falls with the square root of how many times too long changes had waited, and not below this part
// of it: most of the waiting is that of a few changes, which say little of the next ones.
const leastGoal = 0.5

// wait takes note of how many changes a run found, and for how many seconds they may have waited.
func wait(m *Model, r *Run, first bool) {
	var found, waited float64
	for _, s := range [...][]Span{r.Changed, r.Left, r.Entered} {
		if first { // what the first run finds was there
			break
		}
		for u := range m.spans(s) {
			if m.kind(u) == Listing {
				continue
			}
			found++
			waited += Waiting(m, u, r.Time)
		}
	}
	m.changes, m.waited = append(m.changes, found), append(m.waited, max(0, waited-r.Told))
}

// Waiting is for how many seconds, in the mean, a change of a unit has waited that the next run finds, at
// Unix seconds; 0 when that is not known.
func Waiting(m *Model, u ID, now int64) float64 {
	if int(u) >= len(m.dir) {
		return 0
	}
	last := m.last(u)
	if last == 0 || int(last) == m.runs {
		return 0
	}
	since := m.times[last+1]
	if now == 0 || since == 0 {
		return 0
	}
	return float64(max(0, now-since)) / 2
}

// goal is the part of the price that is left for the sake of a goal of lateness; 0 for none.
type goal float64

// goalOf holds what was found against the goal: what counts how much is as with all else that is observed.
func goalOf(a *adaptive) goal {
	if a.Late == 0 {
		return 0
	}
	var may, waited float64
	for r := range a.changes {
		may += a.chain.disc[r] * a.changes[r] * float64(a.Late)
		waited += a.chain.disc[r] * a.waited[r]
	}
	if waited <= may {
		return 1
	}
	return goal(max(leastGoal, math.Sqrt(may/waited)))
}

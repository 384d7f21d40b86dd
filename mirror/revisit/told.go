// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"encoding/json"
	"slices"

	"mirrord/evolution/policy"
)

// ToldFact is where a site keeps, for a job with a goal of lateness, how much too long changes seem to have
// waited that a source told of.
const ToldFact = "told"

// toldTimes are, by run, the seconds by which changes seem to have waited too long: what a source told of had
// not changed when the source was last looked at, however long ago that of the page itself was.
type toldTimes map[int]float64

// toldRuns is of how many runs they are kept: the counts of earlier ones have mostly faded.
const toldRuns = 64

func newTold(fact []byte) toldTimes {
	t := toldTimes{}
	if json.Unmarshal(fact, &t) != nil { // or there is no fact: it begins again
		clear(t)
	}
	return t
}

// fact returns the value to remember.
func (t toldTimes) fact() ([]byte, error) {
	runs := make([]int, 0, len(t))
	for run := range t {
		runs = append(runs, run)
	}
	slices.Sort(runs)
	for _, run := range runs[:max(0, len(runs)-toldRuns)] {
		delete(t, run)
	}
	return json.Marshal(t)
}

// note takes note of a change of a unit that a source told of.
func (t toldTimes) note(o *PlanOptions, m *policy.Model, u, from policy.ID) {
	if o.Job.Adaptive.Late == 0 {
		return
	}
	now := o.Now.Unix()
	// a kind of sources has no number of a URL: all of it is looked at in each run
	if x := policy.Waiting(m, u, now) - policy.Waiting(m, from, now); x > 0 {
		t[o.Run] += x
	}
}

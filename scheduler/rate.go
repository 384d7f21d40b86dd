// SPDX-License-Identifier: Apache-2.0

package scheduler

import "time"

// ChangeRate is what a continuous job knows of how fast its site changes: sums over past runs in which older
// ones count less. The zero value knows nothing.
type ChangeRate struct {
	Changes float64 `json:"changes,omitempty"` // pages that entered, left or changed
	Hours   float64 `json:"hours,omitempty"`   // in which they did
}

// Of a continuous job: what an older run counts beside the one after it, how much of the site may have
// changed before the next run begins, and how many changes at least that run should find.
const (
	rateMemory = 0.7
	rateShare  = 0.001
	rateLeast  = 1.0
)

// Observe adds a run that found changes in what had happened over the time since the run before it.
func (r ChangeRate) Observe(changes int, over time.Duration) ChangeRate {
	if over <= 0 {
		return r
	}
	return ChangeRate{Changes: r.Changes*rateMemory + float64(changes), Hours: r.Hours*rateMemory + over.Hours()}
}

// Interval is how long to wait from the end of a run to the start of the next: until about a thousandth of
// the files, and at least one, is expected to have changed, within the bounds. A site that was never seen to
// change is taken to change half a time in all the time it was watched, so that waits grow.
func (r ChangeRate) Interval(files int, least, most time.Duration) time.Duration {
	if r.Hours <= 0 {
		return least
	}
	want := max(rateLeast, rateShare*float64(files))
	hours := want * r.Hours / (r.Changes + 0.5)
	if hours >= most.Hours() {
		return most
	}
	return max(least, time.Duration(hours*float64(time.Hour)))
}

// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"net/http"

	"mirrord/mirror/urls"
	"mirrord/store"
)

// A page that does not exist, and never was in the mirror, may be named by every page of the site in every
// answer. A run without a plan requests such a dead end again after 1 run, then after 2, 4 and 8, unless a
// document that came anew names it. Under a plan dead links have a price, see planDead.

// longestRest is the binary logarithm of the runs after which a dead end is requested again, at most.
const longestRest = 3

// deadEnds are the dead ends that a run leaves out.
type deadEnds struct{ resting urls.IDSet }

// load takes a record. The version of the site that readers see has nothing of what is left out.
func (d *deadEnds) load(rec *store.Resource, run int) {
	looks := 0
	switch rec.Status {
	case http.StatusNotFound, http.StatusGone:
		looks = rec.Gone
	case http.StatusForbidden, http.StatusFailedDependency, http.StatusNotImplemented:
		looks = rec.Failures
	}
	dead := looks > 0 && !rec.InSet && rec.Target == 0 && rec.Referrer > 0
	if dead && run < rec.Run+1<<min(looks-1, longestRest) {
		d.resting.Put(rec.ID, true)
	}
}

// Rests reports whether a run does not request a known URL because an unchanged document names it: the plan
// decides, or it is a dead end whose time has not come. broken says that it has failed for several runs.
func (a *SkipPlan) Rests(id uint32, s urls.State, broken bool) bool {
	if a.Plan == nil {
		return a.deadEnds.resting.Has(id)
	}
	return a.Plan.Leaves(id, s, broken)
}

// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"cmp"
	"net/http"
	"slices"

	"mirrord/store/record"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// Pages keep naming what the site does not have and the mirror never had. A run without a plan requests such
// a dead end again after 1, 2, 4 and then every 8 runs, and at once when a page that changed names it; all of
// them are at most a twentieth of the pages of the mirror in a run, or five. Plans have a rule of their own
// for them (revisit.Planner.Leaves).

const (
	deadRuns  = 8  // after which a dead end is requested again, at most
	deadShare = 20 // of so many resources one is a dead end, or
	deadLeast = 5  // where that is more
)

// deadEnds are what a run need not request of these.
type deadEnds struct {
	found []deadEnd
	rest  urls.IDSet
}

type deadEnd struct {
	id         uint32
	gap, since int // runs
}

// note takes the record of an earlier run.
func (d *deadEnds) note(rec *record.Resource, run int) {
	had := rec.InSet || (rec.Changed > 0) || (rec.Moved > 0)
	if had || (rec.Run >= run) || ((rec.Outcome != site.Gone) && (rec.Outcome != site.Failed)) {
		return
	}
	switch rec.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusFailedDependency, http.StatusForbidden,
		http.StatusNotImplemented:
	default:
		return
	}
	looks := max(1, int(rec.Gone), int(rec.Failures))
	d.found = append(d.found, deadEnd{
		id:    rec.ID,
		gap:   min(1<<min(looks-1, 16), deadRuns),
		since: run - rec.Run,
	})
}

// choose decides which of them a run does not request. Those that are overdue for longest have their turn
// first.
func (d *deadEnds) choose(resources int64) {
	slices.SortFunc(d.found, func(a, b deadEnd) int {
		return cmp.Or(cmp.Compare(b.since*a.gap, a.since*b.gap), cmp.Compare(a.id, b.id))
	})
	left := max(deadLeast, int(resources/deadShare))
	for _, e := range d.found {
		if left--; (left < 0) || (e.since < e.gap) {
			d.rest.Put(e.id, true)
		}
	}
	d.found = nil
}

// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"

	"mirrord/evolution/policy"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// Documents keep naming what the site does not have, or what leads out of the mirror. Such a dead link is
// requested again after 1, 2, 4 and then every 8 runs; at once when a document that changed names it, or when
// others of its directory are alive again. All of them are at most a twentieth of a run: of the resources of
// the mirror, or of the requests that a plan makes.

const (
	deadRuns  = 8  // after which a dead link is requested again, at most
	deadShare = 20 // of so many URLs one is a dead link, or
	deadLeast = 5  // where that is more, in a run without a plan
)

// DeadLinks are the dead links that earlier runs know. They are filled while the table is loaded, and are
// safe for concurrent use afterwards, also while a table is locked.
type DeadLinks struct {
	found map[uint32]deadLink
	rest  urls.IDSet // of a run without a plan: they are not requested

	mu    sync.Mutex
	due   map[uint32]bool // of a planned run: documents name them, and their turn has come
	taken int             // of those, by the plan
}

type deadLink struct {
	gap, since int  // runs
	never      bool // the mirror never had it, and its answer says that it is not there
}

// Load takes the record of an earlier run.
func (d *DeadLinks) Load(rec *record.Resource, run int) {
	if rec.InSet || rec.Target != 0 || rec.Run >= run {
		return
	}
	looks := max(1, rec.Gone, rec.Failures)
	switch rec.Outcome {
	case site.Gone, site.Failed:
	case site.Redirected, site.Disallowed:
		looks = deadRuns
	default:
		return
	}
	link := deadLink{gap: min(1<<min(looks-1, deadRuns), deadRuns), since: run - rec.Run}
	link.never = rec.Outcome == site.Redirected && rec.Changed == 0
	switch rec.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusFailedDependency, http.StatusForbidden,
		http.StatusNotImplemented:
		link.never = rec.Changed == 0 && rec.Moved == 0
	}
	if d.found == nil {
		d.found = map[uint32]deadLink{}
	}
	d.found[rec.ID] = link
}

func (d *DeadLinks) isDue(id uint32) bool { return d.found[id].since >= d.found[id].gap }

// byTurn puts those first that are overdue for longest.
func (d *DeadLinks) byTurn(a, b uint32) int {
	x, y := d.found[a], d.found[b]
	return cmp.Compare(y.since*x.gap, x.since*y.gap)
}

// Choose decides which of those that the mirror never had a run without a plan does not request.
func (d *DeadLinks) Choose(resources int64) {
	var all []uint32
	for id, link := range d.found {
		if link.never {
			all = append(all, id)
		}
	}
	slices.SortFunc(all, func(a, b uint32) int { return cmp.Or(d.byTurn(a, b), cmp.Compare(a, b)) })
	left := max(deadLeast, int(resources/deadShare))
	for _, id := range all {
		if left--; left < 0 || !d.isDue(id) {
			d.rest.Put(id, true)
		}
	}
}

// Rests reports whether a run without a plan does not request a URL.
func (d *DeadLinks) Rests(id uint32) bool { return d.rest.Has(id) }

// named reports whether a URL that a document names is a dead link. One whose turn has come waits for take.
func (d *DeadLinks) named(id uint32) bool {
	_, is := d.found[id]
	if is && d.isDue(id) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.due == nil {
			d.due = map[uint32]bool{}
		}
		d.due[id] = true
	}
	return is
}

// take returns those whose turn it is, as many as a run may request that made so many requests, those for
// dead links included. A plan takes them when it has nothing else: then it is known how many these are.
func (d *DeadLinks) take(run, made int, byKey func(a, b policy.ID) int) []uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(deadAllowed(run, made-d.taken)-d.taken, len(d.due))
	if n <= 0 {
		return nil
	}
	ids := slices.SortedFunc(maps.Keys(d.due), func(a, b uint32) int {
		return cmp.Or(d.byTurn(a, b), byKey(policy.ID(a), policy.ID(b)))
	})[:n]
	for _, id := range ids {
		delete(d.due, id)
	}
	d.taken += n
	return ids
}

// deadAllowed is how many dead links a run may request beside so many other requests. Where that is less than
// one, it is one in some of the runs.
func deadAllowed(run, others int) int {
	n := float64(others) / (deadShare - 1)
	if n < 1 {
		_, place := math.Modf(float64(run) * math.Phi)
		n += place
	}
	return int(n)
}

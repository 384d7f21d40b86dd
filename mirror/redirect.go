// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mirrord/fetch"
	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// redirect reads an answer that leads to another URL of the site, which is a URL of its own.
func (r *asking) redirect(rec *store.Resource, res *fetch.Result, to site.URL) (found, error) {
	hops := r.traits.Hops(rec.ID) + 1
	away := errors.Is(res.LocationErr, site.ErrNotWeb) // it leads somewhere, if not to what can be mirrored
	switch {
	case res.LocationErr != nil && !away:
		return outcome(r.brokenRedirect(rec, fmt.Sprintf("status %d: %v", res.Status, res.LocationErr)))
	case to.IsZero() && !away:
		return outcome(r.brokenRedirect(rec, fmt.Sprintf("status %d without a Location", res.Status)))
	case hops > int(r.job.Limits.MaxRedirects):
		why := fmt.Sprintf("more than %d redirects in a row", r.job.Limits.MaxRedirects)
		return outcome(r.brokenRedirect(rec, why))
	}
	if res.SetsCookie {
		r.traits.NoteCookie(rec.ID)
	}
	if to == rec.URL {
		if res.SetsCookie && !r.traits.Spent(rec.ID, ledger.WithCookie) {
			return found{turn: ledger.Turn{Why: ledger.WithCookie}}, nil
		}
		return outcome(r.brokenRedirect(rec, fmt.Sprintf("status %d to itself", res.Status)))
	}
	rec.Outcome, rec.Failures, rec.Gone, rec.Answer = site.Redirected, 0, 0, res.Whole
	old := rec.Target
	rec.Target = 0
	f := &ledger.Finding{
		Done: store.Done{Resource: *rec, Linked: true},
		As:   ledger.Account{Tally: ledger.AsRedirected},
	}
	d := &f.Done
	if away {
		d.Reason = fmt.Sprintf("status %d: %v", res.Status, res.LocationErr)
	} else if id, ok := r.redirectTarget(rec, to, hops, &f.As); ok {
		d.Reason = "to " + to.String()
		d.Target = id + 1
		d.Targets = []uint32{id}
	} else {
		d.Reason = "to " + to.String() + ", which is not mirrored"
	}
	if rec.InSet {
		f.As.Room = ledger.RoomOf(rec).Neg()
	}
	if d.InSet || d.Target != old {
		d.InSet, d.Moved = false, r.read.run.Version
	}
	return outcome(f, nil)
}

// redirectTarget admits what a URL redirects to, after so many hops.
func (r *asking) redirectTarget(
	rec *store.Resource, to site.URL, hops int, as *ledger.Account,
) (id uint32, ok bool) {
	purpose := admit.Page
	if rec.Requis {
		purpose = admit.Requisite
	}
	ids := []int64{-1}
	from := crawl.Document{ID: rec.ID, Depth: rec.Depth - 1}
	add, disallowed := r.admission.Admit(ids, from, []admit.Candidate{{
		URL:     []byte(to.String()),
		Purpose: purpose,
		Follow:  true,
	}})
	as.Disallowed = append(as.Disallowed, disallowed...)
	if ids[0] < 0 {
		return 0, false
	}
	id = uint32(ids[0])
	lead := r.traits.Redirect(rec.ID, id, hops, slices.Contains(r.rules.Seeds, rec.URL))
	if lead && r.rules.Scope.Covers(to) {
		r.motor.Troubles.AddEntry(to)
	}
	r.motor.Entrance.Add(add...)
	return id, true
}

// brokenRedirect makes a failure like any other of a redirect that leads nowhere; what the mirror has stays.
func (r *asking) brokenRedirect(rec *store.Resource, reason string) (*ledger.Finding, error) {
	return r.failed(rec, reason, false)
}

// openCircles ends retrieval: circles are requested again where that may help, and what is left of them are
// failures. It ends because no URL gets a second turn, and because a failure is no part of a circle any more.
func (r *run) openCircles(stage func()) error {
	for {
		again, err := r.endCircles()
		if err != nil || !again || r.stopped() {
			return err
		}
		stage()
	}
}

// endCircles makes failures of what redirects in a circle: two answers of one run may each look right, and
// nobody arrives. It is called when nothing is left to ask. A circle of which an answer set a cookie is asked
// once more, as a wall that wants a session lets pass who comes back with it; again says that there is
// something to request.
func (r *run) endCircles() (again bool, err error) {
	for _, circle := range r.Table.Settled().Circles() {
		cookie := false
		var names []string
		for _, id := range circle {
			cookie = cookie || r.Traits.SetCookie(id)
			names = append(names, r.Table.URL(id).String())
		}
		for _, id := range circle {
			if s := r.Table.State(id); !s.Answered() || s.Outcome() != site.Redirected {
				continue // what an earlier run knows of it; it was not asked
			}
			f, more, err := r.asks.unredirect(id, "redirects in a circle: "+strings.Join(names, ", "), cookie)
			if err != nil {
				return again, err
			}
			r.conclude(id, r.Table.URL(id), f)
			again = again || more
		}
	}
	return again, nil
}

// unredirect puts back what was known of a URL before this run took it for a redirect, as a failure; or gives
// it another turn. again says that there may be something to request now: the URL itself, or what its copy
// links to under new rules.
func (r *asking) unredirect(id uint32, reason string, cookie bool) (f found, again bool, err error) {
	rec, err := r.read.record(id, r.table.URL(id)) // as before this run: what it found is not folded yet
	if err != nil {
		return f, false, err
	}
	known, err := r.read.site.Records.TargetsOf(id)
	if err != nil {
		return f, false, err
	}
	var targets []uint32
	store.Targets(known, func(to uint32) bool {
		targets = append(targets, to)
		return true
	})
	as := ledger.Account{}
	rec.Checked, rec.Run, rec.Status = r.now().Unix(), r.read.run.Number, 0 // no single answer failed
	r.table.Unsee(id, ledger.Left)
	if again = cookie && !r.traits.Spent(id, ledger.WithCookie); again {
		rec.Outcome, rec.Reason = site.Failed, reason
		f.turn = ledger.Turn{Why: ledger.WithCookie}
	} else {
		as = r.countFailure(&rec, reason, false)
	}
	as.Tally |= ledger.AsNotRedirect
	if rec.InSet {
		as.Room = ledger.RoomOf(&rec)
	}
	if !again && r.read.rescan && rec.InSet && rec.Body == store.PackBody {
		f.finding, err = r.read.rescanStored(&rec, as)
		return f, true, err
	}
	f.finding = &ledger.Finding{Done: store.Done{Resource: rec, Targets: targets, Linked: true}, As: as}
	return f, again, nil
}

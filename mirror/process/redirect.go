// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"slices"

	"mirrord/fetch"
	"mirrord/mirror/frontier"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// redirect reads an answer that redirects to another URL of the site, which is a URL of its own.
func (x *Processor) redirect(rec *record.Resource, res *fetch.Result, to site.URL) (Found, error) {
	if turn := respelled(x, rec, to); turn.Why != 0 {
		return Found{Turn: turn}, nil
	}
	if main := x.Rules.Main(to); main != to {
		if main == rec.URL {
			const what = "status %d to %s, which scope.aliases takes for the same: " +
				"the host that url names must be the one to which the site leads"
			return outcome(x.brokenRedirect(rec, fmt.Sprintf(what, res.Status, to)))
		}
		to = main
	}
	hops := x.Traits.Hops(rec.ID) + 1
	away := errors.Is(res.LocationErr, site.ErrNotWeb) // it leads somewhere, if not to what can be mirrored
	switch {
	case res.LocationErr != nil && !away:
		return outcome(x.brokenRedirect(rec, fmt.Sprintf("status %d: %v", res.Status, res.LocationErr)))
	case to.IsZero() && !away:
		return outcome(x.brokenRedirect(rec, fmt.Sprintf("status %d without a Location", res.Status)))
	case hops > int(x.Job.Limits.MaxRedirects):
		why := fmt.Sprintf("more than %d redirects in a row", x.Job.Limits.MaxRedirects)
		return outcome(x.brokenRedirect(rec, why))
	}
	if res.SetsCookie {
		x.Traits.Note(rec.ID, urls.SetCookie)
	}
	if to.Same(rec.URL) {
		if res.SetsCookie && !x.Traits.Spent(rec.ID, urls.WithCookie) {
			return Found{Turn: urls.Turn{Why: urls.WithCookie}}, nil
		}
		return outcome(x.brokenRedirect(rec, fmt.Sprintf("status %d to itself", res.Status)))
	}
	to, turn := settled(x, rec, to)
	if turn.Why != 0 {
		return Found{Turn: turn}, nil
	}
	if isKept(x, rec) {
		return kept(x, rec)
	}
	why := x.Admission.Sessions.LeavesAny(rec.URL)
	if (why != "") && rec.Referrer > 0 && !rec.Requis && !rec.InSet {
		return outcome(LeftOut(rec, why, x.Version, urls.Account{}), nil)
	}
	rec.Outcome, rec.Failures, rec.Gone, rec.Answer = site.Redirected, 0, 0, res.Whole
	rec.Requis = x.read.needed(rec)
	old, part := rec.Target, rec.Fragment
	rec.Target, rec.Fragment = 0, ""
	f := urls.WithoutLinks(rec, urls.Account{Tally: urls.AsRedirected})
	d := &f.Done
	var id uint32
	ok := false
	if !away && !to.IsZero() {
		id, ok = x.redirectTarget(rec, scope.Candidate{URL: []byte(to.String())}, hops, &f.As)
	}
	switch {
	case away:
		d.Reason = fmt.Sprintf("status %d: %v", res.Status, res.LocationErr)
	case to.IsZero():
		d.Reason = elsewhere
	case ok:
		x.Admission.Sessions.Led(rec.URL, to)
		d.Reason = "to " + to.String()
		d.Target = id + 1
		if len(res.Fragment) <= urls.MaxFragment {
			d.Fragment = res.Fragment
		}
		d.Targets = []uint32{id}
	default:
		d.Reason = "to " + to.String() + ", which is not mirrored"
	}
	if rec.InSet {
		f.As.Room = urls.RoomOf(rec).Neg()
	}
	if d.InSet || d.Target != old || d.Fragment != part {
		d.InSet, d.Moved = false, x.Version
	}
	return outcome(f, nil)
}

// respelled takes where a URL redirects. A turn requests it in the spelling that the server wants.
func respelled(x *Processor, rec *record.Resource, to site.URL) urls.Turn {
	asked := x.Chain.Spelled.Of(rec.URL)
	if to.IsZero() || !to.Same(rec.URL) || ((to == asked) && (to == rec.URL)) {
		return urls.Turn{}
	}
	if x.Traits.Spent(rec.ID, urls.Respelled) {
		return urls.Turn{}
	}
	x.Chain.Spelled.Learn(rec.URL, to) // unless another answer has taught it since
	return urls.Turn{Why: urls.Respelled}
}

// elsewhere is why a redirect has no target in the mirror.
const elsewhere = "leads elsewhere in each answer, and no longer to a page of the mirror"

// settled returns where a redirect leads, the zero URL for nowhere in the mirror: one of which two answers at
// one moment lead to different pages, as of a random page, leads where it did while the mirror has that.
// A turn asks for the second answer.
func settled(x *Processor, rec *record.Resource, to site.URL) (site.URL, urls.Turn) {
	if rec.Target == 0 || to.IsZero() {
		return to, urls.Turn{}
	}
	had := x.Table.URL(rec.Target - 1)
	asked := x.Traits.Spent(rec.ID, urls.Elsewhere)
	known := x.SkipPlan.Noise.Varies(rec.URL, to, had, asked)
	switch {
	case known && x.Table.State(rec.Target-1).InSet():
		return had, urls.Turn{}
	case known:
		return site.URL{}, urls.Turn{}
	case asked || to == had:
		return to, urls.Turn{}
	}
	return to, urls.Turn{Why: urls.Elsewhere}
}

// redirectTarget admits what a URL redirects to, after so many hops.
func (x *Processor) redirectTarget(
	rec *record.Resource, to scope.Candidate, hops int, as *urls.Account,
) (id uint32, ok bool) {
	if to.Follow = true; rec.Requis {
		to.Purpose = scope.Requisite
	}
	ids := []int64{-1}
	from := frontier.Document{ID: rec.ID, Depth: rec.Depth - 1}
	in := x.Admission.Admit(ids, from, []scope.Candidate{to})
	as.Disallowed = append(as.Disallowed, in.Forbidden...)
	as.Needed, as.Reopened = append(as.Needed, in.Needed...), append(as.Reopened, in.Reopened...)
	if ids[0] < 0 {
		return 0, false
	}
	id = uint32(ids[0])
	lead := x.Traits.Redirect(rec.ID, id, hops, slices.Contains(x.Rules.Seeds, rec.URL))
	if u := x.Table.URL(id); lead && x.Rules.Scope.Covers(u) {
		x.HostErrors.AddEntry(u)
	}
	x.HostAdmission.Add(in.Add...)
	return id, true
}

// brokenRedirect makes a failure like any other of a redirect that leads nowhere; what the mirror has stays.
func (x *Processor) brokenRedirect(rec *record.Resource, reason string) (*urls.Finding, error) {
	return x.failed(rec, reason, false)
}

// Unredirect restores the record of a URL from before this run found it to be a redirect, as a failure; or
// gives it another turn. again says that there may be something to request now: the URL itself, or what its
// copy links to under new rules.
func (x *Processor) Unredirect(id uint32, reason string, cookie bool) (f Found, again bool, err error) {
	rec, err := x.read.record(id, x.Table.URL(id)) // as before this run: what it found is not folded yet
	if err != nil {
		return f, false, err
	}
	known, err := x.Records.TargetsOf(id)
	if err != nil {
		return f, false, err
	}
	var targets []uint32
	record.Targets(known, func(to uint32) bool {
		targets = append(targets, to)
		return true
	})
	as := urls.Account{}
	rec.Checked, rec.Run, rec.Status = x.Now().Unix(), x.Run.Number, 0 // no single answer failed
	urls.Unsee(x.Table, id, urls.Left)
	if again = cookie && !x.Traits.Spent(id, urls.WithCookie); again {
		rec.Outcome, rec.Reason = site.Failed, reason
		f.Turn = urls.Turn{Why: urls.WithCookie}
	} else {
		as = x.countFailure(&rec, reason, false)
	}
	as.Tally |= urls.AsNotRedirect
	if rec.InSet {
		as.Room = urls.RoomOf(&rec)
	}
	if !again && x.Rescan && rec.InSet && rec.Body == record.PackBody {
		f.Finding, err = x.read.rescanStored(&rec, as)
		return f, true, err
	}
	f.Finding = &urls.Finding{Done: record.Done{Resource: rec, Targets: targets, Linked: true}, As: as}
	return f, again, nil
}

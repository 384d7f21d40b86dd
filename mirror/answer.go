package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mirrord/fetch"
	"mirrord/site"
	"mirrord/store"
)

// answer decides the outcome of an exchange.
func (r *run) answer(ctx context.Context, rec *store.Resource, host string, res *fetch.Result, err error, sink *bodySink) {
	switch s := res.Status; {
	case err != nil:
		r.originFails(ctx, rec, host, err.Error(), fetch.Transient(err), weighNoAnswer, fetch.Transient(err) || errors.Is(err, fetch.ErrDNS) || errors.Is(err, fetch.ErrTLS))
	case res.NotModified && rec.Body != store.NoBody:
		r.trouble(host, "", 0)
		rec.Volatile, rec.Expires = rec.Volatile.Same(), r.expires(res)
		r.unchanged(ctx, rec)
	case res.Kept && s == 200 || res.Kept && s == 203:
		r.trouble(host, "", 0)
		if res.Unframed {
			r.notes.add("bodies without Content-Length, whose end cannot be told from a cut", rec.URL)
		}
		if res.Offset > 0 {
			r.notes.add("large files continued where an earlier attempt had been cut off", rec.URL)
		}
		if r.misled(rec, res.MIME) {
			r.goneFor(ctx, rec)
			return
		}
		r.body(ctx, rec, res, sink)
	case s >= 300 && s < 400:
		r.trouble(host, "", 0)
		r.redirect(rec, res)
	case s == 404 || s == 410 || s >= 400 && s != 429 && s != 503 && !rec.InSet && r.isGuess(rec.ID):
		r.trouble(host, "", 0)
		r.goneFor(ctx, rec)
	case fetch.TransientStatus(s):
		if res.HasRetryAfter && res.RetryAfter > r.job.Polite.MaxWait {
			r.leaveHost(host, fmt.Sprintf("status %d with a Retry-After of %v, longer than polite.max_wait", s, res.RetryAfter))
			if s < 500 {
				r.slowHost(host)
			}
		}
		r.originFails(ctx, rec, host, fmt.Sprintf("status %d", s), true, weighBadAnswer, s >= 500)
	default:
		r.trouble(host, "", 0)
		r.fail(rec, host, fmt.Sprintf("status %d", s), false, 0)
	}
}

// fail records a failure. What the mirror holds stays. A passing failure gets one more turn at the end of the run. Requisites from outside of
// the scope never spoil a run: a page whose image host is dead is published without the image.
func (r *run) fail(rec *store.Resource, host, reason string, passing bool, weight int) {
	if !r.failsAgain(rec, host, reason, passing, weight) {
		r.failed(rec, reason, passing)
	}
}

// originFails is fail for what the origin answers or does not; elsewhere says that replicas may be asked for it then.
func (r *run) originFails(ctx context.Context, rec *store.Resource, host, reason string, passing bool, weight int, elsewhere bool) {
	if r.failsAgain(rec, host, reason, passing, weight) || elsewhere && r.elsewhere(ctx, rec, reason) {
		return
	}
	r.failed(rec, reason, passing)
}

// failsAgain counts a failure and reports whether the URL gets another turn in this run.
func (r *run) failsAgain(rec *store.Resource, host, reason string, passing bool, weight int) bool {
	if passing {
		r.trouble(host, reason, weight)
	}
	_, down := r.isDown(host)
	return passing && !down && r.anotherTurn(rec, turnFailed)
}

// failed records a failure that is the last of this run.
func (r *run) failed(rec *store.Resource, reason string, passing bool) {
	rec.Outcome, rec.Reason = site.Failed, reason
	rec.Failures++
	if (passing || rec.InSet) && rec.Failures < lastingFailures && r.scope.Covers(rec.URL) && !r.isGuess(rec.ID) {
		r.stats.failed.Add(1)
	} else {
		r.stats.refused.Add(1)
	}
	r.log.Debug("failed", "url", rec.URL.String(), "err", reason)
	r.notes.fail(rec.URL, reason)
	if r.rescan && rec.InSet && rec.Body == store.PackBody { // what the mirror keeps of it follows the new rules
		r.rescanStored(rec)
		return
	}
	r.finish(&store.Done{Resource: *rec})
}

// lastingFailures is how many runs in a row a URL must fail to be taken for broken: it no longer makes a run partial.
const lastingFailures = 3

// turns says why a URL is asked again in the same run: once for each reason.
type turns uint8

const (
	turnFailed turns = 1 << iota // a passing failure
	turnGone                     // a 404 or 410 of something that the mirror has
)

// anotherTurn puts a URL back for the end of the run, once for each reason.
func (r *run) anotherTurn(rec *store.Resource, why turns) bool {
	r.admitMu.Lock()
	had := r.again[rec.ID]&why != 0
	r.again[rec.ID] |= why
	r.admitMu.Unlock()
	if had {
		return false
	}
	r.front.add(rec.URL.Hostname(), rec.ID, prioLast)
	return true
}

// goneFor records a 404 or 410. A resource of the mirror leaves only when a second answer, after everything else, says the
// same; a failure is no such answer. A URL that never was in the mirror is gone at once.
func (r *run) goneFor(ctx context.Context, rec *store.Resource) {
	rec.Outcome, rec.Reason = site.Gone, ""
	if rec.InSet && r.anotherTurn(rec, turnGone) {
		return
	}
	if r.repairs(ctx, rec) {
		return
	}
	rec.Gone++
	rec.Failures = 0
	if rec.InSet {
		rec.Gone++ // the first answer of this run
	}
	r.leave(rec)
	r.stats.gone.Add(1)
	r.finish(&store.Done{Resource: *rec, Linked: true})
}

// hold counts what the mirror has when a resource takes the place of another one; nil is none.
func (r *run) hold(old, now *store.Resource) {
	if old != nil {
		r.stats.files.Add(-1)
		r.stats.held.Add(-old.Size)
	}
	if now != nil {
		r.stats.files.Add(1)
		r.stats.held.Add(now.Size)
	}
}

// leave takes a resource, or a redirect, out of the mirror. Its body stays in the packs and in the history.
func (r *run) leave(rec *store.Resource) {
	if rec.InSet {
		r.hold(rec, nil)
	}
	if rec.InSet || rec.Target != 0 {
		rec.InSet, rec.Target, rec.Moved = false, 0, r.version
	}
}

// unchanged records that the body of an earlier run is still right. Its links come from the store.
func (r *run) unchanged(ctx context.Context, rec *store.Resource) {
	rec.Outcome, rec.Failures, rec.Gone = site.Unchanged, 0, 0
	rec.Observe(false)
	forgive(rec)
	if !rec.InSet {
		r.hold(nil, rec)
		rec.InSet, rec.Moved = true, r.version
	}
	r.stats.unchanged.Add(1)
	if r.rescan && rec.Body == store.PackBody {
		r.rescanStored(rec)
		return
	}
	if r.rescan && isScript(rec) {
		r.rescanScript(rec)
		return
	}
	targets, err := r.site.TargetsOf(rec.ID)
	if err == nil && r.deferring && !r.alt.isAside(rec.ID) {
		err = r.hearStored(rec)
	}
	if err != nil {
		r.stop(err)
		return
	}
	r.followStored(targets)
	r.finish(&store.Done{Resource: *rec})
}

// followStored puts the targets of an unchanged document into the frontier, so that recursion never stops at a 304.
func (r *run) followStored(targets []byte) {
	t := r.table
	var add []uint32
	t.mu.Lock()
	for id := range func(yield func(uint32) bool) { store.Targets(targets, yield) } {
		guess := id < store.Mention && id&store.Guess != 0
		if guess {
			id &^= store.Guess
		}
		if id >= t.n {
			continue
		}
		e := t.at(id)
		if guess {
			e.seen |= seenGuess
			if (e.outcome == site.Gone || e.outcome == site.Trapped) && (int(id)+r.state.Number)%guessAgain != 0 {
				continue
			}
		} else {
			e.seen |= seenNamed
		}
		if e.flags&fQueued == 0 && e.urlLen > 0 {
			if r.deferring && governed(e) || r.leaves(id, e) {
				continue
			}
			if e.outcome == site.OutOfScope && !r.admits(t.urlOf(id), e) {
				continue
			}
			if !r.deferring {
				e.flags |= fQueued
			} else if !r.defers(id) {
				continue
			}
			add = append(add, id)
		}
	}
	t.mu.Unlock()
	for _, id := range add {
		r.enqueue(queueing{id: id, host: r.table.URL(id).Hostname(), p: prioKnown})
	}
}

// redirect records where a URL leads. The target is a URL of its own.
func (r *run) redirect(rec *store.Resource, res *fetch.Result) {
	r.admitMu.Lock()
	hops := r.hops[rec.ID] + 1
	r.admitMu.Unlock()
	away := errors.Is(res.LocationErr, site.ErrNotWeb) // it leads somewhere, if not to what can be mirrored
	switch {
	case res.LocationErr != nil && !away:
		r.brokenRedirect(rec, fmt.Sprintf("status %d: %v", res.Status, res.LocationErr))
		return
	case res.Location.IsZero() && !away:
		r.brokenRedirect(rec, fmt.Sprintf("status %d without a Location", res.Status))
		return
	case hops > int(r.job.Limits.MaxRedirects):
		r.brokenRedirect(rec, fmt.Sprintf("more than %d redirects in a row", r.job.Limits.MaxRedirects))
		return
	}
	rec.Outcome, rec.Failures, rec.Gone = site.Redirected, 0, 0
	old := rec.Target
	rec.Target = 0
	d := &store.Done{Resource: *rec, Linked: true}
	if away {
		d.Reason = fmt.Sprintf("status %d: %v", res.Status, res.LocationErr)
	} else if id, ok := r.redirectTarget(rec, res.Location, hops); ok {
		d.Reason = "to " + res.Location.String()
		d.Target = id + 1
		d.Targets = []uint32{id}
	} else {
		d.Reason = "to " + res.Location.String() + ", which is not mirrored"
	}
	if rec.InSet {
		r.hold(rec, nil)
	}
	if d.InSet || d.Target != old {
		d.InSet, d.Moved = false, r.version
	}
	r.stats.redirected.Add(1)
	r.finish(d)
}

// redirectTarget admits what a URL redirects to, after so many hops.
func (r *run) redirectTarget(rec *store.Resource, to site.URL, hops int) (id uint32, ok bool) {
	kind := kindPage
	if rec.Requis {
		kind = kindRequisite
	}
	ids := r.admit(rec.ID, rec.Depth-1, []candidate{{url: []byte(to.String()), kind: kind, follow: true}})
	if ids[0] < 0 {
		return 0, false
	}
	id = uint32(ids[0])
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	r.hops[id] = max(r.hops[id], hops)
	return id, true
}

// brokenRedirect records a redirect that leads nowhere: a failure like any other, and what the mirror has stays.
func (r *run) brokenRedirect(rec *store.Resource, reason string) {
	rec.Outcome, rec.Reason = site.Failed, reason
	if rec.Failures++; rec.Failures < lastingFailures {
		r.stats.failed.Add(1)
	} else {
		r.stats.refused.Add(1)
	}
	r.notes.fail(rec.URL, reason)
	r.finish(&store.Done{Resource: *rec})
}

// finish hands what became of a URL to the committer and keeps the table in step.
func (r *run) finish(d *store.Done) {
	d.Run = r.state.Number
	if d.InSet && (d.Outcome == site.Fetched || d.Outcome == site.Unchanged) {
		if d.Source != "" || r.alt.isAside(d.ID) {
			d.Evidence = [spokenKinds]uint64{} // what listings say is said of the origin's body
		} else if say := r.evidence.of(d.ID); d.Listing && say == [spokenKinds]uint64{} {
			// What was said of a listing's directory is only ever a reason to ask for it: it may be old.
		} else if d.Status != 0 || say != [spokenKinds]uint64{} {
			d.Evidence = say
		}
	}
	r.noteShape(&d.Resource)
	r.noteSource(&d.Resource)
	if d.Reason != "" && d.Referrer == 0 {
		r.notes.decided(d.URL, d.Reason)
	}
	t := r.table
	t.mu.Lock()
	e := t.at(d.ID)
	if e.guessed() && e.flags&fAnswered == 0 {
		switch d.Outcome {
		case site.Gone:
			r.stats.guessGone.Add(1)
		case site.Fetched, site.Redirected:
			r.stats.guessFound.Add(1)
		}
	}
	e.outcome, e.target = d.Outcome, d.Target
	e.seen |= seenOf(&d.Resource, e.flags&fInSet != 0)
	seen := e.seen
	e.flags |= fAnswered
	e.mime = t.mime(d.MIME)
	set := func(f uint8, on bool) {
		e.flags &^= f
		if on {
			e.flags |= f
		}
	}
	set(fInSet, d.InSet)
	set(fDirty, d.Changed >= r.version)
	set(fMoved, d.Moved >= r.version)
	if d.Path == "" && (e.pathLen > 0 || e.flags&fIdentity != 0) {
		e.flags &^= fIdentity
		e.pathLen = 0
	}
	t.mu.Unlock()
	if r.planner != nil {
		r.planner.tell(d.ID, seen)
	}
	if len(d.Targets) > 1 {
		slices.Sort(d.Targets)
	}
	r.commits <- d
}

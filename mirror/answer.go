// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// answer decides the outcome of an exchange.
func (r *run) answer(ctx context.Context, rec *store.Resource, res *fetch.Result, err error, sink *bodySink) {
	switch s := res.Status; {
	case err != nil:
		r.noAnswer(ctx, rec, res, err)
	case res.NotModified && rec.Body != store.NoBody:
		r.answers(rec.URL)
		rec.Volatile, rec.Expires = rec.Volatile.Same(), r.expires(res)
		r.unchanged(ctx, rec)
	case res.Kept && s == 200 || res.Kept && s == 203:
		r.answers(rec.URL)
		if res.Unframed {
			r.notes.Add("bodies without Content-Length, whose end cannot be told from a cut", rec.URL)
		}
		if res.Offset > 0 {
			r.notes.Add("large files continued where an earlier attempt had been cut off", rec.URL)
		}
		if r.misled(rec, res.MIME) {
			r.goneFor(ctx, rec)
			return
		}
		r.body(ctx, rec, res, sink)
	case s >= 300 && s < 400:
		r.answers(rec.URL)
		r.redirect(rec, res)
	case s == 404 || s == 410 || s >= 400 && s != 429 && s != 503 && !rec.InSet && r.isGuess(rec.ID):
		r.answers(rec.URL)
		r.goneFor(ctx, rec)
	case fetch.TransientStatus(s):
		r.busy(ctx, rec, res)
	default:
		r.answers(rec.URL)
		r.fail(rec, fmt.Sprintf("status %d", s), false, 0)
	}
}

// busy records an answer that says to come back later.
func (r *run) busy(ctx context.Context, rec *store.Resource, res *fetch.Result) {
	reason, most := fmt.Sprintf("status %d", res.Status), r.job.Polite.MaxWait
	elsewhere := res.Status >= 500
	if res.RetryAfter <= 0 {
		r.originFails(ctx, rec, reason, true, weighBadAnswer, elsewhere)
		return
	}
	if res.RetryAfter > most {
		reason += fmt.Sprintf(" with a Retry-After of %v, longer than polite.max_wait", res.RetryAfter)
		if r.waitOf(rec.URL, rec.ID, res) > 0 {
			r.leaveHost(rec.URL, reason, elsewhere)
		}
	}
	r.troubled(rec.URL, reason, weighBadAnswer)
	if _, _, down := r.isDown(rec.URL); !down && res.RetryAfter <= most && r.turnAt(rec, turnFailed, r.now().Add(res.RetryAfter)) {
		return
	}
	if elsewhere && r.elsewhere(ctx, rec, reason) {
		return
	}
	r.failed(rec, reason, true)
}

// noAnswer records an exchange without a usable answer. A broken one is asked for once more, at the end of the run: it is the same then
// when that is the server's way, and another when the network or a restart broke it.
func (r *run) noAnswer(ctx context.Context, rec *store.Resource, res *fetch.Result, err error) {
	const weight = weighNoAnswer // also of a broken one: eight URLs in a row that break are the server's trouble
	passing := fetch.Transient(err)
	if fetch.Broken(err) {
		if res.Sent < 2 && r.failsAgain(rec, err.Error(), true, weight) {
			return
		}
		r.spendTurn(rec.ID, turnFailed)
	}
	r.originFails(ctx, rec, err.Error(), passing, weight, passing || errors.Is(err, fetch.ErrDNS) || errors.Is(err, fetch.ErrTLS))
}

// fail records a failure. What the mirror holds stays. A passing failure gets one more turn at the end of the run. Requisites from outside of
// the scope never spoil a run: a page whose image host is dead is published without the image.
func (r *run) fail(rec *store.Resource, reason string, passing bool, weight int) {
	if !r.failsAgain(rec, reason, passing, weight) {
		r.failed(rec, reason, passing)
	}
}

// originFails is fail for what the origin answers or does not; elsewhere says that replicas may be asked for it then.
func (r *run) originFails(ctx context.Context, rec *store.Resource, reason string, passing bool, weight int, elsewhere bool) {
	if r.failsAgain(rec, reason, passing, weight) || elsewhere && r.elsewhere(ctx, rec, reason) {
		return
	}
	r.failed(rec, reason, passing)
}

// failsAgain counts a failure and reports whether the URL gets another turn in this run.
func (r *run) failsAgain(rec *store.Resource, reason string, passing bool, weight int) bool {
	if passing {
		r.troubled(rec.URL, reason, weight)
	}
	_, _, down := r.isDown(rec.URL)
	return passing && !down && r.anotherTurn(rec, turnFailed)
}

// failed records a failure that is the last of this run.
func (r *run) failed(rec *store.Resource, reason string, passing bool) {
	as := r.countFailure(rec, reason, passing)
	if r.rescan && rec.InSet && rec.Body == store.PackBody { // what the mirror keeps of it follows the new rules
		r.rescanStored(rec, as)
		return
	}
	r.apply(&ledger.Finding{Done: store.Done{Resource: *rec}, As: as})
}

// countFailure makes a record one of a failure, and says how that counts. A failure that will not pass spoils a run only when it concerns the mirror.
func (r *run) countFailure(rec *store.Resource, reason string, passing bool) ledger.Account {
	rec.Outcome, rec.Reason = site.Failed, reason
	rec.Failures++
	counts := (passing || rec.InSet) && rec.Failures < lastingFailures && r.scope.Covers(rec.URL) && !r.isGuess(rec.ID)
	r.lose(rec.URL, counts)
	r.log.Debug("failed", "url", rec.URL.String(), "err", reason)
	if counts {
		return ledger.Account{Tally: ledger.AsFailed, Failed: reason}
	}
	return ledger.Account{Tally: ledger.AsRefused, Failed: reason}
}

// lastingFailures is how many runs in a row a URL must fail to be taken for broken: it no longer makes a run partial.
const lastingFailures = 3

// turns says why a URL is asked again in the same run: once for each reason.
type turns uint8

const (
	turnFailed turns = 1 << iota // a passing failure
	turnGone                     // a 404 or 410 of something that the mirror has
	turnCookie                   // redirects in a circle, of which an answer set a cookie
)

// waitingTurn is a URL that asked to be left alone until a time.
type waitingTurn struct {
	origin string
	id     uint32
	at     time.Time
}

// anotherTurn puts a URL back for the end of the run, once for each reason.
func (r *run) anotherTurn(rec *store.Resource, why turns) bool {
	return r.turnAt(rec, why, time.Time{})
}

// turnAt is anotherTurn, not before a time.
func (r *run) turnAt(rec *store.Resource, why turns, at time.Time) bool {
	if r.spendTurn(rec.ID, why) {
		return false
	}
	switch {
	case at.IsZero():
		r.front.Add(rec.URL.Origin(), rec.ID, crawl.PrioLast)
	case r.deferring: // the sources of evidence are asked first, and nothing waits for one of them
		r.admitMu.Lock()
		r.waiting = append(r.waiting, waitingTurn{rec.URL.Origin(), rec.ID, at})
		r.admitMu.Unlock()
	default:
		r.front.AddAt(rec.URL.Origin(), rec.ID, crawl.PrioLast, at)
	}
	return true
}

// spendTurn notes that a URL is not asked again for such a reason, and reports whether it was before.
func (r *run) spendTurn(id uint32, why turns) (had bool) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	had = r.again[id]&why != 0
	r.again[id] |= why
	return had
}

// hadTurn reports whether a URL was asked before in this run.
func (r *run) hadTurn(id uint32, why turns) bool {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	return r.again[id]&why != 0
}

// goneFor records a 404 or 410. A resource of the mirror leaves only when a second answer, after everything else, says the
// same; a failure is no such answer. A URL that never was in the mirror is gone at once.
func (r *run) goneFor(ctx context.Context, rec *store.Resource) {
	rec.Outcome, rec.Reason = site.Gone, ""
	if !rec.InSet && isFavicon(rec.URL) && r.isGuess(rec.ID) { // it was never there, and nothing named it
		r.apply(&ledger.Finding{Done: store.Done{Resource: *rec, Linked: true}})
		return
	}
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
	r.apply(&ledger.Finding{Done: store.Done{Resource: *rec, Linked: true}, As: ledger.Account{Tally: ledger.AsGone}})
}

// hold counts what the mirror has when a resource takes the place of another one; nil is none.
func (r *run) hold(old, now *store.Resource) {
	if old != nil {
		r.stats.Files.Add(-1)
		r.stats.Held.Add(-old.Size)
	}
	if now != nil {
		r.stats.Files.Add(1)
		r.stats.Held.Add(now.Size)
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
	as := ledger.Account{Tally: ledger.AsUnchanged}
	if r.rescan && rec.Body == store.PackBody {
		r.rescanStored(rec, as)
		return
	}
	if r.rescan && isScript(rec) {
		r.rescanScript(rec, as)
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
	r.apply(&ledger.Finding{Done: store.Done{Resource: *rec}, As: as})
}

// followStored puts the targets of an unchanged document into the frontier, so that recursion never stops at a 304.
func (r *run) followStored(targets []byte) {
	guess := false // the one whose turn it is
	ids := func(yield func(uint32) bool) {
		store.Targets(targets, func(id uint32) bool {
			if guess = id < store.Mention && id&store.Guess != 0; guess {
				id &^= store.Guess
			}
			return yield(id)
		})
	}
	var add []queueing
	r.table.Mark(ids, func(id uint32, s ledger.State, u site.URL) ledger.Mark {
		m := ledger.Mark{Seen: ledger.Named}
		if guess {
			m.Seen = ledger.Guess
			if r.rests(id, s) {
				return m
			}
		}
		switch {
		case s.Queued(), !s.Given(), r.deferring && s.Governed(), r.leaves(id, s):
			return m
		case s.Outcome() == site.OutOfScope && !r.admits(u, s):
			return m
		case r.deferring && !r.defers(id):
			return m
		}
		m.Queue = !r.deferring
		add = append(add, queueing{id: id, origin: u.Origin(), p: crawl.PrioKnown})
		return m
	})
	r.enqueue(add...)
}

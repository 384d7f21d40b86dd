// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"

	"mirrord/fetch"
	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/source"
	"mirrord/mirror/spare"
	"mirrord/site"
	"mirrord/store"
)

// found is what one turn of a URL came to. Without an outcome and without another turn the URL is left for
// the next run.
type found struct {
	finding *ledger.Finding // the outcome; nil for none
	turn    ledger.Turn     // another request of this run
	spent   ledger.Again    // for these reasons there is no other turn any more
}

// outcome wraps a finding that ends what this run has to do with a URL.
func outcome(f *ledger.Finding, err error) (found, error) { return found{finding: f}, err }

// answer reads the result of an exchange.
func (r *asking) answer(ctx context.Context, rec *store.Resource, a *source.Answer) (found, error) {
	res := a.Result
	if a.Err != nil {
		return r.noAnswer(ctx, rec, res, a.Err)
	}
	s := res.Status
	unwantedGuess := s >= 400 && s != 429 && s != 503 && !rec.InSet && r.read.isGuess(rec.ID)
	if fetch.TransientStatus(s) && !unwantedGuess {
		return r.busy(ctx, rec, res)
	}
	r.motor.Troubles.Answered(rec.URL)
	switch {
	case res.NotModified && rec.Body != store.NoBody:
		rec.Volatile = rec.Volatile.Same()
		rec.Expires = spare.Expires(r.job.Evidence, res.Header, r.now())
		return outcome(r.read.unchanged(rec, ledger.Account{}))
	case a.Content != nil:
		if r.read.misled(rec, res.MIME) {
			return r.goneFor(ctx, rec, exchangeNotes(res))
		}
		return outcome(r.read.body(rec, a, ledger.Account{Notes: exchangeNotes(res)}))
	case s >= 300 && s < 400:
		return r.redirect(rec, res, res.Location)
	case s == 404 || s == 410 || unwantedGuess:
		return r.goneFor(ctx, rec, nil)
	}
	return outcome(r.failed(rec, fmt.Sprintf("status %d", s), false))
}

// exchangeNotes says what the summary notes of how a body came.
func exchangeNotes(res *fetch.Result) (notes []string) {
	if res.Unframed {
		notes = append(notes, "bodies without Content-Length, whose end cannot be told from a cut")
	}
	if res.Offset > 0 {
		notes = append(notes, "large files continued where an earlier attempt had been cut off")
	}
	return notes
}

// busy reads an answer that says to come back later.
func (r *asking) busy(ctx context.Context, rec *store.Resource, res *fetch.Result) (found, error) {
	most := r.job.Polite.MaxWait
	f := failure{
		reason:   fmt.Sprintf("status %d", res.Status),
		passing:  true,
		weight:   crawl.WeighBadAnswer,
		fallback: res.Status >= 500,
	}
	if res.RetryAfter <= 0 {
		return r.originFails(ctx, rec, f)
	}
	if res.RetryAfter > most {
		f.reason += fmt.Sprintf(" with a Retry-After of %v, longer than polite.max_wait", res.RetryAfter)
		if r.motor.Troubles.Waited(rec.URL, rec.ID, res) > 0 {
			r.motor.Troubles.LeaveHost(rec.URL, f.reason, f.fallback)
		}
	}
	r.motor.Troubles.Failed(rec.URL, f.reason, f.weight)
	down := r.motor.Troubles.IsDown(rec.URL)
	if mayWait := !down && res.RetryAfter <= most; mayWait && !r.traits.Spent(rec.ID, ledger.AfterFailure) {
		return found{turn: ledger.Turn{Why: ledger.AfterFailure, At: r.now().Add(res.RetryAfter)}}, nil
	}
	return r.givenUp(ctx, rec, f)
}

// failure says how an origin did not give a URL.
type failure struct {
	reason   string
	passing  bool // another request may succeed
	weight   int  // see crawl.Troubles
	fallback bool // replicas may give it
}

// noAnswer reads an exchange without a usable answer. A broken one is requested once more, at the end of the
// run: it is the same then when that is the server's way, and another when the network or a restart broke it.
// Eight URLs in a row that break are the server's trouble.
func (r *asking) noAnswer(
	ctx context.Context, rec *store.Resource, res *fetch.Result, err error,
) (found, error) {
	f := failure{reason: err.Error(), passing: fetch.Transient(err), weight: crawl.WeighNoAnswer}
	f.fallback = f.passing || errors.Is(err, fetch.ErrDNS) || errors.Is(err, fetch.ErrTLS)
	if !fetch.Broken(err) {
		return r.originFails(ctx, rec, f)
	}
	broken := f
	broken.passing = true
	if res.Sent < 2 && r.failsAgain(rec, broken) {
		return found{turn: ledger.Turn{Why: ledger.AfterFailure}}, nil
	}
	if f.passing {
		r.motor.Troubles.Failed(rec.URL, f.reason, f.weight)
	}
	out, err := r.givenUp(ctx, rec, f)
	out.spent |= ledger.AfterFailure
	return out, err
}

// originFails records that the origin did not give a URL. A passing failure gets one more turn at the end of
// the run.
func (r *asking) originFails(ctx context.Context, rec *store.Resource, f failure) (found, error) {
	if r.failsAgain(rec, f) {
		return found{turn: ledger.Turn{Why: ledger.AfterFailure}}, nil
	}
	return r.givenUp(ctx, rec, f)
}

// failsAgain counts a failure and reports whether the URL gets another turn in this run.
func (r *asking) failsAgain(rec *store.Resource, f failure) bool {
	if !f.passing {
		return false
	}
	r.motor.Troubles.Failed(rec.URL, f.reason, f.weight)
	return !r.motor.Troubles.IsDown(rec.URL) && !r.traits.Spent(rec.ID, ledger.AfterFailure)
}

// givenUp records that the origin does not give a URL in this run. Replicas are the fallback.
func (r *asking) givenUp(ctx context.Context, rec *store.Resource, f failure) (found, error) {
	if f.fallback {
		if given, err := r.fallback(ctx, rec, f.reason); given != nil || err != nil {
			return outcome(given, err)
		}
	}
	return outcome(r.failed(rec, f.reason, f.passing))
}

// failed makes a failure that is the last of this run. What the mirror holds stays. Requisites from outside
// of the scope never spoil a run: a page whose image host is dead is published without the image.
func (r *asking) failed(rec *store.Resource, reason string, passing bool) (*ledger.Finding, error) {
	as := r.countFailure(rec, reason, passing)
	document := rec.InSet && rec.Body == store.PackBody
	if document && r.read.rescan { // what the mirror keeps of it follows the new rules
		return r.read.rescanStored(rec, as)
	}
	return &ledger.Finding{Done: store.Done{Resource: *rec}, As: as}, nil
}

// countFailure makes a record one of a failure, and says how that counts. A failure that will not pass spoils
// a run only when it concerns the mirror.
func (r *asking) countFailure(rec *store.Resource, reason string, passing bool) ledger.Account {
	rec.Outcome, rec.Reason = site.Failed, reason
	rec.Failures++
	concerns := (passing || rec.InSet) && rec.Failures < ledger.LastingFailures
	r.log.Debug("failed", "url", rec.URL.String(), "err", reason)
	as := ledger.Account{Tally: ledger.AsRefused, Failed: reason, Lost: true}
	if concerns && r.rules.Scope.Covers(rec.URL) && !r.read.isGuess(rec.ID) {
		as.Tally = ledger.AsFailed
	}
	return as
}

// goneFor reads a 404 or 410. A resource of the mirror leaves only when a second answer, after everything
// else, says the same; a failure is no such answer. A URL that never was in the mirror is gone at once.
func (r *asking) goneFor(ctx context.Context, rec *store.Resource, notes []string) (found, error) {
	rec.Outcome, rec.Reason = site.Gone, ""
	as := ledger.Account{Notes: notes}
	missingIcon := !rec.InSet && admit.IsFavicon(rec.URL) && r.read.isGuess(rec.ID)
	if missingIcon { // it was never there, and nothing named it
		return outcome(&ledger.Finding{Done: store.Done{Resource: *rec, Linked: true}, As: as}, nil)
	}
	if rec.InSet && !r.traits.Spent(rec.ID, ledger.AfterGone) {
		return found{turn: ledger.Turn{Why: ledger.AfterGone}}, nil
	}
	if f, err := r.repairs(ctx, rec); f != nil || err != nil {
		return outcome(f, err)
	}
	rec.Gone++
	rec.Failures = 0
	if rec.InSet {
		rec.Gone++ // the first answer of this run
	}
	as.Tally |= ledger.AsGone
	as.Room = as.Room.Add(leave(rec, r.read.run.Version))
	return outcome(&ledger.Finding{Done: store.Done{Resource: *rec, Linked: true}, As: as}, nil)
}

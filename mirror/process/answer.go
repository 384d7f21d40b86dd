// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"mirrord/fetch"
	"mirrord/internal/count"
	"mirrord/mirror/frontier"
	"mirrord/mirror/parse"
	"mirrord/mirror/revisit"
	"mirrord/mirror/scope"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/record"
)

// exchanged is the result of an exchange.
type exchanged struct {
	*source.Answer
	second bool // an earlier look found the URL gone
	own    bool // if it was silent, that is the URL's trouble: its origin answers others
}

// answer reads the result of an exchange.
func (x *Processor) answer(ctx context.Context, rec *record.Resource, a exchanged) (Found, error) {
	res := a.Result
	if a.Err != nil {
		return x.noAnswer(ctx, rec, a)
	}
	s := res.Status
	unwantedGuess := s >= 400 && s != 429 && s != 503 && !rec.InSet && x.read.isGuess(rec.ID)
	if fetch.TransientStatus(s) && !unwantedGuess {
		return x.busy(ctx, rec, res)
	}
	barred := res.Refuses() && (rec.InSet || res.Challenged()) && !unwantedGuess
	if barred && x.HostErrors.IsEntry(rec.URL) {
		x.HostErrors.Failed(rec.URL, fmt.Sprintf(refusesAll, howRefused(res)), frontier.Refusal)
	} else {
		x.HostErrors.Answered(rec.URL)
	}
	if rec.InSet && (res.NotModified || a.Content != nil) {
		x.Gave(rec.URL)
	}
	x.Waits.Forget(rec.ID)
	switch {
	case res.NotModified && rec.Body != record.NoBody:
		if why := x.read.leftOut(rec, parse.TypeOf(rec.MIME, relocate.Format(rec.Format))); why != "" {
			rec.Status = 0 // the rules refuse it
			return outcome(x.read.outOfScope(rec, rec.MIME, why, urls.Account{}), nil)
		}
		if rec.Volatile.Held > 0 { // the validators are of a newer body than the one that stayed: it stops changing
			rec.ETag, rec.LastModified = "", ""
		}
		rec.Volatile = rec.Volatile.Still()
		rec.Expires = revisit.Expires(x.Job.Evidence, res.Header, x.Now())
		return outcome(x.read.unchanged(rec, urls.Account{}))
	case s == http.StatusNotModified:
		const reason = "status 304, which confirms nothing: no condition was sent"
		return x.givenUp(ctx, rec, failure{reason: reason, fallback: true})
	case a.Refused != "":
		return outcome(x.read.outOfScope(rec, res.MIME, a.Refused, urls.Account{}), nil)
	case a.Content != nil:
		if x.read.misled(rec, res.MIME) {
			return x.goneFor(ctx, rec, exchangeNotes(res), a.second)
		}
		if emptied(rec, a.Content) && (rec.Failures < urls.LastingFailures) {
			const reason = "an empty page with status %d, where the mirror has one of %d bytes"
			f := failure{reason: fmt.Sprintf(reason, s, rec.Size), passing: true}
			if !isOnlyEntry(x.Rules, rec.URL) {
				return x.originFails(ctx, rec, f)
			}
			if x.failsAgain(rec, f) {
				return Found{Turn: urls.Turn{Why: urls.AfterFailure}}, nil
			}
		}
		f, err := x.read.body(rec, a.Answer, urls.Account{Notes: exchangeNotes(res)})
		if f == nil && err == nil {
			return Found{Turn: urls.Turn{Why: urls.Unsettled, At: x.Now().Add(revisit.SecondsApart)}}, nil
		}
		return outcome(f, err)
	case s >= 300 && s < 400:
		return x.redirect(rec, res, res.Location)
	case s == 404 || s == 410 || unwantedGuess:
		return x.goneFor(ctx, rec, nil, a.second)
	}
	return outcome(x.failed(rec, howRefused(res), false))
}

// refusesAll is why an origin is left that refuses everything.
const refusesAll = "it refuses also what it gave before (%s), and may take this crawler for an attack: ask " +
	"its owner, or set polite.delay and [auth] as it wants them"

// howRefused says how an answer refuses.
func howRefused(res *fetch.Result) string {
	if res.Challenged() {
		return fmt.Sprintf("status %d, a challenge of its firewall", res.Status)
	}
	return fmt.Sprintf("status %d", res.Status)
}

// isOnlyEntry reports whether a URL is the only entry point. What it came to decides about the run, see
// verdict.EmptyEntry.
func isOnlyEntry(rules *scope.URLRules, u site.URL) bool {
	return (len(rules.Seeds) == 1) && (rules.Seeds[0] == u)
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
func (x *Processor) busy(ctx context.Context, rec *record.Resource, res *fetch.Result) (Found, error) {
	most := x.Job.Polite.MaxWait
	f := failure{
		reason:   fmt.Sprintf("status %d", res.Status),
		passing:  true,
		symptom:  frontier.SymptomOfStatus(res.Status),
		counts:   true,
		fallback: res.Status >= 500,
		busy:     res.Status,
	}
	if res.RetryAfter <= 0 {
		return x.originFails(ctx, rec, f)
	}
	if res.RetryAfter > most {
		until := x.Now().Add(res.RetryAfter)
		x.Waits.Set(rec.ID, until)
		f.reason += longWait(res)
		if x.HostErrors.Waited(rec.URL, rec.ID, res) > 0 {
			x.leaveHost(rec.URL, f.reason, until, f.fallback)
		}
	}
	x.HostErrors.Failed(rec.URL, f.reason, f.symptom)
	if (res.RetryAfter <= most) && !x.HostErrors.IsDown(rec.URL) && x.hasTurn(rec) {
		return Found{Turn: urls.Turn{Why: urls.AfterFailure, At: x.Now().Add(res.RetryAfter)}}, nil
	}
	return x.givenUp(ctx, rec, f)
}

// hasTurn reports whether a URL that asked to wait gets another turn.
func (x *Processor) hasTurn(rec *record.Resource) bool {
	again := x.HostErrors.WaitsAgain(rec.URL, 0)
	return again || !x.Traits.Spent(rec.ID, urls.AfterFailure)
}

// leaveHost leaves a host for the next run. The URLs that asked to wait before it was clear that their host
// does wait with it, and not by themselves.
func (x *Processor) leaveHost(u site.URL, reason string, until time.Time, silent bool) {
	for _, id := range x.HostErrors.Waiting(u) {
		x.Waits.Forget(id)
	}
	x.HostErrors.LeaveHost(u, reason, until, silent)
}

// longWait says how long an answer asks to wait.
func longWait(res *fetch.Result) string {
	return fmt.Sprintf(" with a Retry-After of %s, longer than polite.max_wait", count.Span(res.RetryAfter))
}

// stillWaits records that a URL is not requested, because it asked to wait until a time that has not come. It
// fails as it did, which is no other failure.
func (x *Processor) stillWaits(rec *record.Resource, until time.Time) (*urls.Finding, error) {
	rec.Outcome = site.Failed
	rec.Reason = "it asked to wait until " + until.UTC().Format("2006-01-02 15:04:05 MST")
	return x.notAsked(rec)
}

// notAsked makes the finding of a URL that fails without a request in this run. What the mirror holds stays.
func (x *Processor) notAsked(rec *record.Resource) (*urls.Finding, error) {
	as := urls.Account{Tally: urls.AsRefused, Failed: rec.Reason}
	if rec.InSet && (rec.Body == record.PackBody) && x.Rescan {
		return x.read.rescanStored(rec, as)
	}
	return urls.FindingOf(rec, as), nil
}

// failure says how an origin did not give a URL.
type failure struct {
	reason   string
	passing  bool // another request may succeed
	fallback bool // replicas may give it
	symptom  frontier.Symptom
	counts   bool // symptom is one
	busy     int  // the status that says to come back later; 0: none did
}

// noAnswer reads an exchange without a usable answer. A broken one is requested once more, at the end of the
// run: it is the same then when that is the server's way, and another when the network or a restart broke it.
// Eight URLs in a row that break are the server's trouble.
func (x *Processor) noAnswer(ctx context.Context, rec *record.Resource, a exchanged) (Found, error) {
	err := a.Err
	f := failure{reason: err.Error(), passing: fetch.Transient(err)}
	f.symptom, f.counts = frontier.SymptomOf(err)
	if (f.symptom == frontier.Silent) && a.own {
		f.counts = false
	}
	f.fallback = f.passing || errors.Is(err, fetch.ErrDNS) || errors.Is(err, fetch.ErrTLS)
	if errors.Is(err, frontier.ErrTrickles) || errors.Is(err, frontier.ErrEndless) {
		// another turn would hold the run for as long
		return x.givenUp(ctx, rec, f)
	}
	if !fetch.Broken(err) {
		return x.originFails(ctx, rec, f)
	}
	broken := f
	broken.passing = true
	if a.Result.Sent < 2 && !x.Traits.Is(rec.ID, urls.IsBroken) && x.failsAgain(rec, broken) {
		return Found{Turn: urls.Turn{Why: urls.AfterFailure}}, nil
	}
	if f.counts {
		x.HostErrors.Failed(rec.URL, f.reason, f.symptom)
	}
	out, err := x.givenUp(ctx, rec, f)
	out.Spent |= urls.AfterFailure
	return out, err
}

// originFails records that the origin did not give a URL. A passing failure gets one more turn at the end of
// the run.
func (x *Processor) originFails(ctx context.Context, rec *record.Resource, f failure) (Found, error) {
	if x.failsAgain(rec, f) {
		return Found{Turn: urls.Turn{Why: urls.AfterFailure}}, nil
	}
	return x.givenUp(ctx, rec, f)
}

// failsAgain counts a failure and reports whether the URL gets another turn in this run. What failed in so
// many runs that it counts as broken gets one only because its host limits how fast it is requested.
func (x *Processor) failsAgain(rec *record.Resource, f failure) bool {
	if f.counts {
		x.HostErrors.Failed(rec.URL, f.reason, f.symptom)
	}
	if !f.passing || x.HostErrors.IsDown(rec.URL) {
		return false
	}
	again := f.busy != 0 && x.HostErrors.WaitsAgain(rec.URL, f.busy)
	return again || !(x.Traits.Spent(rec.ID, urls.AfterFailure) || x.Traits.Is(rec.ID, urls.IsBroken))
}

// givenUp records that the origin does not give a URL in this run. Replicas are the fallback.
func (x *Processor) givenUp(ctx context.Context, rec *record.Resource, f failure) (Found, error) {
	if f.fallback {
		if given, err := x.fallback(ctx, rec, f.reason); given != nil || err != nil {
			return outcome(given, err)
		}
	}
	out, err := x.failed(rec, f.reason, f.passing)
	if out != nil {
		out.As.Refused = !f.passing && !f.fallback
	}
	return outcome(out, err)
}

// failed makes a failure that is the last of this run. What the mirror holds stays. Requisites from outside
// of the scope never spoil a run: a page whose image host is dead is published without the image.
func (x *Processor) failed(rec *record.Resource, reason string, passing bool) (*urls.Finding, error) {
	as := x.countFailure(rec, reason, passing)
	document := rec.InSet && rec.Body == record.PackBody
	if document && x.Rescan { // what the mirror keeps of it follows the new rules
		return x.read.rescanStored(rec, as)
	}
	return urls.FindingOf(rec, as), nil
}

// isKept reports whether a resource of the mirror stays although the site no longer has it.
func isKept(x *Processor, rec *record.Resource) bool {
	return rec.InSet && x.Traits.Is(rec.ID, urls.IsKept)
}

// kept makes a failure, and no trouble of the origin, of an answer by which a resource would leave that is
// kept.
func kept(x *Processor, rec *record.Resource) (Found, error) {
	f, err := x.failed(rec, urls.KeptReason(rec.Status), false)
	if f != nil {
		f.As.Lost, f.As.Refused = false, true
	}
	return outcome(f, err)
}

// countFailure makes a record one of a failure, and says how that counts. A failure that will not pass spoils
// a run only when it concerns the mirror.
func (x *Processor) countFailure(rec *record.Resource, reason string, passing bool) urls.Account {
	rec.Outcome, rec.Reason = site.Failed, reason
	rec.Failures++
	concerns := (passing || rec.InSet) && rec.Failures < urls.LastingFailures
	x.Log.Debug("failed", "url", rec.URL.String(), "err", reason)
	as := urls.Account{Tally: urls.AsRefused, Failed: reason, Lost: true}
	if concerns && x.Rules.Scope.Covers(rec.URL) && !x.read.isGuess(rec.ID) {
		as.Tally = urls.AsFailed
	}
	return as
}

// isSecondLook reports whether a request of something that the mirror has comes after one that found it gone,
// of an earlier run or long enough before. rec is as it was before the request.
func (x *Processor) isSecondLook(rec *record.Resource) bool {
	if x.Traits.Spent(rec.ID, urls.AfterGone) {
		return true
	}
	before := rec.Run < x.Run.Number
	return rec.InSet && (rec.Gone > 0) && (before || x.Now().Sub(time.Unix(rec.Checked, 0)) >= x.Confirm)
}

// firstGone reads a first 404 or 410 of something that the mirror has: it stays. A second look follows in
// this run when that lasts long enough, else in the next one.
func (x *Processor) firstGone(rec *record.Resource, as urls.Account) (Found, error) {
	turn := urls.Turn{Why: urls.AfterGone}
	if x.Confirm < 0 {
		return Found{Turn: turn}, nil
	}
	turn.At, turn.Optional = x.Now().Add(x.Confirm), true
	as.Notes, as.Tally = append(as.Notes, urls.FirstGone), urls.AsFirstGone
	rec.Outcome, rec.Failures, rec.Gone = site.Failed, 0, 1
	rec.Reason = fmt.Sprintf("status %d, to be confirmed by a second look", rec.Status)
	f := urls.FindingOf(rec, as)
	if (rec.Body == record.PackBody) && x.Rescan {
		var err error
		if f, err = x.read.rescanStored(rec, as); err != nil {
			return Found{}, err
		}
	}
	return Found{Finding: f, Turn: turn}, nil
}

// goneFor reads a 404 or 410. A resource of the mirror leaves only when a second look says the same; a
// failure is no such answer. A URL that never was in the mirror is gone at once.
func (x *Processor) goneFor(
	ctx context.Context, rec *record.Resource, notes []string, second bool,
) (Found, error) {
	rec.Outcome, rec.Reason = site.Gone, ""
	as := urls.Account{Notes: notes}
	missingIcon := !rec.InSet && scope.IsFavicon(rec.URL) && x.read.isGuess(rec.ID)
	if missingIcon { // it was never there, and nothing named it
		return outcome(urls.WithoutLinks(rec, as), nil)
	}
	if rec.InSet && !second && !isKept(x, rec) {
		return x.firstGone(rec, as)
	}
	if f, err := x.repairs(ctx, rec); f != nil || err != nil {
		return outcome(f, err)
	}
	if isKept(x, rec) {
		return kept(x, rec)
	}
	if rec.InSet && (len(x.Rules.Seeds) > 1) && slices.Contains(x.Rules.Seeds, rec.URL) {
		// one entry point of several: the job names it, so its part of the mirror stays
		return outcome(x.failed(rec, fmt.Sprintf("status %d", rec.Status), false))
	}
	rec.Gone++
	rec.Failures = 0
	if rec.InSet {
		rec.Gone = max(rec.Gone, 2) // with the first look
	}
	as.Tally |= urls.AsGone
	as.Room = as.Room.Add(urls.Leave(rec, x.Version))
	return outcome(urls.WithoutLinks(rec, as), nil)
}

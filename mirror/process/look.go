// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"

	"mirrord/fetch"
	"mirrord/mirror/frontier"
	"mirrord/mirror/result"
	"mirrord/mirror/scope"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// Look finds the outcome of one URL, without a request where none is needed. used reports whether the turn
// of its host was used.
func (x *Processor) Look(
	ctx context.Context, rec *record.Resource, release func(fetch.Observation),
) (f Found, used bool, err error) {
	u := rec.URL
	down, entry, isDown := x.HostErrors.Down(u)
	rules, known := x.Origins.Rules(u) // once: another worker may learn them in between
	if f.Finding, err = x.fromReuse(ctx, rec, known || isDown); f.Finding != nil || err != nil {
		return f, false, err
	}
	if until, waits := x.Waits.Until(rec.ID, x.Now()); waits {
		f.Finding, err = x.stillWaits(rec, until)
		return f, false, err
	}
	turn, runs := x.Silent.Turn(u.Origin(), x.Run.Number)
	if entry := x.HostErrors.IsEntry(u); entry {
		turn = urls.OriginAsked
	}
	if turn == urls.OriginSkipped {
		rec.Outcome = site.Failed
		rec.Reason = fmt.Sprintf("its server gave no answer in %d runs; only every %dth run requests it",
			runs, urls.WrittenOffRuns)
		f.Finding, err = x.notAsked(rec)
		return f, false, err
	}
	switch {
	case isDown && entry && (rec.Outcome != site.Failed || !x.HostErrors.IsLeft(u)):
		f.Finding, err = x.postponedOrFallback(ctx, rec, down)
		return f, f.Finding != nil || err != nil, err
	case isDown:
		// Also what failed before, of a host that asks to wait: it must not keep what could be had from being
		// published.
		f.Finding, err = x.failed(rec, down, false)
		return f, false, err
	}
	if reason := x.refusal(rec); reason != "" {
		rec.Outcome, rec.Reason = site.Trapped, reason
		f.Finding = urls.FindingOf(rec, urls.Account{Tally: urls.AsTrapped})
		return f, false, nil
	}
	if !known {
		x.learnOrigin(ctx, u, release)
		waitAgain(ctx, x, rec)
		return f, true, nil
	}
	if why := rules.Silent(); why != "" { // another worker has just found out
		if x.HostErrors.IsEntry(u) {
			f.Finding, err = x.postponedOrFallback(ctx, rec, why)
			return f, f.Finding != nil || err != nil, err
		}
		f.Finding, err = x.failed(rec, why, false)
		return f, false, err
	}
	if ok, reason := rules.Permits(u); !ok {
		rec.Outcome, rec.Reason, rec.Status = site.Disallowed, reason, 0
		f.Finding = urls.FindingOf(rec, urls.Account{Tally: urls.AsDisallowed, Room: urls.Leave(rec, x.Version)})
		return f, false, nil
	}
	if still, ok := x.SkipPlan.Noise.Stays(rec, x.Now()); ok {
		f.Finding = still
		return f, false, nil
	}
	if given, err := x.fromUpstream(ctx, rec); given.Finding != nil || given.Turn.Why != 0 || err != nil {
		return given, false, err
	}
	if f.Finding, err = x.fromSpace(ctx, rec); f.Finding != nil || err != nil {
		return f, false, err
	}
	if turn == urls.OriginProbed && !x.HostErrors.Probe(u, rec.ID) {
		return f, false, nil // it enters the frontier again when another URL has been requested
	}
	if requestOther(ctx, x, u, release) {
		waitAgain(ctx, x, rec)
		return f, true, nil
	}
	if f, err = x.request(ctx, rec, release); err == nil {
		x.Counts.CountOther(f.Finding)
	}
	return f, true, err
}

// waitAgain puts a URL back of which another request took the turn.
func waitAgain(ctx context.Context, x *Processor, rec *record.Resource) {
	if ctx.Err() == nil {
		x.Front.Add(rec.URL.Origin(), rec.ID, frontier.PrioSeed)
	}
}

// requestOther makes a request that is due before all others of the origin of a URL, and reports whether
// there was one.
func requestOther(
	ctx context.Context, x *Processor, u site.URL, release func(fetch.Observation),
) bool {
	if w, ok := x.HostErrors.Witness(u); ok {
		x.askWitness(ctx, w, release)
		return true
	}
	if q, ok := x.Admission.Sessions.Question(u.Origin()); ok {
		x.requestTwice(ctx, q, release)
		return true
	}
	q, ok := x.SkipPlan.Noise.Question(u.Origin(), x.Counts.Requests.Load(), x.Now())
	if ok {
		compareTwo(ctx, x, q, release)
	}
	return ok
}

// refusal says why a URL that is not in the mirror is not requested in this run, "" when it is. What the
// mirror has it keeps, and keeps fresh.
func (x *Processor) refusal(rec *record.Resource) string {
	if reason := x.read.capped(0); reason != "" && !rec.InSet {
		return reason
	}
	if !rec.InSet && x.read.isGuess(rec.ID) && !scope.IsFavicon(rec.URL) && x.Admission.Tired() {
		return frontier.TiredReason
	}
	return ""
}

// request asks the origin for a URL and reads the answer.
func (x *Processor) request(
	ctx context.Context, rec *record.Resource, release func(fetch.Observation),
) (Found, error) {
	u := rec.URL
	req := fetch.Request{
		URL:     u,
		Gap:     x.Pacer.Gap(u.Origin()),
		MaxBody: int64(x.Job.Limits.MaxBody),
		NoMend:  true,
		Fresh:   x.Traits.Spent(rec.ID, urls.AfterFailure),
		Again:   x.mayRetry(rec),
	}
	if rec.Referrer > 0 {
		req.Referer = x.Table.URL(rec.Referrer - 1)
	}
	// A sitemap, and a document that was too large to be read, are read again only as they come.
	unread := urls.IsSitemap(rec) || (result.Cut(rec.Cut)&result.CutDocument != 0)
	newRules := x.Rescan && unread
	if rec.InSet && rec.Body != record.NoBody && !newRules && !isUnpacked(x.read, rec) {
		req.ETag, req.LastModified = x.SkipPlan.Validators.For(rec)
	}
	x.Counts.Requests.Add(1)
	patient := x.Traits.Spent(rec.ID, urls.AfterSilence)
	of, flight := x.Fly(ctx, u, patient)
	ask := source.Ask{
		Record:  rec,
		Of:      source.FromOrigin,
		Request: req,
		Watcher: flight,
		GivenUp: frontier.GivenUp,
		Refuse:  x.read.refuse(rec),
	}
	a, err := x.Sources.Get(of, &ask)
	alone := flight.Land()
	defer a.Release()
	if w, gave := flight.GaveWay(a.Err); gave && err == nil {
		x.askWitness(ctx, w, release)
		return Found{Turn: urls.Turn{Why: urls.AfterFailure | urls.AfterSilence}}, ctx.Err()
	}
	if res := a.Result; res != nil {
		release(x.HostErrors.Observe(u, rec.ID, rec.Failures > 0, res, a.Err))
		x.Counts.Wire.Add(res.Wire)
	}
	if err != nil {
		return Found{}, err
	}
	x.Chain.Upstream.Hear(ctx, u, a.Result)
	x.Chain.Spread.Heard(rec, &a)
	came := exchanged{
		Answer: &a,
		second: x.isSecondLook(rec),
		own:    patient || !alone,
	}
	rec.Status, rec.Checked, rec.Reason, rec.Answer = a.Status, a.Checked, "", a.Result.Whole
	if a.Result.Unconditional {
		rec.NoETag, rec.NoDate = true, true
	}
	f, err := x.answer(ctx, rec, came)
	x.HostErrors.EndProbe(u)
	return f, err
}

// learnOrigin finds out the rules of an origin: its robots.txt is requested, or was stored lately.
func (x *Processor) learnOrigin(ctx context.Context, u site.URL, release func(fetch.Observation)) {
	l, err := x.LearnRobots(ctx, u, x.Chain.Robots)
	if err != nil {
		return
	}
	if l.Silent != "" {
		x.Notes.Fail(u, l.Silent)
	}
	release(l.Observed)
	x.HostErrors.EndProbe(u)
	if x.Admission.Sitemaps(u, l.Sitemaps) {
		x.Origins.NoteFull(u)
	}
}

// mayRetry returns what decides whether an exchange repeats a request within its turn of the host. What broke
// off is resumed at once. Of requests without an answer only the last turn of a URL is repeated, and only
// while its origin answers: that several URLs fail must show soon, regardless of each of them. URLs that
// count as broken are not repeated.
func (x *Processor) mayRetry(rec *record.Resource) func(*fetch.Result, error) bool {
	last := x.Traits.Spent(rec.ID, urls.AfterFailure) && !x.Traits.Is(rec.ID, urls.IsBroken)
	return func(res *fetch.Result, err error) bool {
		if fetch.Continues(err) || fetch.Silent(err) { // silence has taken long enough
			return fetch.Continues(err)
		}
		reason, symptom := fmt.Sprintf("status %d", res.Status), frontier.SymptomOfStatus(res.Status)
		if err != nil {
			reason = err.Error()
			symptom, _ = frontier.SymptomOf(err)
		}
		return last && x.HostErrors.MayRetry(rec.URL, reason, symptom)
	}
}

// askWitness requests a URL that is known to answer, to find out whether its origin is down.
func (x *Processor) askWitness(ctx context.Context, w site.URL, release func(fetch.Observation)) {
	x.Counts.CountAside()
	res, err := x.Chain.Origin.Probe(ctx, w, x.Pacer.Gap(w.Origin()), x.Patience())
	release(fetch.Observe(res, err))
	x.Counts.Wire.Add(res.Wire)
	symptom, failed := frontier.SymptomOf(err)
	switch {
	case ctx.Err() != nil:
	case fetch.TransientStatus(res.Status):
		reason := fmt.Sprintf("status %d", res.Status)
		if res.RetryAfter > x.Job.Polite.MaxWait {
			until := x.Now().Add(res.RetryAfter)
			x.leaveHost(w, reason+longWait(res), until, res.Status >= 500)
			return
		}
		x.HostErrors.WitnessFailed(w, reason, frontier.SymptomOfStatus(res.Status))
	case res.Refuses():
		x.HostErrors.WitnessFailed(w, fmt.Sprintf(refusesAll, howRefused(res)), frontier.Refusal)
	case (res.Status == 0) && failed:
		x.HostErrors.WitnessFailed(w, err.Error(), symptom)
	default:
		x.HostErrors.Answered(w)
	}
}

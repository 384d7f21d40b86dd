// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"

	"mirrord/fetch"
	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/source"
	"mirrord/site"
	"mirrord/store"
)

// look finds out what one URL comes to, without a request where none is needed. used reports whether the turn
// of its host was used.
func (r *asking) look(
	ctx context.Context, rec *store.Resource, release func(fetch.Observation),
) (f found, used bool, err error) {
	u := rec.URL
	down, entry, isDown := r.motor.Troubles.Down(u)
	if f.finding, err = r.fromReuse(ctx, rec, isDown); f.finding != nil || err != nil {
		return f, false, err
	}
	switch {
	case isDown && entry && (rec.Outcome != site.Failed || !r.motor.Troubles.IsLeft(u)):
		f.finding, err = r.postponedOrFallback(ctx, rec, down)
		return f, f.finding != nil || err != nil, err
	case isDown:
		// Also what failed before, of a host that asks to wait: it must not keep what could be had from being
		// published.
		f.finding, err = r.failed(rec, down, false)
		return f, false, err
	}
	if reason := r.refusal(rec); reason != "" {
		rec.Outcome, rec.Reason = site.Trapped, reason
		as := ledger.Account{Tally: ledger.AsTrapped}
		f.finding = &ledger.Finding{Done: store.Done{Resource: *rec}, As: as}
		return f, false, nil
	}
	rules, known := r.motor.Origins.Rules(u)
	if !known {
		r.learnOrigin(ctx, u, release)
		if ctx.Err() == nil {
			r.motor.Front.Add(u.Origin(), rec.ID, crawl.PrioSeed) // robots.txt took this turn
		}
		return f, true, nil
	}
	if why := rules.Silent(); why != "" { // another worker has just found out
		if r.motor.Troubles.IsEntry(u) {
			f.finding, err = r.postponedOrFallback(ctx, rec, why)
			return f, f.finding != nil || err != nil, err
		}
		f.finding, err = r.failed(rec, why, false)
		return f, false, err
	}
	if ok, reason := rules.Permits(u); !ok {
		rec.Outcome, rec.Reason, rec.Status = site.Disallowed, reason, 0
		as := ledger.Account{Tally: ledger.AsDisallowed, Room: leave(rec, r.read.run.Version)}
		f.finding = &ledger.Finding{Done: store.Done{Resource: *rec}, As: as}
		return f, false, nil
	}
	f, err = r.request(ctx, rec, release)
	return f, true, err
}

// refusal says why a URL that is not in the mirror is not requested in this run, "" when it is. What the
// mirror has it keeps, and keeps fresh.
func (r *asking) refusal(rec *store.Resource) string {
	if reason := r.read.capped(0); reason != "" && !rec.InSet {
		return reason
	}
	if !rec.InSet && r.read.isGuess(rec.ID) && !admit.IsFavicon(rec.URL) && r.admission.Tired() {
		return crawl.TiredReason
	}
	return ""
}

// request asks the origin for a URL and reads the answer.
func (r *asking) request(
	ctx context.Context, rec *store.Resource, release func(fetch.Observation),
) (found, error) {
	u := rec.URL
	req := fetch.Request{
		URL:     u,
		Gap:     r.motor.Gate.Gap(u.Hostname()),
		MaxBody: int64(r.job.Limits.MaxBody),
		NoMend:  true,
		Fresh:   r.traits.Spent(rec.ID, ledger.AfterFailure),
	}
	if rec.Referrer > 0 {
		req.Referer = r.table.URL(rec.Referrer - 1)
	}
	newRules := r.read.rescan && ledger.IsSitemap(rec) // a sitemap is read again only as it comes
	if rec.InSet && rec.Body != store.NoBody && !newRules {
		req.ETag, req.LastModified = r.advice.Validators.For(rec)
	}
	r.stats.Requests.Add(1)
	a, err := r.chain.Get(ctx, &source.Ask{Record: rec, Of: source.FromOrigin, Request: req})
	defer a.Release()
	if res := a.Result; res != nil {
		release(r.motor.Troubles.Observe(u, rec.ID, res, a.Err))
		r.stats.Wire.Add(res.Wire)
	}
	if err != nil {
		return found{}, err
	}
	rec.Status, rec.Checked, rec.Reason, rec.Answer = a.Status, a.Checked, "", a.Result.Whole
	return r.answer(ctx, rec, &a)
}

// learnOrigin requests the robots.txt of an origin.
func (r *asking) learnOrigin(ctx context.Context, u site.URL, release func(fetch.Observation)) {
	start := r.now()
	l, err := r.motor.LearnRobots(ctx, u, r.robots)
	if err != nil {
		return
	}
	if l.Silent != "" {
		r.notes.Fail(u, l.Silent)
	}
	release(fetch.Observation{Duration: r.now().Sub(start), Status: 200})
	r.admission.Sitemaps(u, l.Sitemaps)
}

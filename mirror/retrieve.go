// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/result"
	"mirrord/mirror/source"
	"mirrord/site"
	"mirrord/store"
)

// retrieve is phase one. The error says why it ended before nothing was left to ask.
func (r *run) retrieve(parent context.Context) error {
	if err := r.load(); err != nil {
		r.lost = err
		return err
	}
	r.settleBase()
	if err := r.shapes.LearnEntries(r.table.Settled(), r.rules.Seeds, r.site.Records.Get); err != nil {
		r.lost = err
		return err
	}
	r.admission = r.newAdmission()
	r.keeper = r.newKeeper()
	defer r.keeper.Close()
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	r.stop = stop
	if r.job.Limits.MaxTime > 0 {
		defer time.AfterFunc(r.job.Limits.MaxTime, func() {
			stop(result.LimitError{What: fmt.Sprintf("limits.max_time = %v is over; run again to go on", r.job.Limits.MaxTime)})
		}).Stop()
	}
	r.commits = ledger.NewCommitter(ledger.CommitOptions{
		Table:   r.table,
		Journal: r.site.Records,
		Large:   source.PartBytes,
		Room:    func() error { return diskRoom(r.site.Dir(), r.job.Limits.MinFree) },
		Stop:    stop,
	})
	r.commits.Start()

	defer r.chain.Reuse.Close()
	note, err := r.chain.Reuse.Prepare(ctx)
	if note != "" {
		r.notes.Cap(note)
	}
	if err != nil {
		r.stop(err)
	}
	workers := &crawl.Workers{
		Front:       r.motor.Front,
		Connections: int(r.job.Polite.Connections),
		Now:         r.now,
		Release:     r.motor.Gate.Release,
		Ask:         r.ask,
		After:       r.refill,
		Stop:        stop,
	}
	stage := func() { workers.Stage(ctx) }
	if err := r.makePlan(); err != nil {
		r.stop(err)
	}
	if err := r.skipKnown(stage); err != nil {
		r.stop(err)
	}
	r.motor.Entrance.EndWait()
	for _, u := range r.rules.Seeds {
		r.motor.Entrance.New(u, ledger.Named, crawl.PrioSeed)
	}
	if r.advice.Plan == nil {
		if err := r.motor.Entrance.All(r.dropRefused); err != nil {
			r.stop(err)
		}
	} else {
		r.motor.Entrance.Owed(r.traits.Broken, r.provenance.Owed)
		r.advice.Plan.Open()
	}
	if r.resumed {
		if err := r.resumeLinks(); err != nil {
			r.stop(err)
		}
	}
	r.refill()
	stage()
	if err := r.moreListings(stage); err != nil {
		r.stop(err)
	}
	r.skipRest(ctx, stage)
	if err := r.openCircles(stage); err != nil {
		r.stop(err)
	}
	err = r.commits.Close()
	r.lost = err
	if err == nil && !r.stopped() {
		r.probeOrigins(ctx)
	}
	r.betweenPhases()
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// newAdmission returns what decides which URLs enter the frontier.
func (r *run) newAdmission() *crawl.Admission {
	return crawl.NewAdmission(crawl.AdmissionOptions{
		Rules:    r.rules,
		Table:    r.table,
		Traits:   &r.traits,
		Variants: r.variants,
		Origins:  r.motor.Origins,
		Entrance: r.motor.Entrance,
		Front:    r.motor.Front,
		Counts:   &r.stats,
		Notes:    &r.notes,
		MaxDepth: r.job.Limits.MaxDepth,
		Run:      r.state.Number,
		Rescan:   r.rescan,
		First:    func() bool { return r.advice.Evidence.First() },
		Planned:  func() bool { return r.advice.Plan != nil },
		Leaves:   r.leaves,
	})
}

// dropRefused takes a URL out of the mirror that the old rules admitted and the new ones refuse, and reports
// whether it is one.
func (r *run) dropRefused(id uint32, u site.URL, s ledger.State) (refused bool, err error) {
	if !r.rescan || s.Outcome() == site.OutOfScope || r.traits.Sitemap(id) {
		return false, nil
	}
	ok, reason := r.rules.Allow(u, crawl.PurposeOf(s))
	if ok {
		return false, nil
	}
	rec, err := r.record(id, u)
	if err != nil {
		return false, err
	}
	rec.Outcome, rec.Reason = site.OutOfScope, reason
	as := ledger.Account{Room: r.leave(&rec)}
	r.apply(&ledger.Finding{Done: store.Done{Resource: rec}, As: as})
	return true, nil
}

// record returns what is stored of a URL, or a new record.
func (r *run) record(id uint32, u site.URL) (store.Resource, error) {
	s := r.table.State(id)
	if s.Known() {
		rec, ok, err := r.site.Records.Get(u)
		if err != nil {
			return rec, err
		}
		if ok {
			return rec, nil
		}
	}
	return store.Resource{
		ID:       id,
		URL:      u,
		Referrer: s.Referrer(),
		Depth:    s.Depth(),
		Requis:   s.Requisite(),
	}, nil
}

// ask does the work of one URL and reports whether the turn of its host was used.
func (r *run) ask(ctx context.Context, id uint32, release func(fetch.Observation)) (used bool, err error) {
	rec, err := r.record(id, r.table.URL(id))
	if err != nil {
		return false, err
	}
	f, used, err := r.look(ctx, &rec, release)
	switch {
	case errors.Is(err, fetch.ErrCanceled), err != nil && ctx.Err() != nil:
		return used, nil
	case err != nil:
		return used, err
	}
	r.conclude(id, rec.URL, f)
	return used, nil
}

// look finds out what one URL comes to, without a request where none is needed. used reports whether the turn
// of its host was used.
func (r *run) look(ctx context.Context, rec *store.Resource, release func(fetch.Observation)) (f found, used bool, err error) {
	u := rec.URL
	down, entry, isDown := r.motor.Troubles.Down(u)
	if f.finding, err = r.fromReuse(ctx, rec, isDown); f.finding != nil || err != nil {
		return f, false, err
	}
	switch {
	case isDown && entry && (rec.Outcome != site.Failed || !r.motor.Troubles.IsLeft(u)):
		f.finding, err = r.postponedOrFallback(ctx, rec, down)
		return f, f.finding != nil || err != nil, err
	case isDown: // also what failed before, of a host that asks to wait: it must not keep what could be had from being published
		f.finding, err = r.failed(rec, down, false)
		return f, false, err
	}
	if reason := r.refusal(rec); reason != "" {
		rec.Outcome, rec.Reason = site.Trapped, reason
		f.finding = &ledger.Finding{Done: store.Done{Resource: *rec}, As: ledger.Account{Tally: ledger.AsTrapped}}
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
		as := ledger.Account{Tally: ledger.AsDisallowed, Room: r.leave(rec)}
		f.finding = &ledger.Finding{Done: store.Done{Resource: *rec}, As: as}
		return f, false, nil
	}
	f, err = r.request(ctx, rec, release)
	return f, true, err
}

// refusal says why a URL that is not in the mirror is not requested in this run, "" when it is. What the
// mirror has it keeps, and keeps fresh.
func (r *run) refusal(rec *store.Resource) string {
	if reason := r.capped(0); reason != "" && !rec.InSet {
		return reason
	}
	if !rec.InSet && r.isGuess(rec.ID) && !admit.IsFavicon(rec.URL) && r.admission.Tired() {
		return crawl.TiredReason
	}
	return ""
}

// request asks the origin for a URL and reads the answer.
func (r *run) request(ctx context.Context, rec *store.Resource, release func(fetch.Observation)) (found, error) {
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
	newRules := r.rescan && ledger.IsSitemap(rec) // a sitemap is read again only as it comes
	if rec.InSet && rec.Body != store.NoBody && !newRules {
		req.ETag, req.LastModified = r.advice.Validators.For(rec)
	}
	r.stats.Requests.Add(1)
	a, err := r.chain.Get(ctx, &source.Ask{Record: rec, Of: source.FromOrigin, Request: req})
	defer a.Close()
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
func (r *run) learnOrigin(ctx context.Context, u site.URL, release func(fetch.Observation)) {
	start := r.now()
	l, err := r.motor.LearnRobots(ctx, u, r.o.Robots)
	if err != nil {
		return
	}
	if l.Silent != "" {
		r.notes.Fail(u, l.Silent)
	}
	release(fetch.Observation{Duration: r.now().Sub(start), Status: 200})
	r.admission.Sitemaps(u, l.Sitemaps)
}

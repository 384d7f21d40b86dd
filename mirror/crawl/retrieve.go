// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"errors"
	"slices"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/frontier"
	"mirrord/mirror/process"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// retrieve is phase one. What it has made is of no use when it has returned.
func (r *Retrieval) retrieve(parent context.Context) run.Retrieved {
	l, err := r.load()
	if err == nil {
		err = l.prepare()
	}
	if err != nil {
		f := r.retrieved(err)
		f.Lost = err
		return f
	}
	p, err := l.plan()
	if err != nil {
		return r.retrieved(err)
	}
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	c := p.start(stop)
	defer c.Close()
	lost, err := c.crawl(ctx, stop)
	return c.crawled(err, lost)
}

// crawl makes the requests. The error says why it ended before nothing was left; lost is that
// of run.Retrieved.
func (r *crawling) crawl(ctx context.Context, stop func(error)) (lost, err error) {
	check := func(err error) {
		if err != nil {
			stop(err)
		}
	}
	check(r.Full)
	check(insist(ctx, r.loaded))
	greet(ctx, r.Retrieval)
	check(r.prepareSources(ctx))
	s := r.newStages()
	workers := &frontier.Workers{
		Front:       r.dispatcher.Front,
		Connections: int(r.Job.Polite.Connections),
		Now:         r.Now,
		Slot:        r.slot,
		Release:     r.dispatcher.Pacer.Release,
		Ask:         r.ask,
		After:       s.refill,
		Stop:        stop,
	}
	s.workers = func() { workers.Stage(ctx) }
	check(r.makePlan())
	check(r.chooseDeadEnds())
	check(r.held.begin(r.loaded))
	check(openImported(r.loaded))
	r.process = r.newProcessor()
	check(r.lent.spread(ctx, r, workers))
	s.hear = r.process.HearStored
	r.requestAll(ctx, s, check)
	if err = r.commits.Close(); err != nil {
		return err, err
	}
	err = errors.Join(r.keepChains(), keepSessions(r.planned), keepPairs(r),
		urls.KeepFact(r.Site.Notes, revisit.NoiseFact, r.skipPlan.Noise.Fact), keepProfiles(r.Retrieval))
	if err == nil && !r.stopped() {
		r.probeSections(ctx)
	}
	if err == nil {
		err = saveHostErrors(r.Session, &r.hosts, r.dispatcher.HostErrors, context.Cause(ctx) == nil)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	return nil, err
}

// limitTime calls over when the run has gone on for a time, without waits for its turn and for its window,
// unless the function that it returns is called before.
func (r *Retrieval) limitTime(most time.Duration, over func()) (end func()) {
	start := r.Now()
	var timer *time.Timer
	timer = time.AfterFunc(time.Hour, func() {
		now := r.Now()
		waited := r.slot.Queued(now) + r.dispatcher.Pacer.ClosedFor(start, now)
		if left := most - (now.Sub(start) - waited); left > 0 {
			timer.Reset(left)
			return
		}
		over()
	})
	timer.Reset(most) // only now: the function must find the timer in its place
	return func() { timer.Stop() }
}

// prepare takes what earlier runs left into account, before any request.
func (r *loaded) prepare() error {
	if err := loadHostErrors(r.Session, &r.hosts); err != nil {
		return err
	}
	for host, at := range r.hosts {
		r.dispatcher.Pacer.Defer(host, time.Unix(at, 0))
	}
	r.settleBase()
	noteLeads(r.Session)
	return r.shapes.LearnEntries(r.Table.Settled(), r.Rules.Seeds, r.Site.Records.Get)
}

// chooseDeadEnds decides which dead ends the run does not request: none when it has a plan, or is for a few
// URLs.
func (r *loaded) chooseDeadEnds() error {
	why, err := r.Site.Notes.Fact(revisit.FullFact)
	all := r.Rescan || r.Options.DeadEnds || r.Options.Imports || len(r.Job.Only) > 0
	if (err != nil) || all || (len(why) > 0) || (r.Live == nil) || (r.skipPlan.Plan != nil) {
		return err
	}
	r.skipPlan.Dead.Choose(r.Counts.Files.Load())
	return nil
}

// prepareSources finds out whether the mirrors of other jobs can be used, and what has changed in the site if
// that is a mirror which says so.
func (r *Retrieval) prepareSources(ctx context.Context) error {
	note, err := r.chain.Reuse.Prepare(ctx)
	if note != "" {
		r.Notes.Cap(note)
	}
	if err == nil && !r.Options.Imports {
		if note, err = r.chain.Space.Prepare(); note != "" {
			r.Notes.Cap(note)
		}
	}
	if err != nil || r.Full != nil || r.Rescan {
		return err
	}
	if note, err = r.chain.Upstream.Prepare(ctx); note != "" {
		r.Notes.Cap(note)
	}
	return err
}

// requestAll makes the requests, stage by stage. An error that check is given ends the run; the
// stages that follow do nothing then.
func (r *crawling) requestAll(ctx context.Context, s *stages, check func(error)) {
	named := r.skipPlan.Plan != nil && len(r.Job.Only) > 0 // the run is for a few URLs: no sources, no audits
	if !r.Rescan && r.Live != nil && !named {
		check(s.skipKnown())
	}
	r.dispatcher.HostAdmission.EndWait()
	enterNamed(r.Retrieval, named && r.Options.Again)
	if r.skipPlan.Plan == nil {
		missing, err := r.Missing()
		check(err)
		check(r.dispatcher.HostAdmission.All(missing.Since, r.dropRefused))
	} else {
		if !r.Options.Again {
			owes := owed(r.Session)
			broken := func(id uint32) bool { return r.Traits.Is(id, urls.IsBroken) }
			r.dispatcher.HostAdmission.Owed(broken, func(id uint32) bool {
				return owes(id) || r.skipPlan.Plan.Due(id)
			})
		}
		r.skipPlan.Plan.Await(s.underWay())
		r.skipPlan.Plan.Enter(revisit.PlanOpen)
	}
	if r.Resumed {
		check(r.process.ResumeLinks())
	}
	s.refill()
	s.stage()
	requestAlso(r, s)
	check(s.moreListings())
	var err error
	r.skips, err = s.skipRest(ctx)
	check(err)
	check(r.openCircles(s.stage))
	check(foldSessions(ctx, r, s.stage))
	auditPairs(r, s.stage)
	compareLast(ctx, r)
	check(s.distrustValidators())
	if !r.stopped() {
		check(r.held.drop(r))
	}
}

// enterNamed lets the entry points enter, and what the run is for. A second look at URLs of the mirror is at
// these alone.
func enterNamed(r *Retrieval, second bool) {
	if second {
		for _, u := range r.Job.Only {
			if id, ok := r.Table.Settled().FindURL(u); ok {
				r.dispatcher.HostAdmission.Known(id, frontier.PrioKnown)
			}
		}
		return
	}
	for _, u := range slices.Concat(r.Rules.Seeds, r.Job.Only) {
		if r.Rules.TakenDown(u) {
			_, why := r.Rules.Allow(u, scope.Page)
			r.Notes.Add("not requested: "+why, u)
			continue
		}
		r.dispatcher.HostAdmission.New(r.Rules.Main(u), frontier.PrioSeed)
	}
}

// requestAlso requests URLs that the entry points do not link to. It comes after them, so
// that the links of a page are known to come from it: a style sheet has its encoding from there.
func requestAlso(r *crawling, s *stages) {
	if r.Options.Also == nil {
		return
	}
	for u := range r.Options.Also {
		if u = r.Rules.Main(u); r.isWanted(u) {
			r.dispatcher.HostAdmission.New(u, frontier.PrioNew)
		}
	}
	s.stage()
}

// isWanted reports whether a URL that no document names is one of the site.
func (r *Retrieval) isWanted(u site.URL) bool {
	ok, _ := r.Rules.Allow(u, scope.Page)
	return ok
}

// dropRefused takes a URL out of the mirror that the old rules admitted and the new ones refuse, and reports
// whether it is one, or a dead end that has no turn in this run.
func (r *crawling) dropRefused(id uint32, u site.URL, s urls.State) (refused bool, err error) {
	if r.skipPlan.Dead.Rests(id) {
		return true, nil
	}
	if !r.Rescan || s.Outcome() == site.OutOfScope || r.Traits.Is(id, urls.NamedSitemap) {
		return false, nil
	}
	if ok, _ := r.Rules.Allow(u, frontier.PurposeOf(s)); ok && r.Rules.Types == nil {
		return false, nil
	}
	rec, err := r.process.Record(id, u)
	if err != nil {
		return false, err
	}
	reason := refusedNow(r.Session, &rec, s)
	if reason == "" {
		return false, nil
	}
	rule := r.Rules.Types
	// else a page that shows it adds it again
	if _, everywhere := rule.Refuses(rec.MIME, u, true); everywhere && rule.IsPicture(rec.MIME, u) {
		r.Notes.Add("pictures that leave the mirror, because scope.not_types leaves them out", u)
	}
	rec.Outcome, rec.Reason, rec.Status = site.OutOfScope, reason, 0
	r.apply(urls.FindingOf(&rec, urls.Account{Room: urls.Leave(&rec, r.Version)}))
	return true, nil
}

// ask does the work of one URL and reports whether the turn of its host was used.
func (r *crawling) ask(
	ctx context.Context, id uint32, release func(fetch.Observation),
) (used bool, err error) {
	rec, err := r.process.Record(id, r.Table.URL(id))
	if err != nil {
		return false, err
	}
	named := !rec.InSet && (rec.Referrer > 0)
	mayWait := named && !rec.Requis && urls.HasState(rec.URL.String())
	if mayWait && r.repeats.PutOff(id, rec.URL, mainOf(r, rec.URL)) {
		return false, nil
	}
	if f, ok := folded(r, &rec, false); ok { // it was queued before the session id was known
		r.conclude(id, rec.URL, f)
		return false, nil
	}
	if named && r.chains.Refuses(rec.URL, rec.Referrer-1) { // it was queued before the trap was found
		rec.Outcome, rec.Reason = site.Trapped, frontier.ChainReason
		r.conclude(id, rec.URL, process.Found{Finding: urls.FindingOf(&rec, urls.Account{Tally: urls.AsTrapped})})
		return false, nil
	}
	unknown := (rec.Outcome == site.Pending) && !rec.InSet && (rec.Body == record.NoBody)
	f, used, err := r.process.Look(ctx, &rec, release)
	if (err == nil) && unknown {
		f, err = process.KeepImported(r.process, f)
	}
	switch {
	case errors.Is(err, fetch.ErrCanceled), err != nil && ctx.Err() != nil:
		return used, nil
	case err != nil:
		return used, err
	}
	r.conclude(id, rec.URL, f)
	return used, nil
}

// leftRepeat leaves a page that repeats others to the origin, or to the list of which it is an order.
func leftRepeat(r *crawling, rec *record.Resource) (f process.Found) {
	list, is := r.repeats.List(rec.URL)
	if id, ok := r.Table.FindURL(list); is && ok && r.Table.State(id).InSet() {
		if f, ok = r.process.Folded(rec, list, frontier.OtherOrder); ok {
			r.Notes.Add(frontier.ListStands, rec.URL)
			return f
		}
	}
	f.Finding = process.LeftOut(rec, frontier.LeftRepeat, r.Version, urls.Account{})
	return f
}

// conclude carries out what one turn of a URL came to.
func (r *crawling) conclude(id uint32, u site.URL, f process.Found) {
	if (f.Finding != nil) && r.Traits.Spent(id, urls.AfterGone) { // this was the second look
		r.Counts.ForgetFirstGone(&r.Notes, u)
	}
	r.Traits.Spend(id, f.Spent|f.Turn.Why)
	if f.Finding != nil {
		r.apply(f.Finding)
	}
	switch {
	case f.Turn.Optional:
		r.dispatcher.HostAdmission.Later(id, u.Origin(), f.Turn.At)
	case f.Turn.Why != 0:
		r.dispatcher.HostAdmission.Again(id, u.Origin(), f.Turn.At)
	}
}

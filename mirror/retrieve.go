// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/result"
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
	if err := r.learnShells(); err != nil {
		r.lost = err
		return err
	}
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	r.stop = stop
	if r.job.Limits.MaxTime > 0 {
		defer time.AfterFunc(r.job.Limits.MaxTime, func() {
			stop(result.LimitError{What: fmt.Sprintf("limits.max_time = %v is over; run again to go on", r.job.Limits.MaxTime)})
		}).Stop()
	}
	r.commits = make(chan *store.Done, 64) // a few batches of slack, so that a sync does not stop the workers
	committed := make(chan error, 1)
	go func() { committed <- r.commit() }()

	defer r.endReuse()
	if err := r.prepareReuse(ctx); err != nil {
		r.stop(err)
	}
	stage := func() {
		r.front.Run(ctx, r.workers(), r.now, func(id uint32, origin string, turn bool) {
			r.work(ctx, id, origin, turn)
			r.refill()
		})
	}
	if err := r.makePlan(); err != nil {
		r.stop(err)
	}
	if err := r.spareKnown(stage); err != nil {
		r.stop(err)
	}
	r.enqueueDeferred()
	for _, u := range r.seeds {
		r.seed(u, crawl.PrioSeed)
	}
	if r.planner == nil {
		r.enqueueKnown()
	} else {
		r.enqueueOwed()
		r.planner.enter(phaseOpen)
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
	close(r.commits)
	err := <-committed
	r.lost = err
	if err == nil && !r.stopped() {
		r.learnSoft404(ctx)
	}
	r.betweenPhases()
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// enqueue puts URLs into the frontier; while the sources of evidence are asked they wait for those.
func (r *run) enqueue(qs ...queueing) {
	if !r.deferring {
		for _, q := range qs {
			r.front.Add(q.origin, q.id, q.p)
		}
		return
	}
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	r.deferred = append(r.deferred, qs...)
}

// enqueueDeferred puts into the frontier what waited and was not spared.
func (r *run) enqueueDeferred() {
	var q queueing // the one whose turn it is
	ids := func(yield func(uint32) bool) {
		for _, q = range r.deferred {
			if !yield(q.id) {
				return
			}
		}
	}
	add := r.deferred[:0]
	r.table.Mark(ids, func(_ uint32, s ledger.State, _ site.URL) ledger.Mark {
		if s.Queued() || (s.Governed() && q.p != crawl.PrioSeed) { // what is governed has its turn
			return ledger.Mark{}
		}
		add = append(add, q)
		return ledger.Mark{Queue: true}
	})
	for _, q := range add {
		r.front.Add(q.origin, q.id, q.p)
	}
	for _, w := range r.waiting {
		r.front.AddAt(w.origin, w.id, crawl.PrioLast, w.at)
	}
	r.deferred, r.isDeferred, r.waiting = nil, nil, nil
}

// defers notes that a URL which stored documents name waits for the sources, once. It is called while the table waits.
func (r *run) defers(id uint32) bool {
	if r.isDeferred[id] {
		return false
	}
	if r.isDeferred == nil {
		r.isDeferred = map[uint32]bool{}
	}
	r.isDeferred[id] = true
	return true
}

// workers is how many exchanges may be under way: enough for a few hosts at their full number of connections.
func (r *run) workers() int {
	return min(max(int(r.job.Polite.Connections)+4, 16), 64)
}

// seed puts a URL that no document links to into the frontier.
func (r *run) seed(u site.URL, p crawl.Priority) uint32 {
	id, first := r.table.Enter([]byte(u.String()), ledger.Named)
	if first {
		r.front.Add(u.Origin(), id, p)
	}
	return id
}

// enqueueKnown puts what earlier runs know into the frontier: everything in the mirror, what failed, what redirects, and what
// an unfinished run has not asked yet. Other URLs come back when a document links to them. What changes most often comes first, so that a run
// that is cut short has spent its requests best.
func (r *run) enqueueKnown() {
	t := r.table.Settled()
	var known []uint32
	for id, s := range t.All() {
		if !s.Given() || s.Queued() {
			continue
		}
		u := t.URL(id)
		if r.rescan && s.Outcome() != site.OutOfScope && !r.maps[id] && !r.stillAdmitted(id, u, s) {
			continue
		}
		p := crawl.PrioKnown
		switch {
		case s.Outcome() == site.Pending && s.Requisite():
			p = crawl.PrioRequisite
		case s.Outcome() == site.Pending:
			p = crawl.PrioNew
		case s.Governed(), s.Outcome() == site.Failed:
		default:
			continue
		}
		r.table.Queue(id)
		if p == crawl.PrioKnown {
			known = append(known, id)
			continue
		}
		r.front.Add(u.Origin(), id, p)
	}
	failed := func(id uint32) int { // comes last: what could not be had does not keep the rest from being asked
		if t.State(id).Outcome() == site.Failed {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(known, func(a, b uint32) int {
		return cmp.Or(failed(a)-failed(b), int(t.State(b).Rate())-int(t.State(a).Rate()))
	})
	if r.job.Order == job.OrderDepth {
		slices.Reverse(known) // the last one is asked first
	}
	for _, id := range known {
		r.front.Add(t.URL(id).Origin(), id, crawl.PrioKnown)
	}
}

// kindOf says why a URL was first wanted.
func kindOf(s ledger.State) kind {
	if s.Requisite() {
		return kindRequisite
	}
	return kindPage
}

// admits asks the rules about a URL that is known.
func (r *run) admits(u site.URL, s ledger.State) bool {
	ok, _ := r.allowed(u, kindOf(s))
	return ok
}

// stillAdmitted asks the new rules about a URL that the old ones admitted; what they refuse leaves the mirror.
func (r *run) stillAdmitted(id uint32, u site.URL, s ledger.State) bool {
	if r.admits(u, s) {
		return true
	}
	_, reason := r.allowed(u, kindOf(s))
	rec, err := r.record(id, u)
	if err != nil {
		r.stop(err)
		return false
	}
	rec.Outcome, rec.Reason = site.OutOfScope, reason
	r.leave(&rec)
	r.apply(&ledger.Finding{Done: store.Done{Resource: rec}})
	return false
}

// record returns what is stored of a URL, or a new record.
func (r *run) record(id uint32, u site.URL) (store.Resource, error) {
	s := r.table.State(id)
	if s.Known() {
		rec, ok, err := r.site.Get(u)
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

// work asks for one URL and records what became of it. It returns when all effects are on their way to the disk.
// A turn of the host that was not needed goes to the next URL of its origin.
func (r *run) work(ctx context.Context, id uint32, origin string, turn bool) {
	released := !turn
	release := func(o fetch.Observation) {
		if !released {
			released = true
			r.o.Hosts.Release(crawl.HostOf(origin), r.polite, r.now(), o)
			r.front.Release(origin)
		}
	}
	defer release(fetch.Observation{Unused: true})
	for ctx.Err() == nil && !r.ask(ctx, id, release) {
		next, ok := r.front.Another(origin)
		if !ok {
			return
		}
		r.front.Done()
		id = next
	}
}

// ask does the work of one URL and reports whether the turn was used.
func (r *run) ask(ctx context.Context, id uint32, release func(fetch.Observation)) (used bool) {
	u := r.table.URL(id)
	down, entry, isDown := r.isDown(u)
	rec, err := r.record(id, u)
	if err != nil {
		r.stop(err)
		return true
	}
	if r.takeReused(ctx, &rec, isDown) {
		return false
	}
	switch {
	case isDown && entry && (rec.Outcome != site.Failed || !r.isLeft(u)):
		return r.leftOrElsewhere(ctx, &rec, down)
	case isDown: // also what failed before, of a host that asks to wait: it must not keep what could be had from being published
		r.fail(&rec, down, false, 0)
		return false
	}
	if reason := r.capped(0); reason != "" && !rec.InSet { // what the mirror has it keeps, and keeps fresh
		rec.Outcome, rec.Reason = site.Trapped, reason
		r.apply(&ledger.Finding{Done: store.Done{Resource: rec}, As: ledger.Account{Tally: ledger.AsTrapped}})
		return false
	}
	if !rec.InSet && r.isGuess(id) && !isFavicon(u) && r.tired() {
		rec.Outcome, rec.Reason = site.Trapped, tiredReason
		r.apply(&ledger.Finding{Done: store.Done{Resource: rec}, As: ledger.Account{Tally: ledger.AsTrapped}})
		return false
	}
	rules, known := r.rulesOf(u)
	if !known {
		r.learnOrigin(ctx, u, release)
		if ctx.Err() == nil {
			r.front.Add(u.Origin(), id, crawl.PrioSeed) // robots.txt took this turn
		}
		return true
	}
	if rules.Silent() != "" { // another worker has just found out
		if r.isEntryOrigin(u) {
			return r.leftOrElsewhere(ctx, &rec, rules.Silent())
		}
		r.fail(&rec, rules.Silent(), false, 0)
		return false
	}
	if ok, reason := rules.Permits(u); !ok {
		rec.Outcome, rec.Reason, rec.Status = site.Disallowed, reason, 0
		r.leave(&rec)
		r.apply(&ledger.Finding{Done: store.Done{Resource: rec}, As: ledger.Account{Tally: ledger.AsDisallowed}})
		return false
	}
	req := fetch.Request{
		URL: u, Gap: r.o.Hosts.Gap(u.Hostname(), r.polite), MaxBody: int64(r.job.Limits.MaxBody), NoMend: true, Fresh: r.hadTurn(id, turnFailed),
	}
	if rec.Referrer > 0 {
		req.Referer = r.table.URL(rec.Referrer - 1)
	}
	if rec.InSet && rec.Body != store.NoBody && !(r.rescan && wasSitemap(&rec)) { // a sitemap is read again only as it comes
		req.ETag, req.LastModified = r.conditions(&rec)
	}
	sink := r.newSink(u)
	defer sink.close()
	if err := sink.resume(ctx, &req); err != nil {
		if ctx.Err() == nil {
			r.stop(err)
		}
		return true
	}
	r.stats.Requests.Add(1)
	res, err := r.o.Fetcher.Do(ctx, req, sink)
	sink.cut = isCut(res, err)
	release(r.observed(u, id, res, err))
	r.stats.Wire.Add(res.Wire)
	if sink.err != nil { // the disk, not the site
		r.stop(sink.err)
		return true
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, fetch.ErrCanceled)) {
		return true // still pending
	}
	rec.Status, rec.Checked, rec.Reason, rec.Answer = res.Status, r.now().Unix(), "", res.Whole
	r.answer(ctx, &rec, res, err, sink)
	return true
}

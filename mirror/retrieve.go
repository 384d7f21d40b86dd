package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mirrord/fetch"
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
			stop(limitError{fmt.Sprintf("limits.max_time = %v is over; run again to go on", r.job.Limits.MaxTime)})
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
		r.front.run(ctx, r.workers(), r.now, func(id uint32, host string, turn bool) {
			r.work(ctx, id, host, turn)
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
		r.seed(u, prioSeed)
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
			r.front.add(q.host, q.id, q.p)
		}
		return
	}
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	r.deferred = append(r.deferred, qs...)
}

// enqueueDeferred puts into the frontier what waited and was not spared.
func (r *run) enqueueDeferred() {
	t := r.table
	for _, q := range r.deferred {
		t.mu.Lock()
		e := t.at(q.id)
		add := e.flags&fQueued == 0 && (!governed(e) || q.p == prioSeed) // what is governed has its turn
		if add {
			e.flags |= fQueued
		}
		t.mu.Unlock()
		if add {
			r.front.add(q.host, q.id, q.p)
		}
	}
	r.deferred, r.isDeferred = nil, nil
}

// defers notes that a URL which stored documents name waits for the sources, once. Callers hold the lock of the table.
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
func (r *run) seed(u site.URL, p priority) uint32 {
	t := r.table
	t.mu.Lock()
	id, ok := t.find([]byte(u.String()))
	if !ok {
		id = t.add([]byte(u.String()))
	}
	e := t.at(id)
	add := e.flags&fQueued == 0
	e.flags |= fQueued
	e.seen |= seenNamed
	t.mu.Unlock()
	if add {
		r.front.add(u.Hostname(), id, p)
	}
	return id
}

// enqueueKnown puts what earlier runs know into the frontier: everything in the mirror, what failed, what redirects, and what
// an unfinished run has not asked yet. Other URLs come back when a document links to them. What changes most often comes first, so that a run
// that is cut short has spent its requests best.
func (r *run) enqueueKnown() {
	t := r.table
	var known []uint32
	for id := uint32(0); id < t.n; id++ {
		e := t.at(id)
		if e.urlLen == 0 || e.flags&fQueued != 0 {
			continue
		}
		u := t.urlOf(id)
		if r.rescan && e.outcome != site.OutOfScope && !r.maps[id] && !r.stillAdmitted(id, u, e) {
			continue
		}
		p := prioKnown
		switch {
		case e.outcome == site.Pending && e.flags&fRequis != 0:
			p = prioRequisite
		case e.outcome == site.Pending:
			p = prioNew
		case e.flags&fInSet != 0, e.outcome == site.Failed, e.target > 0:
		default:
			continue
		}
		e.flags |= fQueued
		if p == prioKnown {
			known = append(known, id)
			continue
		}
		r.front.add(u.Hostname(), id, p)
	}
	slices.SortStableFunc(known, func(a, b uint32) int { return int(t.at(b).rate) - int(t.at(a).rate) })
	if r.front.order.lifo {
		slices.Reverse(known) // the last one is asked first
	}
	for _, id := range known {
		r.front.add(t.urlOf(id).Hostname(), id, prioKnown)
	}
}

// kind says why a URL was first wanted.
func (e *entry) kind() kind {
	if e.flags&fRequis != 0 {
		return kindRequisite
	}
	return kindPage
}

// admits asks the rules about a URL that is known.
func (r *run) admits(u site.URL, e *entry) bool {
	ok, _ := r.allowed(u, e.kind())
	return ok
}

// stillAdmitted asks the new rules about a URL that the old ones admitted; what they refuse leaves the mirror.
func (r *run) stillAdmitted(id uint32, u site.URL, e *entry) bool {
	if r.admits(u, e) {
		return true
	}
	_, reason := r.allowed(u, e.kind())
	rec, err := r.record(id, u)
	if err != nil {
		r.stop(err)
		return false
	}
	rec.Outcome, rec.Reason = site.OutOfScope, reason
	r.leave(&rec)
	r.finish(&store.Done{Resource: rec})
	return false
}

// record returns what is stored of a URL, or a new record.
func (r *run) record(id uint32, u site.URL) (store.Resource, error) {
	t := r.table
	t.mu.Lock()
	e := *t.at(id)
	t.mu.Unlock()
	if e.flags&fKnown != 0 {
		rec, ok, err := r.site.Get(u)
		if err != nil {
			return rec, err
		}
		if ok {
			return rec, nil
		}
	}
	return store.Resource{ID: id, URL: u, Referrer: e.ref, Depth: int(e.depth), Requis: e.flags&fRequis != 0}, nil
}

// hostTrouble counts what fails on a host in a row.
type hostTrouble struct {
	failures int
	reason   string
	down     bool
	slow     bool // left because it asks for longer waits than the job allows
}

// A host whose URLs fail one after the other, each after its retries, is left for the next run: when the sum of what the
// failures weigh reaches troubleLimit without an answer in between.
const (
	troubleLimit   = 24
	weighNoAnswer  = 3 // refused, reset, timed out, no such name
	weighBadAnswer = 1 // 5xx, 429
)

// work asks for one URL and records what became of it. It returns when all effects are on their way to the disk.
// A turn of the host that was not needed goes to its next URL.
func (r *run) work(ctx context.Context, id uint32, host string, turn bool) {
	released := !turn
	release := func(o fetch.Observation) {
		if !released {
			released = true
			r.o.Hosts.Release(host, r.polite, r.now(), o)
			r.front.release(host)
		}
	}
	defer release(fetch.Observation{Unused: true})
	for ctx.Err() == nil && !r.ask(ctx, id, host, release) {
		next, ok := r.front.another(host)
		if !ok {
			return
		}
		r.front.done()
		id = next
	}
}

// ask does the work of one URL and reports whether the turn was used.
func (r *run) ask(ctx context.Context, id uint32, host string, release func(fetch.Observation)) (used bool) {
	u := r.table.URL(id)
	down, isDown := r.isDown(host)
	if isDown && r.seedHost[host] && len(r.alt.all) == 0 && r.reuse.mode == reuseNothing {
		return false // left for the next run
	}
	rec, err := r.record(id, u)
	if err != nil {
		r.stop(err)
		return true
	}
	if r.takeReused(ctx, &rec, isDown) {
		return false
	}
	if isDown && r.seedHost[host] {
		return r.leftOrElsewhere(ctx, &rec, host, down)
	}
	if isDown {
		r.fail(&rec, host, down, false, 0)
		return false
	}
	if reason := r.capped(0); reason != "" && !rec.InSet { // what the mirror has it keeps, and keeps fresh
		rec.Outcome, rec.Reason = site.Trapped, reason
		r.stats.trapped.Add(1)
		r.finish(&store.Done{Resource: rec})
		return false
	}
	if !rec.InSet && r.isGuess(id) && r.tired() {
		rec.Outcome, rec.Reason = site.Trapped, tiredReason
		r.stats.trapped.Add(1)
		r.finish(&store.Done{Resource: rec})
		return false
	}
	rules, known := r.rulesOf(u)
	if !known {
		r.learnOrigin(ctx, u, host, release)
		if ctx.Err() == nil {
			r.front.add(host, id, prioSeed) // robots.txt took this turn
		}
		return true
	}
	if silent(rules) != "" { // another worker has just found out
		if r.seedHost[host] {
			return r.leftOrElsewhere(ctx, &rec, host, silent(rules))
		}
		r.fail(&rec, host, silent(rules), false, 0)
		return false
	}
	if ok, reason := r.robotsAllow(rules, u); !ok {
		rec.Outcome, rec.Reason, rec.Status = site.Disallowed, reason, 0
		r.leave(&rec)
		r.stats.disallowed.Add(1)
		r.finish(&store.Done{Resource: rec})
		return false
	}
	req := fetch.Request{URL: u, Gap: r.o.Hosts.Gap(host, r.polite), MaxBody: int64(r.job.Limits.MaxBody)}
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
	r.stats.requests.Add(1)
	res, err := r.o.Fetcher.Do(ctx, req, sink)
	sink.cut = isCut(res, err)
	release(fetch.Observe(res, err))
	r.stats.wire.Add(res.Wire)
	if sink.err != nil { // the disk, not the site
		r.stop(sink.err)
		return true
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, fetch.ErrCanceled)) {
		return true // still pending
	}
	rec.Status, rec.Checked, rec.Reason = res.Status, r.now().Unix(), ""
	r.answer(ctx, &rec, host, res, err, sink)
	return true
}

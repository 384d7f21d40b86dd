package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/site"
	"mirrord/store"
)

// hostGate is the politeness of this run towards the hosts: their turns, inside the job's window.
type hostGate struct {
	hosts  Hosts
	p      fetch.Politeness
	window job.Window
	zone   *time.Location
}

func newGate(h Hosts, j *job.Job, p fetch.Politeness) (hostGate, error) {
	w, err := job.ParseWindow(j.Window)
	if err != nil {
		return hostGate{}, fmt.Errorf("window: %w", err)
	}
	zone, err := j.Location(time.Local)
	if err != nil {
		return hostGate{}, fmt.Errorf("timezone: %w", err)
	}
	return hostGate{hosts: h, p: p, window: w, zone: zone}, nil
}

// Acquire takes a turn of a host. Outside the window nobody gets one: the run pauses, and goes on where it was when it opens.
func (g hostGate) Acquire(host string, now time.Time) (bool, time.Time) {
	if len(g.window) > 0 {
		if t := now.In(g.zone); !g.window.Open(t) {
			return false, g.window.Change(t)
		}
	}
	return g.hosts.Acquire(host, g.p, now)
}

// load fills the table from what is stored.
func (r *run) load() error {
	n, err := r.site.Known()
	if err != nil {
		return err
	}
	t := r.table
	t.reserve(n)
	put := func(rec *store.Resource) {
		e := t.at(rec.ID)
		if e.urlLen == 0 {
			t.set(rec.ID, []byte(rec.URL.String()))
		}
		e.outcome, e.depth, e.ref, e.target = rec.Outcome, uint16(min(rec.Depth, 1<<16-1)), rec.Referrer, rec.Target
		e.flags, e.pathLen = fKnown, 0
		if rec.InSet {
			e.flags |= fInSet
		}
		if rec.Requis {
			e.flags |= fRequis
		}
		if rec.Changed >= r.version {
			e.flags |= fDirty
		}
		if rec.Moved >= r.version {
			e.flags |= fMoved
		}
		e.mime = t.mime(rec.MIME)
		if wasSitemap(rec) {
			r.maps[rec.ID] = true
		}
		if rec.Run == r.state.Number && rec.Outcome != site.Pending && rec.Outcome != site.Failed {
			e.flags |= fQueued | fAnswered
		}
		if rec.Path != "" {
			t.setPath(rec.ID, rec.Path)
		}
	}
	if err := r.site.Resources(func(rec *store.Resource) error {
		put(rec)
		return nil
	}); err != nil {
		return err
	}
	err = r.site.Replay(func(id uint32, u store.NewURL) error {
		t.set(id, []byte(u.URL))
		e := t.at(id)
		e.ref, e.depth = u.Referrer, uint16(u.Depth)
		if u.Requis {
			e.flags |= fRequis
		}
		return nil
	}, func(rec *store.Resource, _ []byte, _ bool) error {
		put(rec)
		return nil
	})
	if err == nil {
		r.recall()
	}
	return err
}

// recall takes what was found earlier into account that no record says: how many URLs of each shape there are, so that a trap does not
// go on with every run, and which of the URLs that an interrupted run has yet to ask are sitemaps.
func (r *run) recall() {
	t := r.table
	seeds := map[site.URL]bool{}
	for _, u := range r.seeds {
		seeds[u] = true
	}
	for id := uint32(0); id < t.n; id++ {
		e := t.at(id)
		if e.urlLen == 0 {
			continue
		}
		u := t.urlOf(id)
		r.counter.Add(u)
		if r.resumed && e.outcome == site.Pending && e.ref == 0 && !seeds[u] { // no document named it
			r.maps[id] = true
		}
	}
}

// retrieve is phase one. The error says why it ended before nothing was left to ask.
func (r *run) retrieve(parent context.Context) error {
	if err := r.load(); err != nil {
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

	for _, u := range r.seeds {
		r.seed(u, prioSeed)
	}
	r.enqueueKnown()
	if r.resumed {
		if err := r.resumeLinks(); err != nil {
			r.stop(err)
		}
	}
	r.front.run(ctx, r.workers(), r.now, func(id uint32, host string, turn bool) { r.work(ctx, id, host, turn) })
	close(r.commits)
	err := <-committed
	r.betweenPhases()
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
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
	t.mu.Unlock()
	if add {
		r.front.add(u.Hostname(), id, p)
	}
	return id
}

// enqueueKnown puts what earlier runs know into the frontier: everything in the mirror, what failed, what redirects, and what
// an unfinished run has not asked yet. Other URLs come back when a document links to them.
func (r *run) enqueueKnown() {
	t := r.table
	for id := uint32(0); id < t.n; id++ {
		e := t.at(id)
		if e.urlLen == 0 || e.flags&fQueued != 0 {
			continue
		}
		p := prioKnown
		switch {
		case e.outcome == site.Pending && e.flags&fRequis != 0:
			p = prioRequisite
		case e.outcome == site.Pending:
			p = prioNew
		case e.flags&fInSet != 0, e.outcome == site.Failed, e.outcome == site.Redirected:
		default:
			continue
		}
		u := t.urlOf(id)
		if r.rescan && !r.stillAdmitted(id, u, e) {
			continue
		}
		e.flags |= fQueued
		r.front.add(u.Hostname(), id, p)
	}
}

// stillAdmitted asks the new rules about a URL that the old ones admitted; what they refuse leaves the mirror.
func (r *run) stillAdmitted(id uint32, u site.URL, e *entry) bool {
	kind := kindPage
	if e.flags&fRequis != 0 {
		kind = kindRequisite
	}
	ok, reason := r.allowed(u, kind)
	if ok {
		return true
	}
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
	if isDown && r.seedHost[host] {
		return false // left for the next run
	}
	rec, err := r.record(id, u)
	if err != nil {
		r.stop(err)
		return true
	}
	if isDown {
		r.fail(&rec, host, down, false, 0)
		return false
	}
	if reason := r.capped(); reason != "" {
		rec.Outcome, rec.Reason = site.Trapped, reason
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
		if !r.seedHost[host] {
			r.fail(&rec, host, silent(rules), false, 0)
		}
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
	if rec.InSet && rec.Body != store.NoBody {
		req.ETag, req.LastModified = rec.ETag, rec.LastModified
	}
	sink := r.newSink(u)
	defer sink.close()
	r.stats.requests.Add(1)
	res, err := r.o.Fetcher.Do(ctx, req, sink)
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

// answer decides the outcome of an exchange.
func (r *run) answer(ctx context.Context, rec *store.Resource, host string, res *fetch.Result, err error, sink *bodySink) {
	switch s := res.Status; {
	case err != nil:
		r.fail(rec, host, err.Error(), fetch.Transient(err), weighNoAnswer)
	case res.NotModified && rec.Body != store.NoBody:
		r.trouble(host, "", 0)
		r.unchanged(ctx, rec)
	case res.Kept && s == 200 || res.Kept && s == 203:
		r.trouble(host, "", 0)
		if res.Unframed {
			r.notes.add("bodies without Content-Length, whose end cannot be told from a cut", rec.URL)
		}
		r.body(ctx, rec, res, sink)
	case s >= 300 && s < 400:
		r.trouble(host, "", 0)
		r.redirect(rec, res)
	case s == 404 || s == 410:
		r.trouble(host, "", 0)
		r.goneFor(rec)
	case fetch.TransientStatus(s):
		if res.HasRetryAfter && res.RetryAfter > r.job.Polite.MaxWait {
			r.leaveHost(host, fmt.Sprintf("status %d with a Retry-After of %v, longer than polite.max_wait", s, res.RetryAfter))
		}
		r.fail(rec, host, fmt.Sprintf("status %d", s), true, weighBadAnswer)
	default:
		r.trouble(host, "", 0)
		r.fail(rec, host, fmt.Sprintf("status %d", s), false, 0)
	}
}

// fail records a failure. What the mirror holds stays. A passing failure gets one more turn at the end of the run. Requisites from outside of
// the scope never spoil a run: a page whose image host is dead is published without the image.
func (r *run) fail(rec *store.Resource, host, reason string, passing bool, weight int) {
	if passing {
		r.trouble(host, reason, weight)
	}
	rec.Outcome, rec.Reason = site.Failed, reason
	if _, down := r.isDown(host); passing && !down && r.secondTurn(rec) {
		return
	}
	rec.Failures++
	if (passing || rec.InSet) && rec.Failures < lastingFailures && r.scope.Covers(rec.URL) {
		r.stats.failed.Add(1)
	} else {
		r.stats.refused.Add(1)
	}
	r.log.Debug("failed", "url", rec.URL.String(), "err", reason)
	r.notes.fail(rec.URL, reason)
	r.finish(&store.Done{Resource: *rec})
}

// lastingFailures is how many runs in a row a URL must fail to be taken for broken: it no longer makes a run partial.
const lastingFailures = 3

// secondTurn puts a URL back for the end of the run, once.
func (r *run) secondTurn(rec *store.Resource) bool {
	r.admitMu.Lock()
	had := r.again[rec.ID]
	r.again[rec.ID] = true
	r.admitMu.Unlock()
	if had {
		return false
	}
	r.front.add(rec.URL.Hostname(), rec.ID, prioLast)
	return true
}

// goneFor records a 404 or 410. A resource of the mirror leaves only when a second attempt, after everything else, says the
// same; a URL that never was in the mirror is gone at once.
func (r *run) goneFor(rec *store.Resource) {
	rec.Outcome, rec.Reason = site.Gone, ""
	if rec.InSet && r.secondTurn(rec) {
		return
	}
	rec.Gone++
	rec.Failures = 0
	if rec.InSet {
		rec.Gone++ // the first answer of this run
	}
	r.leave(rec)
	rec.Target = 0
	r.stats.gone.Add(1)
	r.finish(&store.Done{Resource: *rec, Linked: true})
}

// leave takes a resource out of the mirror. Its body stays in the packs and in the history.
func (r *run) leave(rec *store.Resource) {
	if rec.InSet {
		rec.InSet, rec.Moved = false, r.version
	}
}

// unchanged records that the body of an earlier run is still right. Its links come from the store.
func (r *run) unchanged(ctx context.Context, rec *store.Resource) {
	rec.Outcome, rec.Failures, rec.Gone = site.Unchanged, 0, 0
	if !rec.InSet {
		rec.InSet, rec.Moved = true, r.version
	}
	r.stats.unchanged.Add(1)
	if r.rescan && rec.Body == store.PackBody {
		r.rescanStored(ctx, rec)
		return
	}
	targets, err := r.site.TargetsOf(rec.ID)
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
		if id >= t.n {
			continue
		}
		if e := t.at(id); e.flags&fQueued == 0 && e.urlLen > 0 {
			e.flags |= fQueued
			add = append(add, id)
		}
	}
	t.mu.Unlock()
	for _, id := range add {
		r.front.add(r.table.URL(id).Hostname(), id, prioKnown)
	}
}

// redirect records where a URL leads. The target is a URL of its own.
func (r *run) redirect(rec *store.Resource, res *fetch.Result) {
	rec.Outcome, rec.Failures, rec.Gone = site.Redirected, 0, 0
	old := rec.Target
	rec.Target = 0
	d := &store.Done{Resource: *rec, Linked: true}
	switch {
	case res.LocationErr != nil:
		d.Reason = fmt.Sprintf("status %d: %v", res.Status, res.LocationErr)
	case res.Location.IsZero():
		d.Outcome, d.Reason = site.Failed, fmt.Sprintf("status %d without a Location", res.Status)
	default:
		r.admitMu.Lock()
		hops := r.hops[rec.ID] + 1
		r.admitMu.Unlock()
		d.Reason = "to " + res.Location.String()
		if hops > int(r.job.Limits.MaxRedirects) {
			d.Outcome, d.Reason = site.Failed, fmt.Sprintf("more than %d redirects in a row", r.job.Limits.MaxRedirects)
			break
		}
		kind := kindPage
		if rec.Requis {
			kind = kindRequisite
		}
		ids := r.admit(rec.ID, rec.Depth-1, []candidate{{url: []byte(res.Location.String()), kind: kind, follow: true}})
		if id := ids[0]; id >= 0 {
			d.Target = uint32(id) + 1
			d.Targets = []uint32{uint32(id)}
			r.admitMu.Lock()
			r.hops[uint32(id)] = max(r.hops[uint32(id)], hops)
			r.admitMu.Unlock()
		} else {
			d.Reason += ", which is not mirrored"
		}
	}
	r.leave(&d.Resource)
	if d.Target != old {
		d.Moved = r.version
	}
	if d.Outcome == site.Failed {
		r.stats.failed.Add(1)
		r.notes.fail(rec.URL, d.Reason)
	} else {
		r.stats.redirected.Add(1)
	}
	r.finish(d)
}

// finish hands what became of a URL to the committer and keeps the table in step.
func (r *run) finish(d *store.Done) {
	d.Run = r.state.Number
	if d.Reason != "" && d.Referrer == 0 {
		r.notes.decided(d.URL, d.Reason)
	}
	t := r.table
	t.mu.Lock()
	e := t.at(d.ID)
	e.outcome, e.target = d.Outcome, d.Target
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
	if len(d.Targets) > 1 {
		slices.Sort(d.Targets)
	}
	r.commits <- d
}

// trouble counts failures in a row on a host; "" is a success. A host with too many is left for the next run.
func (r *run) trouble(host, reason string, weight int) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.down[host]
	if t == nil {
		if reason == "" {
			return
		}
		t = new(hostTrouble)
		r.down[host] = t
	}
	if reason == "" {
		t.failures = 0
		return
	}
	if t.down {
		return
	}
	t.failures += weight
	t.reason = reason
	if t.failures >= troubleLimit {
		t.down = true
		r.front.free(host)
	}
}

// leaveHost leaves what is still to be asked of a host for the next run.
func (r *run) leaveHost(host, reason string) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	r.down[host] = &hostTrouble{down: true, reason: reason}
	r.front.free(host)
}

// isDown reports whether a host is not to be asked any more in this run, and why. What is left to ask of a host of an entry point waits
// for the next run, which then goes on with this one. Other hosts may be gone for good: there each URL is a failure of its own.
func (r *run) isDown(host string) (reason string, down bool) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.down[host]
	if t == nil || !t.down {
		return "", false
	}
	return t.reason, true
}

// capped says which limit of the job is reached, "" for none.
func (r *run) capped() string {
	l := &r.job.Limits
	if n := r.stats.files.Load(); l.MaxFiles > 0 && n >= l.MaxFiles {
		r.notes.cap(fmt.Sprintf("limits.max_files = %d is reached", l.MaxFiles))
		return "limits.max_files"
	}
	if n := r.stats.bytes.Load(); l.MaxSize > 0 && n >= int64(l.MaxSize) {
		r.notes.cap(fmt.Sprintf("limits.max_size = %v is reached", l.MaxSize))
		return "limits.max_size"
	}
	return ""
}

// rulesOf returns the robots rules of a URL's origin, if they are known already.
func (r *run) rulesOf(u site.URL) (rules *fetch.Robots, known bool) {
	if !r.job.ObeyRobots {
		return nil, true
	}
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	rules, known = r.origins[u.Origin()]
	return rules, known
}

// learnOrigin asks for the robots.txt of an origin, and takes in Crawl-delay and sitemaps. An origin that does not tell its rules
// is left for the next run: silence permits nothing, and condemns nothing that the mirror has.
func (r *run) learnOrigin(ctx context.Context, u site.URL, host string, release func(fetch.Observation)) {
	start := r.now()
	rules, err := r.o.Robots.Rules(ctx, u)
	if err != nil {
		return
	}
	if d, ok := rules.CrawlDelay(); ok {
		r.o.Hosts.SetCrawlDelay(host, d)
		if d > r.job.Polite.MaxWait {
			r.leaveHost(host, fmt.Sprintf("Crawl-delay of %v is longer than polite.max_wait", d))
		}
	}
	if why := silent(rules); why != "" {
		r.leaveHost(host, why)
		r.notes.fail(u, why)
	}
	r.admitMu.Lock()
	_, had := r.origins[u.Origin()]
	r.origins[u.Origin()] = rules
	r.admitMu.Unlock()
	release(fetch.Observation{Duration: r.now().Sub(start), Status: 200})
	if !had && rules.File != nil {
		r.addSitemaps(u, rules.File.Sitemaps())
	}
}

// silent says why an origin's rules are not known, "" when they are. Such rules disallow everything for now (RFC 9309 2.3.1.4); that is no
// reason to drop what the mirror has.
func silent(rules *fetch.Robots) string {
	switch {
	case rules == nil || rules.Stale:
		return ""
	case rules.Err != nil:
		return fmt.Sprintf("its robots.txt cannot be had: %v", rules.Err)
	case rules.Status == 429 || rules.Status >= 500:
		return fmt.Sprintf("its robots.txt answers %d", rules.Status)
	}
	return ""
}

// robotsAllow asks the rules about one URL.
func (r *run) robotsAllow(rules *fetch.Robots, u site.URL) (bool, string) {
	if rules == nil {
		return true, ""
	}
	ok, rule := rules.Allowed(u.RequestURI())
	if ok {
		return true, ""
	}
	return false, rule.String()
}

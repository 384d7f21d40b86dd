package mirror

import (
	"context"
	"fmt"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/site"
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

// slowHost says of a host that is left for the next run that it is well: nobody is asked in its place.
func (r *run) slowHost(host string) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	r.down[host].slow = true
}

// isSlow reports whether a host that is left for the next run is well.
func (r *run) isSlow(host string) bool {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.down[host]
	return t != nil && t.slow
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

// capped says which limit of the job is reached, "" for none. own is how many files are counted already that the question is about.
func (r *run) capped(own int64) string {
	l := &r.job.Limits
	if n := r.stats.files.Load() - own; l.MaxFiles > 0 && n >= l.MaxFiles {
		r.notes.cap(fmt.Sprintf("limits.max_files = %d is reached", l.MaxFiles))
		return "limits.max_files"
	}
	if n := r.stats.held.Load(); l.MaxSize > 0 && n >= int64(l.MaxSize) {
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

// forbids reports whether robots rules that are known do not allow a URL. Whatever the mirror has of it then leaves, and must have its turn.
func (r *run) forbids(u site.URL) bool {
	rules, known := r.rulesOf(u)
	if !known || silent(rules) != "" {
		return false
	}
	ok, _ := r.robotsAllow(rules, u)
	return !ok
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
			r.slowHost(host)
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

// takeTurn waits for a turn of a host and takes it, for a request that is not in a frontier. The error is that ctx ended.
func takeTurn(ctx context.Context, g gate, now func() time.Time, host string) error {
	for {
		at := now()
		ok, again := g.Acquire(host, at)
		if ok {
			return nil
		}
		t := time.NewTimer(max(again.Sub(at), time.Millisecond))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

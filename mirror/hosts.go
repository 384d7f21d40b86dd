// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mirrord/fetch"
	"mirrord/site"
)

// trouble is what a run knows of the troubles of an origin, or of a host as a whole.
type trouble struct {
	failures int      // in a row, by weight
	failed   int64    // URLs that failed, as limits.max_failures counts them
	lost     bool     // some URL failed
	answered bool     // some request of this run had an answer that says nothing of troubles
	waits    []uint32 // different URLs in a row, at most waitsLong, of which the answer asked to wait
	reason   string
	down     bool // it is left for the next run
	slow     bool // because it asks for longer waits than the job allows: no replica is needed
}

// An origin whose URLs fail one after the other, each after its retries, is left for the next run: when the sum of what the
// failures weigh reaches troubleLimit without an answer in between.
const (
	troubleLimit   = 24
	weighNoAnswer  = 3 // refused, reset, timed out, no such name
	weighBadAnswer = 1 // 5xx, 429
)

// A Retry-After is that of its URL until so many different URLs of the origin in a row, without an answer in between, asked to wait: the
// host then waits, or, when that is for longer than polite.max_wait, is left for the next run, which takes more to believe.
const (
	waitsShort = 2
	waitsLong  = 4
)

// troubleOf returns the troubles of an origin or host. Callers hold admitMu.
func (r *run) troubleOf(key string) *trouble {
	t := r.down[key]
	if t == nil {
		t = new(trouble)
		r.down[key] = t
	}
	return t
}

// troubled counts a failure on the origin of a URL. An origin with too many in a row is left for the next run.
func (r *run) troubled(u site.URL, reason string, weight int) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.troubleOf(u.Origin())
	if t.down {
		return
	}
	t.failures += weight
	t.reason = reason
	if t.failures >= troubleLimit {
		t.down = true
		r.front.Free(u.Origin())
	}
}

// answers takes note of an answer that says that the origin of a URL is well.
func (r *run) answers(u site.URL) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.troubleOf(u.Origin())
	t.failures, t.waits, t.answered = 0, t.waits[:0], true
	r.troubleOf(u.Hostname()).answered = true
}

// lose takes note of a URL that failed; counts says whether limits.max_failures counts it.
func (r *run) lose(u site.URL, counts bool) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.troubleOf(u.Origin())
	if t.lost = true; counts {
		t.failed++
	}
}

// leaveOrigin leaves what is still to be asked of the origin of a URL for the next run.
func (r *run) leaveOrigin(u site.URL, reason string) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.troubleOf(u.Origin())
	t.down, t.reason = true, reason
	r.front.Free(u.Origin())
}

// leaveHost leaves a whole host for the next run, because it asks for longer waits than the job allows. silent says that it does not serve
// meanwhile, so that replicas may be asked.
func (r *run) leaveHost(u site.URL, reason string, silent bool) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.troubleOf(u.Hostname())
	t.down, t.reason, t.slow = true, reason, !silent
	r.front.FreeHost(u.Hostname())
}

// waitOf returns for how long a host is to be left alone because of an answer to one URL: 0 when the wait is that URL's.
func (r *run) waitOf(u site.URL, id uint32, res *fetch.Result) time.Duration {
	if !fetch.TransientStatus(res.Status) || res.RetryAfter <= 0 {
		return 0
	}
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.troubleOf(u.Origin())
	if !slices.Contains(t.waits, id) && len(t.waits) < waitsLong {
		t.waits = append(t.waits, id)
	}
	least := waitsShort
	if res.RetryAfter > r.job.Polite.MaxWait {
		least = waitsLong
	}
	if len(t.waits) < least {
		return 0
	}
	return res.RetryAfter
}

// observed is what an answer says of the host to its politeness. A Retry-After of one URL is not the host's; a port that has never
// answered, of a host that answers at another one, says nothing of how busy the host is.
func (r *run) observed(u site.URL, id uint32, res *fetch.Result, err error) fetch.Observation {
	o := fetch.Observe(res, err)
	o.RetryAfter = r.waitOf(u, id, res)
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	if err != nil && !r.troubleOf(u.Origin()).answered && r.troubleOf(u.Hostname()).answered {
		o.Err = nil
	}
	return o
}

// isDown reports whether a URL is not to be asked any more in this run, and why: its origin is down, or its host is left for the next run.
// What is left to ask of an entry point's origin waits for the next run, which then goes on with this one. Other origins may be gone for
// good: there each URL is a failure of its own.
func (r *run) isDown(u site.URL) (reason string, entry, down bool) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	for _, key := range []string{u.Hostname(), u.Origin()} {
		if t := r.down[key]; t != nil && t.down {
			return t.reason, r.entries[key], true
		}
	}
	return "", false, false
}

// isLeft reports whether the whole host of a URL is left for the next run.
func (r *run) isLeft(u site.URL) bool {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.down[u.Hostname()]
	return t != nil && t.down
}

// isSlow reports whether the host of a URL is left for the next run and well.
func (r *run) isSlow(u site.URL) bool {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	t := r.down[u.Hostname()]
	return t != nil && t.slow
}

// addEntry makes the origin of a URL one of those that the job is about.
func (r *run) addEntry(u site.URL) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	r.entries[u.Origin()], r.entries[u.Hostname()] = true, true
}

// isEntryOrigin reports whether an entry point lies on the origin of a URL, or leads there.
func (r *run) isEntryOrigin(u site.URL) bool {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	return r.entries[u.Origin()]
}

// downEntries returns the origins and hosts of entry points that are left for the next run because they do not answer.
func (r *run) downEntries() (out []string) {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	for key := range r.entries {
		if t := r.down[key]; t != nil && t.down && !t.slow {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// silentOrigins returns the origins that are no entry point's and gave no answer in this run, with how many of their URLs count as failed.
func (r *run) silentOrigins() map[string]int64 {
	r.admitMu.Lock()
	defer r.admitMu.Unlock()
	out := map[string]int64{}
	for key, t := range r.down {
		if t.lost && !t.answered && !r.entries[key] {
			out[key] = t.failed
		}
	}
	return out
}

// capped says which limit of the job is reached, "" for none. own is how many files are counted already that the question is about.
func (r *run) capped(own int64) string {
	l := &r.job.Limits
	if n := r.stats.Files.Load() - own; l.MaxFiles > 0 && n >= l.MaxFiles {
		r.notes.Cap(fmt.Sprintf("limits.max_files = %d is reached", l.MaxFiles))
		return "limits.max_files"
	}
	if n := r.stats.Held.Load(); l.MaxSize > 0 && n >= int64(l.MaxSize) {
		r.notes.Cap(fmt.Sprintf("limits.max_size = %v is reached", l.MaxSize))
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
	if !known || rules.Silent() != "" {
		return false
	}
	ok, _ := rules.Permits(u)
	return !ok
}

// learnOrigin asks for the robots.txt of an origin, and takes in Crawl-delay and sitemaps. An origin that does not tell its rules
// is left for the next run: silence permits nothing, and condemns nothing that the mirror has.
func (r *run) learnOrigin(ctx context.Context, u site.URL, release func(fetch.Observation)) {
	start := r.now()
	rules, err := r.o.Robots.Rules(ctx, u)
	if err != nil {
		return
	}
	if d, ok := rules.CrawlDelay(); ok {
		r.o.Hosts.SetCrawlDelay(u.Hostname(), d)
		if d > r.job.Polite.MaxWait {
			r.leaveHost(u, fmt.Sprintf("Crawl-delay of %v is longer than polite.max_wait", d), false)
		}
	}
	if why := rules.Silent(); why != "" {
		r.leaveOrigin(u, why)
		r.notes.Fail(u, why)
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

// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/site"
)

// An origin whose URLs fail one after the other, each after its retries, is left for the next run: when the
// sum of the weights of the failures reaches TroubleLimit without an answer in between.
const (
	TroubleLimit   = 24
	WeighNoAnswer  = 3 // refused, reset, timed out, no such name
	WeighBadAnswer = 1 // 5xx, 429
)

// A Retry-After is that of its URL until so many different URLs of the origin in a row, without an answer in
// between, asked to wait: then the host waits, or, when that is for longer than polite.max_wait, is left for
// the next run, which takes more URLs.
const (
	waitsShort = 2
	waitsLong  = 4
)

// Troubles is what a run knows of the troubles of origins, and of hosts for what concerns all their origins.
// What is left for the next run it frees in the frontier. Safe for concurrent use.
type Troubles struct {
	front   *Frontier
	maxWait time.Duration // polite.max_wait

	mu      sync.Mutex
	keys    map[string]*trouble // by origin and by host
	entries map[string]bool     // origins and hosts of the entry points, and of where they lead
}

// trouble is what a run knows of the troubles of one origin, or of one host as a whole.
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

// NewTroubles returns troubles that free origins of front. maxWait is the longest wait for a host that the
// job accepts.
func NewTroubles(front *Frontier, maxWait time.Duration) *Troubles {
	return &Troubles{
		front:   front,
		maxWait: maxWait,
		keys:    map[string]*trouble{},
		entries: map[string]bool{},
	}
}

// of returns the troubles of an origin or host. The caller holds t.mu.
func (t *Troubles) of(key string) *trouble {
	k := t.keys[key]
	if k == nil {
		k = new(trouble)
		t.keys[key] = k
	}
	return k
}

// Failed counts a failure of a URL on its origin. An origin with too many in a row is left for the next run.
func (t *Troubles) Failed(u site.URL, reason string, weight int) {
	if t.fail(u.Origin(), reason, weight) {
		t.front.Free(u.Origin())
	}
}

func (t *Troubles) fail(origin, reason string, weight int) (left bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.of(origin)
	if k.down {
		return false
	}
	k.failures += weight
	k.reason = reason
	k.down = k.failures >= TroubleLimit
	return k.down
}

// Answered notes an answer to a URL that says that its origin is well.
func (t *Troubles) Answered(u site.URL) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.of(u.Origin())
	k.failures, k.waits, k.answered = 0, k.waits[:0], true
	t.of(u.Hostname()).answered = true
}

// Lose notes a URL that failed for this run; counts says whether limits.max_failures counts it.
func (t *Troubles) Lose(u site.URL, counts bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.of(u.Origin())
	if k.lost = true; counts {
		k.failed++
	}
}

// LeaveOrigin leaves the rest of the origin of a URL for the next run.
func (t *Troubles) LeaveOrigin(u site.URL, reason string) {
	t.mu.Lock()
	k := t.of(u.Origin())
	k.down, k.reason = true, reason
	t.mu.Unlock()
	t.front.Free(u.Origin())
}

// LeaveHost leaves the whole host of a URL for the next run, because it asks for longer waits than the job
// allows. silent says that it does not serve meanwhile, so that replicas may be used.
func (t *Troubles) LeaveHost(u site.URL, reason string, silent bool) {
	t.mu.Lock()
	k := t.of(u.Hostname())
	k.down, k.reason, k.slow = true, reason, !silent
	t.mu.Unlock()
	t.front.FreeHost(u.Hostname())
}

// Waited notes an answer to a URL that may ask to wait, and returns for how long the host is to be left alone
// because of it: 0 when the wait is the URL's. id is the number of the URL. A second call for one answer
// changes nothing.
func (t *Troubles) Waited(u site.URL, id uint32, res *fetch.Result) time.Duration {
	if !fetch.TransientStatus(res.Status) || res.RetryAfter <= 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.of(u.Origin())
	if !slices.Contains(k.waits, id) && len(k.waits) < waitsLong {
		k.waits = append(k.waits, id)
	}
	least := waitsShort
	if res.RetryAfter > t.maxWait {
		least = waitsLong
	}
	if len(k.waits) < least {
		return 0
	}
	return res.RetryAfter
}

// Observe returns what an answer says of the host to its politeness. A Retry-After of one URL is not the
// host's. A port that has never answered, of a host that answers at another one, says nothing of how busy the
// host is.
func (t *Troubles) Observe(u site.URL, id uint32, res *fetch.Result, err error) fetch.Observation {
	o := fetch.Observe(res, err)
	o.RetryAfter = t.Waited(u, id, res)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && !t.of(u.Origin()).answered && t.of(u.Hostname()).answered {
		o.Err = nil
	}
	return o
}

// Down reports whether a URL is not to be requested any more in this run, and why: its origin is down, or its
// host is left for the next run. entry says that it belongs to an entry point: the rest of such an origin
// waits for the next run, which then goes on with this one. Other origins may be gone for good: there each
// URL is a failure of its own.
func (t *Troubles) Down(u site.URL) (reason string, entry, down bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range []string{u.Hostname(), u.Origin()} {
		if k := t.keys[key]; k != nil && k.down {
			return k.reason, t.entries[key], true
		}
	}
	return "", false, false
}

// IsDown is Down without the reason.
func (t *Troubles) IsDown(u site.URL) bool {
	_, _, down := t.Down(u)
	return down
}

// IsLeft reports whether the whole host of a URL is left for the next run.
func (t *Troubles) IsLeft(u site.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.keys[u.Hostname()]
	return k != nil && k.down
}

// IsSlow reports whether the host of a URL is left for the next run although it is well, because it asks for
// longer waits than the job accepts.
func (t *Troubles) IsSlow(u site.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.keys[u.Hostname()]
	return k != nil && k.slow
}

// AddEntry makes the origin and the host of a URL those of an entry point.
func (t *Troubles) AddEntry(u site.URL) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries[u.Origin()], t.entries[u.Hostname()] = true, true
}

// IsEntry reports whether an entry point lies on the origin of a URL, or leads there.
func (t *Troubles) IsEntry(u site.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[u.Origin()]
}

// Left is an origin or a host of an entry point that is left for the next run.
type Left struct {
	Name   string // origin or host
	Reason string
	Slow   bool // it is well, but asks for longer waits than the job accepts
}

// LeftEntries returns the origins and hosts of entry points that are left for the next run, by name.
func (t *Troubles) LeftEntries() (out []Left) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.entries {
		if k := t.keys[key]; k != nil && k.down {
			out = append(out, Left{Name: key, Reason: k.reason, Slow: k.slow})
		}
	}
	slices.SortFunc(out, func(a, b Left) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// DownEntries returns the names of LeftEntries that do not answer, sorted.
func (t *Troubles) DownEntries() (out []string) {
	for _, l := range t.LeftEntries() {
		if !l.Slow {
			out = append(out, l.Name)
		}
	}
	return out
}

// SilentOrigins returns the origins that are no entry point's and gave no answer in this run, with how many
// of their URLs count as failed.
func (t *Troubles) SilentOrigins() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]int64{}
	for key, k := range t.keys {
		if k.lost && !k.answered && !t.entries[key] {
			out[key] = k.failed
		}
	}
	return out
}

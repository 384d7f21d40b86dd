// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/site"
)

// HostErrorsOptions are what HostErrors work with. All fields are needed.
type HostErrorsOptions struct {
	Front   *Frontier
	MaxWait time.Duration // the longest wait for a host that the job accepts: polite.max_wait
	// polite.timeout; see Flight
	HeaderTimeout time.Duration
	// Known returns a URL of an origin that answered in an earlier run, and is not among some; if it can,
	// one of another directory.
	Known func(origin string, but []site.URL) (site.URL, bool)
	// Entry returns an entry point of an origin, or where it leads, that answered when it was last requested.
	Entry func(origin string) (site.URL, bool)
	// Down is called once for each origin or host that is left for the next run, as soon as that is known.
	Down func(Left)
}

// HostErrors is what a run knows of the troubles of origins, and of hosts for what concerns all their
// origins. It frees URLs that are left for the next run in the frontier. Safe for concurrent use.
type HostErrors struct {
	HostErrorsOptions

	mu      sync.Mutex
	keys    map[string]*trouble // by origin and by host
	entries map[string]bool     // origins and hosts of the entry points, and of where they lead
}

// trouble is what a run knows of the troubles of one origin, or of one host as a whole.
type trouble struct {
	outage
	witness  site.URL // that is known to answer
	gave     site.URL // what the mirror has that it gave last, in this run
	probe    probe
	failed   int64    // URLs that failed, as limits.max_failures counts them
	troubled bool     // it did not answer, or badly; not only that we may not connect to it
	lost     bool     // some URL failed
	answered bool     // some request of this run had an answer that says nothing of troubles
	waits    []uint32 // different URLs in a row, at most waitsLong, of which the answer asked to wait
	pace     pace
	flying   map[site.URL]int // requests under way, see Flight
	slowest  time.Duration    // until the header of an answer
	sick     bool             // since the last answer a URL failed that is not known to fail
	reason   string
	down     bool      // it is left for the next run
	slow     bool      // because it refuses, or asks for longer waits than the job allows: no replica is needed
	until    time.Time // when a host that asks for a longer wait may be requested; zero: not known
}

// NewHostErrors returns the host errors of a run that begins.
func NewHostErrors(o HostErrorsOptions) *HostErrors {
	return &HostErrors{
		HostErrorsOptions: o,
		keys:              map[string]*trouble{},
		entries:           map[string]bool{},
	}
}

// of returns the troubles of an origin or host. The caller holds t.mu.
func (t *HostErrors) of(key string) *trouble {
	k := t.keys[key]
	if k == nil {
		k = new(trouble)
		t.keys[key] = k
	}
	return k
}

// on calls f with the troubles of a URL's origin.
func (t *HostErrors) on(u site.URL, f func(k *trouble)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(t.of(u.Origin()))
}

// Failed counts a failure of a URL on its origin. An origin with too many in a row is left for the next run.
func (t *HostErrors) Failed(u site.URL, reason string, s Symptom) { t.fail(u, reason, s, false) }

// WitnessFailed is Failed for the URL that Witness returned. It says nothing when its origin has answered
// another URL meanwhile.
func (t *HostErrors) WitnessFailed(u site.URL, reason string, s Symptom) {
	t.mu.Lock()
	probing := t.of(u.Origin()).probing
	t.mu.Unlock()
	if probing {
		t.fail(u, reason, s, true)
	}
}

func (t *HostErrors) fail(u site.URL, reason string, s Symptom, sure bool) {
	origin := u.Origin()
	t.mu.Lock()
	k := t.of(origin)
	if k.down {
		t.mu.Unlock()
		return
	}
	k.reason, k.troubled = reason, true
	down := k.fail(s, sure, func() bool { return t.findWitness(u, k, s) })
	k.slow = down && (s == Refusal)
	k.down = (down && (s != Busy)) || k.probe.isOpen()
	left, gone := t.left(origin, k), k.down
	var held []uint32
	if gone {
		held = k.probe.end()
	}
	t.mu.Unlock()
	t.resume(origin, held)
	switch {
	case gone:
		t.leave(left, t.Front.Free)
	case down:
		t.leaveHost(u.Hostname(), reason, time.Time{}, false)
	}
}

// findWitness looks for a URL that is known to answer, of the origin of one that does not. Against refusals
// counts only what the origin gave. The caller holds t.mu.
func (t *HostErrors) findWitness(u site.URL, k *trouble, s Symptom) (ok bool) {
	if s == Refusal {
		if k.witness = k.gave; !k.gave.IsZero() {
			return true
		}
		if k.witness, ok = t.Entry(u.Origin()); ok { // it may be under way
			return true
		}
	}
	if (k.answers == 0 || s == Refusal) && t.entries[u.Origin()] {
		but := append(slices.Collect(maps.Keys(k.flying)), u)
		k.witness, ok = t.Known(u.Origin(), but)
		return ok
	}
	return k.answers > 0
}

// Witness returns a URL that is known to answer and is to be requested before any other of the origin of u:
// some failed in a row, and that may be trouble of their own. It returns it once.
func (t *HostErrors) Witness(u site.URL) (w site.URL, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.keys[u.Origin()]
	if (k == nil) || !k.doubt || k.down {
		return w, false
	}
	k.doubt, k.probing = false, true
	return k.witness, true
}

// MayRetry reports whether a request that failed may be repeated at once, and counts its failure then: its
// origin answers. The turn of the host is kept.
func (t *HostErrors) MayRetry(u site.URL, reason string, s Symptom) bool {
	t.mu.Lock()
	k := t.of(u.Origin())
	well := !k.down && (k.answers > 0) && (k.weight+s.weight() < k.limit()-1)
	t.mu.Unlock()
	if well {
		t.Failed(u, reason, s)
	}
	return well
}

// Probe reports whether a URL of an origin that is written off is requested: the first one is, and the others
// are held until EndProbe, or until the origin is down.
func (t *HostErrors) Probe(u site.URL, id uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.of(u.Origin())
	switch {
	case k.down, k.probe.ended:
		return true
	case !k.probe.begun:
		k.probe.begun, k.probe.id = true, id
	}
	if k.probe.id != id {
		k.probe.held = append(k.probe.held, id)
	}
	return k.probe.id == id
}

// EndProbe lets the URLs of an origin enter the frontier that waited for the one of them that was requested.
func (t *HostErrors) EndProbe(u site.URL) {
	var held []uint32
	t.on(u, func(k *trouble) { held = k.probe.end() })
	t.resume(u.Origin(), held)
}

// resume lets URLs enter the frontier that were held.
func (t *HostErrors) resume(origin string, held []uint32) {
	for _, id := range held {
		t.Front.Add(origin, id, PrioKnown)
	}
}

// HasAnswered reports whether an origin gave an answer in this run.
func (t *HostErrors) HasAnswered(origin string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.keys[origin]
	return (k != nil) && k.answered
}

// Answered notes an answer to a URL that says that its origin is well.
func (t *HostErrors) Answered(u site.URL) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.of(u.Origin())
	k.heard()
	k.pace.heard(u)
	k.witness, k.waits, k.answered, k.sick = u, k.waits[:0], true, false
	t.of(u.Hostname()).answered = true
}

// Lose notes a URL that failed for this run; counts says whether limits.max_failures counts it.
func (t *HostErrors) Lose(u site.URL, counts bool) {
	t.on(u, func(k *trouble) {
		if k.lost = true; counts {
			k.failed++
		}
	})
}

// LeaveOrigin leaves the rest of the origin of a URL for the next run.
func (t *HostErrors) LeaveOrigin(u site.URL, reason string) {
	writeOff(t, u.Origin(), t.Front.Free, func(k *trouble) { k.reason = reason })
}

// writeOff leaves an origin or host for the next run: how notes why, and free frees it in the frontier.
func writeOff(t *HostErrors, key string, free func(string), how func(k *trouble)) {
	t.mu.Lock()
	k := t.of(key)
	was := k.down
	k.down = true
	how(k)
	left, held := t.left(key, k), k.probe.end()
	t.mu.Unlock()
	t.resume(key, held)
	if !was {
		t.leave(left, free)
	}
}

// Waited notes an answer to a URL that may ask to wait, and returns for how long the host is to be left alone
// because of it: 0 when the wait is the URL's. id is the number of the URL. A second call for one answer
// changes nothing.
func (t *HostErrors) Waited(u site.URL, id uint32, res *fetch.Result) time.Duration {
	if !fetch.TransientStatus(res.Status) || res.RetryAfter <= 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k, long := t.of(u.Origin()), res.RetryAfter > t.MaxWait
	if !k.waited(id, long, func() bool { return t.findWitness(u, k, Busy) }) {
		return 0
	}
	k.pace.limited = k.pace.limited || !long
	return res.RetryAfter
}

// WaitsAgain counts an answer to a URL that asks for a wait which the job accepts, or for one of no length.
// It reports whether the URL gets another turn beyond its second one: the host limits how fast it is
// requested, so that the answer says nothing of the URL. status is that of an answer which names no wait,
// else 0.
func (t *HostErrors) WaitsAgain(u site.URL, status int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.of(u.Origin()).pace
	p.limited = p.limited || p.limits(status)
	return later(status) && p.again(u)
}

// LeaveHost leaves the whole host of a URL for the next run, because it asks for longer waits than the job
// allows: until a time, the zero time if that is not known. silent says that it does not serve meanwhile, so
// that replicas may be used.
func (t *HostErrors) LeaveHost(u site.URL, reason string, until time.Time, silent bool) {
	t.leaveHost(u.Hostname(), reason, until, silent)
}

// waits leaves a host for the next run that is not to be requested before a time, because of what it said to
// an earlier run or to another job.
func (t *HostErrors) waits(host string, until time.Time) {
	const why = "it asked to wait until %s, which is longer than polite.max_wait"
	t.leaveHost(host, fmt.Sprintf(why, until.UTC().Format("2006-01-02 15:04:05 MST")), until, false)
}

func (t *HostErrors) leaveHost(host, reason string, until time.Time, silent bool) {
	writeOff(t, host, t.Front.FreeHost, func(k *trouble) { k.reason, k.slow, k.until = reason, !silent, until })
}

// Waiting returns the URLs of an origin that asked to wait in a row: when its host is left, they wait with
// it.
func (t *HostErrors) Waiting(u site.URL) (ids []uint32) {
	t.on(u, func(k *trouble) { ids = slices.Clone(k.waits) })
	return ids
}

// WaitUntil returns when the first host of an entry point that asked to wait may be requested again; the zero
// time when none did.
func (t *HostErrors) WaitUntil() (at time.Time) {
	for _, l := range t.LeftEntries() {
		if !l.Until.IsZero() && (at.IsZero() || l.Until.Before(at)) {
			at = l.Until
		}
	}
	return at
}

// HostWaits returns until when hosts asked to be left alone that are left for the next run.
func (t *HostErrors) HostWaits() map[string]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]time.Time{}
	for key, k := range t.keys {
		if !k.until.IsZero() {
			out[key] = k.until
		}
	}
	return out
}

// left returns what waits for the next run. The caller holds t.mu.
func (t *HostErrors) left(key string, k *trouble) Left {
	return Left{
		Name:   key,
		Reason: k.reason,
		Slow:   k.slow,
		Until:  k.until,
	}
}

// leave frees what has come to be left, and says so.
func (t *HostErrors) leave(l Left, free func(string)) {
	free(l.Name)
	t.HostErrorsOptions.Down(l)
}

// Observe returns what an answer says of the host to its politeness. A Retry-After of one URL is not the
// host's. failedBefore says that the URL failed in earlier runs.
func (t *HostErrors) Observe(
	u site.URL, id uint32, failedBefore bool, res *fetch.Result, err error,
) fetch.Observation {
	o := fetch.Observe(res, err)
	o.RetryAfter = t.Waited(u, id, res)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(u.Origin()).observe(&o, t.of(u.Hostname()).answered, failedBefore, res, err)
	return o
}

// Down reports whether a URL is no longer to be requested in this run, and why: its origin is down, or its
// host is left for the next run. entry says that it belongs to an entry point: the rest of such an origin
// waits for the next run, which then resumes this one. Other origins may be gone for good: there each
// URL is a failure of its own.
func (t *HostErrors) Down(u site.URL) (reason string, entry, down bool) {
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
func (t *HostErrors) IsDown(u site.URL) bool {
	_, _, down := t.Down(u)
	return down
}

// IsLeft reports whether the whole host of a URL is left for the next run.
func (t *HostErrors) IsLeft(u site.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.keys[u.Hostname()]
	return k != nil && k.down
}

// IsSlow reports whether the host or origin of a URL is left for the next run although it is well, because it
// refuses what it is asked for, or asks for longer waits than the job accepts.
func (t *HostErrors) IsSlow(u site.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	host, origin := t.keys[u.Hostname()], t.keys[u.Origin()]
	return (host != nil && host.slow) || (origin != nil && origin.slow)
}

// AddEntry makes the origin and the host of a URL those of an entry point.
func (t *HostErrors) AddEntry(u site.URL) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries[u.Origin()], t.entries[u.Hostname()] = true, true
}

// IsEntry reports whether an entry point lies on the origin of a URL, or leads there.
func (t *HostErrors) IsEntry(u site.URL) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[u.Origin()]
}

// Left is an origin or a host that is left for the next run.
type Left struct {
	Name   string // origin or host
	Reason string
	Slow   bool      // it is well, but refuses, or asks for longer waits than the job accepts
	Until  time.Time // when it may be requested again; zero: not known
}

// LeftEntries returns the origins and hosts of entry points that are left for the next run, by name.
func (t *HostErrors) LeftEntries() (out []Left) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.entries {
		if k := t.keys[key]; k != nil && k.down {
			out = append(out, t.left(key, k))
		}
	}
	slices.SortFunc(out, func(a, b Left) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// DownEntries returns the names of LeftEntries that do not answer, sorted.
func (t *HostErrors) DownEntries() (out []string) {
	for _, l := range t.LeftEntries() {
		if !l.Slow {
			out = append(out, l.Name)
		}
	}
	return out
}

// Blame notes that an origin does not answer, or badly.
func (t *HostErrors) Blame(u site.URL) {
	t.on(u, func(k *trouble) { k.troubled = true })
}

// MuteOrigins returns those of SilentOrigins that were requested and did not answer.
func (t *HostErrors) MuteOrigins() (out []string) {
	for origin := range t.SilentOrigins() {
		t.mu.Lock()
		if t.of(origin).troubled {
			out = append(out, origin)
		}
		t.mu.Unlock()
	}
	return out
}

// SilentOrigins returns the origins that are no entry point's and gave no answer in this run, with how many
// of their URLs count as failed.
func (t *HostErrors) SilentOrigins() map[string]int64 {
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

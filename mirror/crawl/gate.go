// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mirrord/fetch"
	"mirrord/job"
)

// acquirer gives out the turns of hosts, shared over all runs of the process. *fetch.Hosts is one. It is safe for
// concurrent use. When it is not the host's turn, again says when to try next; a release may make it earlier.
type acquirer interface {
	Acquire(host string, p fetch.Politeness, now time.Time) (ok bool, again time.Time)
}

// turns gives out the turns of hosts to a frontier. *Gate is one; it is safe for concurrent use.
type turns interface {
	Acquire(host string, now time.Time) (ok bool, again time.Time)
}

// Gate gives the turns of hosts to one run, or to another user of the job's rules, inside the job's window.
// Safe for concurrent use.
type Gate struct {
	hosts  acquirer
	p      fetch.Politeness
	window job.Window
	zone   *time.Location
	most   time.Duration // the longest wait of Turn
	now    func() time.Time
}

// NewGate returns the gate of a job. p is the job's politeness.
func NewGate(h acquirer, j *job.Job, p fetch.Politeness, now func() time.Time) (*Gate, error) {
	w, err := job.ParseWindow(j.Window)
	if err != nil {
		return nil, fmt.Errorf("window: %w", err)
	}
	zone, err := j.Location(time.Local)
	if err != nil {
		return nil, fmt.Errorf("timezone: %w", err)
	}
	return &Gate{
		hosts:  h,
		p:      p,
		window: w,
		zone:   zone,
		most:   max(j.Polite.MaxWait, p.Delay, p.MaxDelay), // what the job waits for, and any gap of politeness itself
		now:    now,
	}, nil
}

// Acquire takes a turn of a host. When it is not the host's turn, again says when to try next; a release may make it
// earlier. Outside of the window there are no turns: the run pauses, and goes on where it was when the window opens.
func (g *Gate) Acquire(host string, now time.Time) (ok bool, again time.Time) {
	if g.paused(now) {
		return false, g.window.Change(now.In(g.zone))
	}
	return g.hosts.Acquire(host, g.p, now)
}

// paused reports whether now is outside of the window.
func (g *Gate) paused(now time.Time) bool {
	return len(g.window) > 0 && !g.window.Open(now.In(g.zone))
}

// Turn waits for a turn of a host and takes it, for a request that is not in a frontier. The error is
// fetch.ErrLongWait, at once, when the host asks for a longer wait than the job accepts; a pause outside of the window
// does not count. Any other error is that of ctx.
func (g *Gate) Turn(ctx context.Context, host string) error {
	for {
		at := g.now()
		ok, again := g.Acquire(host, at)
		if ok {
			return nil
		}
		wait := again.Sub(at)
		if wait > g.most && !g.paused(at) {
			return fetch.ErrLongWait
		}
		t := time.NewTimer(max(wait, time.Millisecond))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// HostOf returns the host of an origin, without port: politeness counts by it.
func HostOf(origin string) string {
	_, host, ok := strings.Cut(origin, "://")
	if !ok {
		return origin
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i]
	}
	return host
}

// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"fmt"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// Hosts is the politeness of hosts, shared over all runs of the process. *fetch.Hosts is one. Safe for
// concurrent use.
type Hosts interface {
	// Acquire takes a turn of an origin's host. When it is not its turn, again says when to try next; a release
	// may make it earlier.
	Acquire(origin string, p fetch.Politeness, now time.Time) (ok bool, again time.Time)
	Release(origin string, p fetch.Politeness, now time.Time, o fetch.Observation)
	// AcquireAnyway is Acquire although the host may have asked to wait; Lift ends that wait.
	AcquireAnyway(origin string, p fetch.Politeness, now time.Time) (ok bool, again time.Time)
	Lift(host string)
	SetCrawlDelay(host string, d time.Duration)
	// Defer notes that a host asked an earlier process to be left alone until a time.
	Defer(host string, until, now time.Time)
	Gap(origin string, p fetch.Politeness) time.Duration
	// Held returns what keeps a job from an origin's host.
	Held(origin string, p fetch.Politeness, now time.Time) fetch.Hold
}

// turns gives out the turns of hosts to a frontier. *Pacer is one; it is safe for concurrent use.
type turns interface {
	Acquire(origin string, now time.Time) (ok bool, again time.Time)
	Release(origin string, o fetch.Observation)
	// Held returns what keeps the job from the origin's host.
	Held(origin string, now time.Time) fetch.Hold
	// Closed reports whether there are no turns at all, because the job's window is closed.
	Closed(now time.Time) bool
	// TooLong reports whether the job does not wait for a turn until a time.
	TooLong(again, now time.Time) bool
}

// Pacer gives the turns of hosts to one run, or to another user of the job's rules, inside the job's window.
// Safe for concurrent use.
type Pacer struct {
	hosts  Hosts
	p      fetch.Politeness
	window job.Window
	zone   *time.Location
	most   time.Duration // the longest wait of Turn
	now    func() time.Time

	Slot *RunSlot // of the run whose pacer it is; nil: waits keep no turn from others
}

// NewPacer returns the pacer of a job. p is the job's politeness.
func NewPacer(h Hosts, j *job.Job, p fetch.Politeness, now func() time.Time) (*Pacer, error) {
	w, err := job.ParseWindow(j.Window)
	if err != nil {
		return nil, fmt.Errorf("window: %w", err)
	}
	zone, err := j.Location(time.Local)
	if err != nil {
		return nil, fmt.Errorf("timezone: %w", err)
	}
	return &Pacer{
		hosts:  h,
		p:      p,
		window: w,
		zone:   zone,
		// what the job waits for, and any gap of politeness itself
		most: max(j.Polite.MaxWait, p.Delay, p.MaxDelay),
		now:  now,
	}, nil
}

// Acquire takes a turn of an origin's host. When it is not its turn, again says when to try next; a release
// may make it earlier. Outside of the window there are no turns: the run pauses, and continues where it was
// when the window opens.
func (g *Pacer) Acquire(origin string, now time.Time) (ok bool, again time.Time) {
	if g.Closed(now) {
		return false, g.window.Change(now.In(g.zone))
	}
	return g.hosts.Acquire(origin, g.p, now)
}

// Closed reports whether now is outside of the window.
func (g *Pacer) Closed(now time.Time) bool {
	return len(g.window) > 0 && !g.window.Open(now.In(g.zone))
}

// ClosedFor returns for how much of a time the window was closed.
func (g *Pacer) ClosedFor(from, to time.Time) (d time.Duration) {
	for len(g.window) > 0 && from.Before(to) {
		next := g.window.Change(from.In(g.zone))
		if next.After(to) || !next.After(from) {
			next = to
		}
		if g.Closed(from) {
			d += next.Sub(from)
		}
		from = next
	}
	return d
}

// TooLong reports whether the job does not wait for a turn until a time. It does outside of the window.
func (g *Pacer) TooLong(again, now time.Time) bool {
	return (again.Sub(now) > g.most) && !g.Closed(now)
}

// Turn waits for a turn of an origin's host and takes it, for a request that is not in a frontier. The error
// is fetch.ErrLongWait, at once, when the host asks for a longer wait than the job accepts; a pause outside
// of the window does not count. Any other error is that of ctx.
func (g *Pacer) Turn(ctx context.Context, origin string) error {
	return g.turn(ctx, origin, g.Acquire)
}

// TurnAnyway is Turn although the host may have asked to wait, for a request that finds out whether it still
// wants that. Lift ends the wait.
func (g *Pacer) TurnAnyway(ctx context.Context, origin string) error {
	return g.turn(ctx, origin, func(origin string, now time.Time) (bool, time.Time) {
		return g.hosts.AcquireAnyway(origin, g.p, now)
	})
}

// Lift ends the wait that a host asked for.
func (g *Pacer) Lift(host string) { g.hosts.Lift(host) }

func (g *Pacer) turn(
	ctx context.Context, origin string, acquire func(origin string, now time.Time) (bool, time.Time),
) error {
	for {
		at := g.now()
		ok, again := acquire(origin, at)
		if ok {
			return nil
		}
		p := pauseFor(g, origin, again, at)
		switch {
		case p.Why == status.ForWindow:
		case g.TooLong(again, at):
			return fetch.ErrLongWait
		}
		if err := g.Slot.Wait(ctx, p, at); err != nil {
			return err
		}
	}
}

// Release ends a turn of an origin's host and says what was observed in it.
func (g *Pacer) Release(origin string, o fetch.Observation) { g.hosts.Release(origin, g.p, g.now(), o) }

// Gap is the least time between two requests of an origin.
func (g *Pacer) Gap(origin string) time.Duration { return g.hosts.Gap(origin, g.p) }

// Held returns what keeps the job from an origin's host.
func (g *Pacer) Held(origin string, now time.Time) fetch.Hold { return g.hosts.Held(origin, g.p, now) }

// SetCrawlDelay takes the Crawl-delay of a host's robots.txt.
func (g *Pacer) SetCrawlDelay(host string, d time.Duration) { g.hosts.SetCrawlDelay(host, d) }

// Defer notes that a host asked an earlier run to be left alone until a time.
func (g *Pacer) Defer(host string, until time.Time) { g.hosts.Defer(host, until, g.now()) }

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
	hosts      Hosts
	politeness fetch.Politeness
	window     job.Window
	zone       *time.Location
	most       time.Duration // the longest wait of Turn
	now        func() time.Time

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
		hosts:      h,
		politeness: p,
		window:     w,
		zone:       zone,
		// what the job waits for, and any gap of politeness itself
		most: max(j.Polite.MaxWait, p.Delay, p.MaxDelay),
		now:  now,
	}, nil
}

// Acquire takes a turn of an origin's host. When it is not its turn, again says when to try next; a release
// may make it earlier. Outside of the window there are no turns: the run pauses, and continues where it was
// when the window opens.
func (p *Pacer) Acquire(origin string, now time.Time) (ok bool, again time.Time) {
	if p.Closed(now) {
		return false, p.window.Change(now.In(p.zone))
	}
	return p.hosts.Acquire(origin, p.politeness, now)
}

// Closed reports whether now is outside of the window.
func (p *Pacer) Closed(now time.Time) bool {
	return len(p.window) > 0 && !p.window.Open(now.In(p.zone))
}

// ClosedFor returns for how much of a time the window was closed.
func (p *Pacer) ClosedFor(from, to time.Time) (d time.Duration) {
	for len(p.window) > 0 && from.Before(to) {
		next := p.window.Change(from.In(p.zone))
		if next.After(to) || !next.After(from) {
			next = to
		}
		if p.Closed(from) {
			d += next.Sub(from)
		}
		from = next
	}
	return d
}

// TooLong reports whether the job does not wait for a turn until a time. It does outside of the window.
func (p *Pacer) TooLong(again, now time.Time) bool {
	return (again.Sub(now) > p.most) && !p.Closed(now)
}

// Turn waits for a turn of an origin's host and takes it, for a request that is not in a frontier. The error
// is fetch.ErrLongWait, at once, when the host asks for a longer wait than the job accepts; a pause outside
// of the window does not count. Any other error is that of ctx.
func (p *Pacer) Turn(ctx context.Context, origin string) error {
	return p.turn(ctx, origin, p.Acquire)
}

// TurnAnyway is Turn although the host may have asked to wait, for a request that finds out whether it still
// wants that. Lift ends the wait.
func (p *Pacer) TurnAnyway(ctx context.Context, origin string) error {
	return p.turn(ctx, origin, func(origin string, now time.Time) (bool, time.Time) {
		return p.hosts.AcquireAnyway(origin, p.politeness, now)
	})
}

// Lift ends the wait that a host asked for.
func (p *Pacer) Lift(host string) { p.hosts.Lift(host) }

func (p *Pacer) turn(
	ctx context.Context, origin string, acquire func(origin string, now time.Time) (bool, time.Time),
) error {
	for {
		at := p.now()
		ok, again := acquire(origin, at)
		if ok {
			return nil
		}
		pause := pauseFor(p, origin, again, at)
		switch {
		case pause.Why == status.ForWindow:
		case p.TooLong(again, at):
			return fetch.ErrLongWait
		}
		if err := p.Slot.Wait(ctx, pause, at); err != nil {
			return err
		}
	}
}

// Release ends a turn of an origin's host and says what was observed in it.
func (p *Pacer) Release(origin string, o fetch.Observation) {
	p.hosts.Release(origin, p.politeness, p.now(),
		o)
}

// Gap is the least time between two requests of an origin.
func (p *Pacer) Gap(origin string) time.Duration { return p.hosts.Gap(origin, p.politeness) }

// Held returns what keeps the job from an origin's host.
func (p *Pacer) Held(origin string, now time.Time) fetch.Hold {
	return p.hosts.Held(origin, p.politeness,
		now)
}

// SetCrawlDelay takes the Crawl-delay of a host's robots.txt.
func (p *Pacer) SetCrawlDelay(host string, d time.Duration) { p.hosts.SetCrawlDelay(host, d) }

// Defer notes that a host asked an earlier run to be left alone until a time.
func (p *Pacer) Defer(host string, until time.Time) { p.hosts.Defer(host, until, p.now()) }

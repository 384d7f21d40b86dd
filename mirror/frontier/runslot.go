// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"slices"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/internal/timed"
	"mirrord/scheduler/status"
)

// Pause is a wait of a run.
type Pause struct {
	Why   status.WaitFor // "" for none
	Host  string         // of ForHost and ForSlow
	Until time.Time      // zero: not known
	Hold  fetch.Hold     // of ForHost
}

// pauseFor returns the wait for a turn of an origin's host: until a time, at which to ask again.
func pauseFor(g turns, origin string, until, now time.Time) Pause {
	if g.Closed(now) {
		return Pause{Why: status.ForWindow, Until: until}
	}
	return Pause{
		Why:   status.ForHost,
		Host:  fetch.HostOf(origin),
		Until: until,
		Hold:  g.Held(origin, now),
	}
}

// wait returns the pause for the giver of turns.
func (p Pause) wait() status.Wait {
	w := status.Wait{For: p.Why, Host: p.Host}
	if p.Why == status.ForHost {
		w.Held, w.Behind, w.Gap = heldOf(p.Hold.Why), p.Hold.By, p.Hold.Gap
	}
	if !p.Until.IsZero() && w.Held != status.HeldBusy { // else the time is that of the next look
		w.Until = &p.Until
	}
	return w
}

// equal reports whether two pauses are the same.
func (p Pause) equal(q Pause) bool {
	a, b := p.Hold, q.Hold
	return p.Why == q.Why && p.Host == q.Host && p.Until.Equal(q.Until) && a.Why == b.Why && a.Gap == b.Gap &&
		slices.Equal(a.By, b.By)
}

func heldOf(why fetch.HoldReason) status.HeldFor {
	return map[fetch.HoldReason]status.HeldFor{
		fetch.HeldAsked:  status.HeldAsked,
		fetch.HeldFails:  status.HeldFails,
		fetch.HeldBusy:   status.HeldBusy,
		fetch.HeldWish:   status.HeldWish,
		fetch.HeldRobots: status.HeldRobots,
	}[why]
}

// SharedTurn is the turn of a run among the other runs of the process. The run has it when it begins. Its
// methods are called by one goroutine at a time.
type SharedTurn interface {
	// Yield gives the turn back. Without a turn it says what the run waits for now.
	Yield(w status.Wait)
	// Resume waits until the run has a turn. The error is that of ctx.
	Resume(ctx context.Context) error
	// Over reports whether the run should let others work. Safe for concurrent use.
	Over() bool
}

// RunSlot gives the turn of a run back while the run only waits, and takes it again when it can continue. A
// run waits when no URL can be requested
//
//   - for longer than shortPause, and nothing is under way; or
//   - for slowAfter, and the requests in progress transfer less than slowRate.
//
// Without a turn the frontier hands out nothing. Requests in progress continue, which are few. When others
// wait and the time of the run is over, it hands out nothing more, and gives the turn back when nothing is
// under way or drainMost has passed.
//
// A nil RunSlot is that of a run that has no turns. Safe for concurrent use.
type RunSlot struct {
	turn  SharedTurn
	front *Frontier
	now   func() time.Time
	moved func() int64 // see slowRate

	single sync.Mutex // held to give the turn back, by a stage or a single wait

	mu     sync.Mutex
	pause  Pause         // while the turn is given back
	since  time.Time     // of pause
	queued time.Duration // waits for a turn that have ended
}

const (
	lookEvery  = 250 * time.Millisecond
	shortPause = time.Second // a longer one is a wait
	slowAfter  = 3 * time.Second
	drainMost  = 30 * time.Second

	// slowRate is how much must move in a second for a run to work: bytes of bodies as they come, and
	// urlWorth for each URL that is done, whose answer may have no body.
	slowRate = 2 << 10
	urlWorth = 4 << 10
)

// NewRunSlot returns the slot of a run; nil without a turn. received is how many bytes of bodies have come up
// to now, done how many URLs are done. Both only grow.
func NewRunSlot(t SharedTurn, front *Frontier, now func() time.Time, received, done func() int64) *RunSlot {
	if t == nil {
		return nil
	}
	return &RunSlot{
		turn:  t,
		front: front,
		now:   now,
		moved: func() int64 { return received() + urlWorth*done() },
	}
}

// Pause returns what the run waits for while its turn is given back.
func (s *RunSlot) Pause() Pause {
	if s == nil {
		return Pause{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pause
}

// Queued returns for how long the run has waited for its turn up to now, while it could have worked.
func (s *RunSlot) Queued(now time.Time) time.Duration {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued + s.waited(now)
}

// waited is for how long the run has waited for its turn in its present pause. The caller holds s.mu.
func (s *RunSlot) waited(now time.Time) time.Duration {
	if s.pause.Why != status.ForTurn {
		return 0
	}
	return now.Sub(s.since)
}

// While runs work, which empties the frontier, and looks after the turn meanwhile. The run has its turn when
// While returns, unless ctx has ended.
func (s *RunSlot) While(ctx context.Context, work func()) {
	if s == nil {
		work()
		return
	}
	s.single.Lock()
	defer s.single.Unlock()
	looking, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	a := attendant{RunSlot: s}
	wg.Go(func() { a.attend(looking) })
	work()
	stop()
	wg.Wait()
	a.resume(ctx)
	s.front.Hold(false)
}

// Wait waits until p ends, for a request that is not in the frontier, and gives the turn back meanwhile when
// p is long. In a stage, whose attendant sees that nothing moves, it only waits. The error is that of ctx.
func (s *RunSlot) Wait(ctx context.Context, p Pause, now time.Time) error {
	wait := max(p.Until.Sub(now), time.Millisecond)
	if s == nil || wait <= shortPause || !s.single.TryLock() {
		return timed.Wait(ctx, wait)
	}
	defer s.single.Unlock()
	a := attendant{RunSlot: s}
	a.yield(p)
	a.away = true
	if err := timed.Wait(ctx, wait); err != nil {
		return err
	}
	return a.resume(ctx)
}

// attendant looks after the turn during one stage.
type attendant struct {
	*RunSlot
	away  bool      // the turn is given back
	drain time.Time // since when nothing is handed out, because others wait; zero: it is
	flow  flow
}

func (a *attendant) attend(ctx context.Context) {
	t := time.NewTimer(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			t.Reset(a.look(ctx))
		}
	}
}

// look does the work that is due, and returns when to look again.
func (a *attendant) look(ctx context.Context) time.Duration {
	now := a.now()
	can, p := a.front.Pause(now)
	if a.away {
		if can {
			if a.resume(ctx) == nil {
				a.front.Hold(false)
				a.drain = time.Time{}
			}
			return lookEvery
		}
		a.yield(p)
		return a.again(p, now)
	}
	slow := a.flow.slow(now, a.moved(), !can)
	switch {
	case !a.drain.IsZero():
		if p.Why == status.ForSlow && !slow && now.Sub(a.drain) < drainMost {
			return lookEvery
		}
		p = Pause{Why: status.ForTurn}
	case a.turn.Over():
		a.front.Hold(true)
		a.drain = now
		return 0
	case can, p.Why == "":
		return lookEvery
	case p.Why == status.ForSlow && !slow, p.Why != status.ForSlow && !slow && p.Until.Sub(now) <= shortPause:
		return lookEvery
	}
	a.front.Hold(true)
	a.yield(p)
	if a.away = true; !a.drain.IsZero() {
		return 0
	}
	return a.again(p, now)
}

// again is when to look again at a run without a turn.
func (a *attendant) again(p Pause, now time.Time) time.Duration {
	if p.Until.IsZero() {
		return lookEvery
	}
	return min(lookEvery, max(p.Until.Sub(now), time.Millisecond))
}

func (a *attendant) yield(p Pause) {
	if a.away && p.equal(a.Pause()) {
		return
	}
	a.setPause(p)
	a.turn.Yield(p.wait())
}

// resume takes the turn again.
func (a *attendant) resume(ctx context.Context) error {
	if !a.away {
		return nil
	}
	a.setPause(Pause{Why: status.ForTurn})
	if err := a.turn.Resume(ctx); err != nil {
		return err
	}
	a.setPause(Pause{})
	a.away, a.flow = false, flow{}
	return nil
}

func (s *RunSlot) setPause(p Pause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.queued += s.waited(now)
	s.pause, s.since = p, now
}

// flow judges whether the requests in progress make progress.
type flow struct {
	since time.Time // since when no URL could be requested; zero: one can
	moved int64     // at that time
}

// slow reports whether nothing could be requested for slowAfter and less than slowRate came meanwhile. moved
// only grows.
func (f *flow) slow(now time.Time, moved int64, stuck bool) bool {
	if !stuck || f.since.IsZero() {
		f.moved = moved
		if f.since = now; !stuck {
			f.since = time.Time{}
		}
		return false
	}
	d := now.Sub(f.since)
	if d < slowAfter {
		return false
	}
	if float64(moved-f.moved) < slowRate*d.Seconds() {
		return true
	}
	f.since, f.moved = now, moved
	return false
}

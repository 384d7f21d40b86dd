// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mirrord/scheduler/status"
)

// A run works in one of MaxRuns turns. A run that only waits gives its turn back and is parked: it keeps what
// it has in memory, and asks for a turn when it can continue. The run that worked least recently comes first,
// whether it begins or continues. Three rules keep anybody from waiting for ever:
//
//   - A run that has worked for slice gives way when another run waits for its turn.
//   - A run that hardly works (less than a fifth of the last minute) does not queue: it gets a short turn
//     beside the others, of shortTurn at most. At most MaxRuns short turns are held at a time. So a run that
//     makes one request in two seconds keeps its pace on a busy daemon, and costs the others nothing.
//   - When MaxRuns and MaxParked runs are under way, no other begins. Then a run that waits for its site ends
//     as partial when it began before patience, and one that waits for a turn when it began before unfair.
//     It continues later, from where it was. A run that a user started is left alone.
//
// A job for which a turn is all that is missing therefore waits for at most
// (jobs before it / MaxRuns + 1) * (slice + what a run takes to give way), see frontier.RunSlot.
const (
	slice     = 5 * time.Minute
	shortTurn = 10 * time.Second
	patience  = 10 * time.Minute
	unfair    = time.Hour

	useMemory = time.Minute // how long work counts against a short turn
	lightUse  = useMemory / 5
)

// holding is how a run stands towards the turns.
type holding uint8

const (
	parked     holding = iota // it waits for something else, and needs no turn
	wanting                   // it waits for a turn
	holdsTurn                 // it works
	holdsShort                // it works for a moment, beside the turns
)

func (h holding) works() bool { return h >= holdsTurn }

// standing is the state of the turn of one run.
type standing struct {
	how     holding
	since   time.Time     // of how
	over    atomic.Bool   // it works, and is to give way
	granted chan struct{} // closed when a run that wants a turn has one
	waits   status.Wait   // while it is parked
	used    time.Duration // work of the last useMemory, older work counting less
	counted time.Time     // up to when used is
}

// account updates used.
func (t *standing) account(now time.Time) {
	d := max(0, now.Sub(t.counted))
	faded := math.Exp(-float64(d) / float64(useMemory))
	t.used = time.Duration(float64(t.used) * faded)
	if t.how.works() {
		t.used += time.Duration(float64(useMemory) * (1 - faded))
	}
	t.counted = now
}

// RunTurn is the turn of one run. The run has one when it begins. Its methods are safe for concurrent use.
type RunTurn struct {
	s *Scheduler
	e *entry
	r *running
}

// Yield gives the turn back because the run waits; w says for what. A run without a turn only says what it
// waits for now.
func (t *RunTurn) Yield(w status.Wait) { t.s.yield(t.e, t.r, w) }

// Resume waits until the run has a turn. The error is that of ctx.
func (t *RunTurn) Resume(ctx context.Context) error {
	granted := t.s.want(t.e, t.r)
	if granted == nil {
		return nil
	}
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
		t.s.giveUp(t.e, t.r)
		return context.Cause(ctx)
	}
}

// Over reports whether others wait for the turn and the run has had it for long enough: it should give it
// back soon, and resume.
func (t *RunTurn) Over() bool { return t.r.over.Load() }

// turns are those of the runs under way.
type turns struct {
	most   int // Options.MaxRuns
	held   int
	shorts int // short ones that are held
	parked int // runs without a turn
	queued int // jobs that would work if there were a turn
	wake   waker
}

// running returns how many runs are under way.
func (s *turns) running() int { return s.held + s.shorts + s.parked }

// stand changes how a run stands towards the turns.
func (s *turns) stand(e *entry, r *running, how holding, now time.Time) {
	t := &r.standing
	t.account(now)
	s.count(t.how, -1)
	s.count(how, 1)
	if t.how.works() {
		e.worked = now
	}
	t.how, t.since = how, now
	t.over.Store(false)
}

func (s *turns) count(how holding, n int) {
	switch how {
	case holdsTurn:
		s.held += n
	case holdsShort:
		s.shorts += n
	default:
		s.parked += n
	}
}

// begin gives a run that starts its turn.
func (s *turns) begin(r *running, now time.Time) {
	r.how, r.since, r.counted = holdsTurn, now, now
	s.count(holdsTurn, 1)
}

// finish takes the turn of a run that has ended.
func (s *turns) finish(e *entry, r *running, now time.Time) {
	s.stand(e, r, parked, now)
	s.count(parked, -1)
	if r.cause == status.GaveWay {
		e.worked = now // others come first
	}
}

func (s *turns) yield(e *entry, r *running, w status.Wait, now time.Time) {
	if e.run != r {
		return // it has ended
	}
	if r.how.works() {
		if s.stand(e, r, parked, now); s.queued > 0 {
			s.wake.kick()
		}
	}
	if w.Since = known(r.since); w.Until != nil && e.zone != nil {
		until := w.Until.In(e.zone)
		w.Until = &until
	}
	r.waits = w
}

// want returns nil when the run has a turn now, else a channel that is closed when it has one.
func (s *turns) want(e *entry, r *running, now time.Time) <-chan struct{} {
	t := &r.standing
	t.account(now)
	switch {
	case t.how.works() || e.run != r:
		return nil
	case s.held < s.most && s.queued == 0:
		s.stand(e, r, holdsTurn, now)
		return nil
	case t.used < lightUse && s.shorts < s.most:
		s.stand(e, r, holdsShort, now)
		s.wake.kick()
		return nil
	case t.how != wanting:
		s.stand(e, r, wanting, now)
		t.granted = make(chan struct{})
	}
	s.wake.kick()
	return t.granted
}

// giveUp takes back that a run wants a turn.
func (s *turns) giveUp(e *entry, r *running, now time.Time) {
	if r.how == wanting {
		s.stand(e, r, parked, now)
	}
}

// queue orders the runs that want a turn: those that a user started and waits for, then who worked least
// recently, then who has waited longest.
func queue(list []*entry) {
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), a.worked.Compare(b.worked),
			a.wants().Compare(b.wants()), strings.Compare(a.name, b.name))
	})
}

// wants is since when a job wants a turn.
func (e *entry) wants() time.Time {
	if e.run != nil {
		return e.run.since
	}
	return e.due
}

// assign gives the turns that are free to those who want one, in the order of list, and returns the runs that
// begin. sooner takes the times at which to look again.
func (s *state) assign(list []*entry, now time.Time, sooner func(time.Time)) (runs []launch) {
	queue(list)
	var ahead []string
	for _, t := range turnsHeld(s.jobs) {
		ahead = append(ahead, t.Job)
	}
	tooMany := 0 // jobs that cannot begin because too many runs are parked
	s.turns.queued = 0
	for _, e := range list {
		full := s.turns.held >= s.MaxRuns
		crowded := e.run == nil && s.turns.running() >= s.MaxRuns+s.MaxParked
		switch {
		case full || crowded:
			if e.behind = slices.Clone(ahead); e.run == nil {
				e.activity = status.Waiting
			}
			if crowded {
				tooMany++
			} else {
				s.turns.queued++
			}
		case e.run != nil:
			s.turns.stand(e, e.run, holdsTurn, now)
			close(e.run.granted)
		default:
			runs = append(runs, s.start(e, now))
		}
		ahead = append(ahead, e.name)
	}
	s.turns.end(s.jobs, now, sooner)
	makeRoom(s.jobs, tooMany, now, sooner)
	return runs
}

// turnsHeld returns which of the jobs have which turn, longest first.
func turnsHeld(jobs map[string]*entry) []status.TurnHeld {
	var out []status.TurnHeld
	for _, e := range jobs {
		if e.run != nil && e.run.how.works() {
			out = append(out, status.TurnHeld{
				Job:   e.name,
				Since: e.run.since,
				Short: e.run.how == holdsShort,
			})
		}
	}
	slices.SortFunc(out, func(a, b status.TurnHeld) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Job, b.Job))
	})
	return out
}

// end tells runs to give way: as many as there are who wait, those that have worked longest, and those
// whose short turn was too short for what they do.
func (s *turns) end(jobs map[string]*entry, now time.Time, sooner func(time.Time)) {
	giveWay := s.queued
	for _, h := range turnsHeld(jobs) {
		e := jobs[h.Job]
		t := &e.run.standing
		end := t.since.Add(slice)
		switch {
		case h.Short && s.held < s.most && s.queued == 0:
			if t.since.Add(shortTurn).After(now) {
				sooner(t.since.Add(shortTurn))
			} else {
				s.stand(e, e.run, holdsTurn, now)
			}
			continue
		case h.Short:
			end = t.since.Add(shortTurn)
		case giveWay == 0:
			continue
		default:
			giveWay--
		}
		if end.After(now) {
			sooner(end)
		} else {
			t.over.Store(true)
		}
	}
}

// makeRoom ends runs that only wait when so many jobs cannot begin because too many do.
func makeRoom(jobs map[string]*entry, need int, now time.Time, sooner func(time.Time)) {
	var waiting []*entry
	for _, e := range jobs {
		switch {
		case e.run == nil:
		case e.run.cause != status.ByItself:
			need--
		case !e.run.how.works() && len(e.run.tickets) == 0:
			waiting = append(waiting, e)
		}
	}
	slices.SortFunc(waiting, func(a, b *entry) int { return a.run.leaves().Compare(b.run.leaves()) })
	for _, e := range waiting[:min(len(waiting), max(need, 0))] {
		if at := e.run.leaves(); at.After(now) {
			sooner(at)
		} else {
			e.end(status.GaveWay)
		}
	}
}

// leaves is when a run that waits gives its place to others.
func (r *running) leaves() time.Time {
	if r.how == wanting {
		return r.started.Add(unfair)
	}
	return r.started.Add(patience)
}

// waits says what a job waits for; nil when for nothing.
func (e *entry) waits() *status.Wait {
	var w status.Wait
	switch {
	case e.run != nil && e.run.how == parked:
		w = e.run.waits
	case e.run != nil && e.run.how == wanting:
		w = status.Wait{For: status.ForTurn, Since: known(e.run.since), Behind: e.behind}
	case e.run != nil:
		return e.run.progress.Load().Held()
	case e.activity == status.Waiting:
		w = status.Wait{For: status.ForTurn, Since: known(e.due), Behind: e.behind}
	case e.activity == status.Window:
		w = status.Wait{For: status.ForWindow, Since: known(e.due), Until: known(e.held)}
	case e.activity == status.NoRoom:
		w = status.Wait{For: status.ForRoom, Since: known(e.due)}
	default:
		return nil
	}
	return &w
}

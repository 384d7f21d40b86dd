// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// Errors of requests.
var (
	ErrNoJob   = errors.New("no such job")
	ErrRunning = errors.New("a run is under way")
	ErrNothing = errors.New("there is nothing to do")
	ErrRefused = errors.New("its file is refused")
)

// RunNowOptions are the choices of a run by hand.
type RunNowOptions struct {
	Accept bool     // publish what a run held back, and make its gaps known
	Keep   bool     // of Accept: keep what the site no longer has
	Job    *job.Job // run this instead of the job in force; of the same name
}

// Ticket is the interest of a client in one run.
type Ticket struct {
	RunNowOptions
	asked time.Time
	clock Clock // of o.Job
	done  chan struct{}
	run   status.Run
	err   error
}

// Done is closed when the run has ended, or will not come.
func (t *Ticket) Done() <-chan struct{} { return t.done }

// Result returns how the run ended; the error says why there was none. Only after Done.
func (t *Ticket) Result() (status.Run, error) { return t.run, t.err }

func (t *Ticket) finish(run status.Run, err error) {
	t.run, t.err = run, err
	close(t.done)
}

// refuse lets those who wait for a run that will not come know.
func (e *entry) refuse(err error) {
	if e.manual != nil {
		e.manual.finish(status.Run{}, err)
		e.manual = nil
	}
}

func (s *state) find(name string) (*entry, error) {
	e := s.jobs[name]
	if e == nil || e.cfg == nil {
		if near := job.Nearest(name, s.config.names()); near != "" {
			return nil, fmt.Errorf("job %s: %w; did you mean %s?", name, ErrNoJob, near)
		}
		return nil, fmt.Errorf("job %s: %w", name, ErrNoJob)
	}
	return e, nil
}

func (s *state) runNow(name string, o RunNowOptions) (t *Ticket, attached bool, err error) {
	e, err := s.find(name)
	switch {
	case err != nil:
		return nil, false, err
	case s.ending:
		return nil, false, fmt.Errorf("run %s: the daemon is ending", name)
	case e.job() == nil:
		return nil, false, fmt.Errorf("run %s: %w: %s", name, ErrRefused, strings.Join(e.cfg.Refused, "; "))
	}
	t = &Ticket{RunNowOptions: o, asked: s.Now(), done: make(chan struct{})}
	if o.Job != nil {
		if t.clock, err = NewClock(o.Job, s.Local, s.Spread); err != nil {
			return nil, false, err
		}
	}
	plain := o == RunNowOptions{}
	switch {
	case e.run != nil && e.run.cause == status.ByItself && plain:
		e.run.tickets = append(e.run.tickets, t)
		return t, true, nil
	case e.manual != nil && plain:
		return e.manual, true, nil
	case e.manual != nil && e.run == nil && e.manual.RunNowOptions == (RunNowOptions{}) && !o.Accept:
		// it waits, maybe for what this one does not wait for
		e.manual.RunNowOptions, e.manual.clock = o, t.clock
		s.wake.kick()
		return e.manual, true, nil
	case (e.run != nil && e.run.cause == status.ByItself) || e.manual != nil: // one that is ending is waited for
		return nil, false, fmt.Errorf("run %s: %w", name, ErrRunning)
	}
	e.manual = t
	s.wake.kick()
	return t, false, nil
}

func (s *state) cancel(name string) error {
	e, err := s.find(name)
	if err != nil {
		return err
	}
	switch {
	case e.run != nil:
		e.end(status.Cancelled)
		if e.run.cause != status.Cancelled {
			e.run.cause = status.Cancelled // it was ending already, to continue later
		}
		e.refuse(fmt.Errorf("run %s: cancelled", name))
	case e.manual != nil || e.Resume || !e.Retry.IsZero() || !e.Again.IsZero():
		e.refuse(fmt.Errorf("run %s: cancelled", name))
		e.Resume, e.Retry, e.Again, e.dirty = false, time.Time{}, time.Time{}, true
	case !e.due.IsZero() && !e.due.After(s.Now()):
		if now := s.Now(); !e.serve(now) && e.Continuous() {
			e.At, e.dirty = now.Add(e.job().MinInterval), true
		}
	default:
		return fmt.Errorf("cancel %s: %w: no run is under way or waits", name, ErrNothing)
	}
	return s.ordered("cancel", name)
}

// noted records a run that was made without the scheduler, unless it is known.
func (s *state) noted(name string, run status.Run) {
	e := s.jobs[name] // not find, which looks for the name that was meant: mirrors may have no job
	if e == nil || e.cfg == nil || e.run != nil {
		return
	}
	if e.Last != nil && !run.Ended.After(e.Last.Ended) {
		return
	}
	e.Note(run)
	e.dirty = true
	s.save()
	s.wake.kick()
}

func (s *state) pause(name string) error {
	e, err := s.find(name)
	if err != nil {
		return err
	}
	if e.Paused {
		return fmt.Errorf("pause %s: %w: it is paused", name, ErrNothing)
	}
	e.Paused, e.dirty = true, true
	if e.run != nil {
		e.end(status.PausedRun)
	}
	return s.ordered("pause", name)
}

func (s *state) resume(name string) error {
	e, err := s.find(name)
	if err != nil {
		return err
	}
	if !e.Paused {
		return fmt.Errorf("resume %s: %w: it is not paused", name, ErrNothing)
	}
	e.Paused, e.dirty = false, true
	if e.activity == status.Paused { // status is right at once
		e.activity = ""
	}
	return s.ordered("resume", name)
}

func (s *state) job(name string) (status.Job, error) {
	e, err := s.find(name)
	if err != nil {
		return status.Job{}, err
	}
	now := s.Now()
	s.fresh(e)
	return e.status(now), nil
}

// fresh updates the plan of a job before it is read.
func (s *state) fresh(e *entry) {
	if e.run == nil && s.ready {
		e.plan()
	}
}

func (s *state) wanted(name string) (*job.Job, error) {
	e, err := s.find(name)
	if err != nil {
		return nil, err
	}
	if e.job() == nil {
		return nil, fmt.Errorf("job %s: %w: %s", name, ErrRefused, strings.Join(e.cfg.Refused, "; "))
	}
	return e.job(), nil
}

func (s *state) status() status.All {
	now := s.Now()
	all := status.All{Jobs: make([]status.Job, 0, len(s.jobs)), Daemon: status.Daemon{
		Running:   s.turns.running(),
		MaxRuns:   s.MaxRuns,
		Parked:    s.turns.parked,
		MaxParked: s.MaxParked,
		Turns:     turnsHeld(s.jobs),
		Ready:     s.ready,
		Ending:    s.ending,
		Reloaded:  known(s.reloaded),
		Problem:   s.problem,
		Runs:      s.counts,
	}}
	for _, e := range s.jobs {
		s.fresh(e)
		all.Jobs = append(all.Jobs, e.status(now))
	}
	status.SortJobs(all.Jobs)
	if s.Free != nil {
		if n, err := s.Free(); err == nil {
			all.Daemon.Free = n
		}
	}
	return all
}

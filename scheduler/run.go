// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// Runner makes runs. It is called from several goroutines, never for one job twice at a time.
type Runner interface {
	// Run makes one run of a job and returns how it ended. When ctx ends the run has to end soon, in a state
	// from which it can continue.
	Run(ctx context.Context, j *job.Job, o RunOptions) status.Run
}

// RunOptions are the choices of one run beyond its job.
type RunOptions struct {
	Accept   bool                  // publish what a run held back, make its gaps known; ask for nothing
	Keep     bool                  // of Accept: keep what the site no longer has
	ByHand   bool                  // a client waits for it
	Again    bool                  // request only what answered 404 or 410 for the first time
	Progress func(status.Progress) // called a few times a second, never twice at a time
	Turn     *RunTurn              // to be given back while the run only waits; nil: it has no turns
}

// running is a run under way.
type running struct {
	job      *job.Job
	clock    Clock // with the window that held when it started
	started  time.Time
	cancel   context.CancelCauseFunc
	cause    status.Cause // why it was told to end; ByItself: it was not
	progress atomic.Pointer[status.Progress]
	standing
	accept  bool
	resumed bool // it continues one that was interrupted
	removed bool // its file went; cause is Cancelled
	back    bool // and came back
	tickets []*Ticket
	again   time.Time // of a second look that is due and that the run does not make
}

// tend looks after a run under way, and returns when its window closes; zero when that is not soon.
func (s *state) tend(e *entry, now time.Time) (closes time.Time) {
	s.overrun(e, e.run, now)
	if e.run.cause != status.ByItself || e.run.accept {
		return time.Time{}
	}
	if e.run.clock.Open(now) {
		if !e.run.clock.Open(now.Add(tick)) {
			closes = e.run.clock.Closes(now)
		}
		return closes
	}
	if p := e.run.progress.Load(); p == nil || p.Phase == status.Retrieving {
		e.end(status.OutOfHours)
	}
	return time.Time{}
}

// overrun counts and leaves out what came due during a run.
func (s *state) overrun(e *entry, r *running, now time.Time) {
	if e.serve(now) {
		s.counts.Skipped++
		s.log.Warn("still running when the next run was due", "job", e.name, "started", r.started)
	}
}

// launch is a run that is to be made.
type launch struct {
	e   *entry
	r   *running
	ctx context.Context
	o   RunOptions
}

// start notes that a run of a job which is due starts.
func (s *state) start(e *entry, now time.Time) launch {
	j, o := e.job(), RunOptions{}
	r := &running{started: now, clock: e.Clock}
	if t := e.manual; t != nil {
		o.Accept, o.Keep, e.manual = t.Accept, t.Keep, nil
		if t.Job != nil {
			j, r.clock = t.Job, t.clock
		}
		r.tickets = append(r.tickets, t)
	}
	o.ByHand = len(r.tickets) > 0
	r.job, r.accept, r.resumed = j, o.Accept, e.Resume
	served := e.serve(now)
	if e.why == whyFirst && e.Interval() {
		e.Served = now // an interval counts from this start
	}
	e.empty = false
	if o.Accept || len(j.Only) > 0 {
		r.again = e.Again
	}
	if served || o.ByHand || (e.Continuous() && !e.At.After(now)) { // it requests them with all others
		e.Again = time.Time{}
	}
	if o.Again = !e.Again.IsZero(); !o.Again {
		e.At = time.Time{}
	}
	e.Running, e.Resume, e.Retry, e.dirty = now, false, time.Time{}, true
	if e.Began.IsZero() {
		e.Began = now
	}
	why := e.why
	e.run = r
	s.turns.begin(r, now)
	s.counts.Started++
	// before the first request: after kill -9 the schedule must not be served twice, and the run must continue
	s.save()
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel = cancel
	o.Progress = func(p status.Progress) { r.progress.Store(&p) }
	s.log.Info("run started", "job", e.name, "why", why)
	return launch{e, r, ctx, o}
}

// safely keeps what goes wrong in one run from ending all others.
func (s *Scheduler) safely(l launch) (run status.Run) {
	started := s.Now()
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("run panicked", "job", l.r.job.Name, "panic", p, "stack", string(debug.Stack()))
			run = status.Run{
				Started: started,
				Ended:   s.Now(),
				Verdict: status.VerdictError,
				Error:   fmt.Sprintf("this is a fault of mirrord: %v", p),
			}
		}
	}()
	return s.Runner.Run(l.ctx, l.r.job, l.o)
}

// end tells the run of a job to end.
func (e *entry) end(why status.Cause) {
	if e.run.cause == status.ByItself {
		e.run.cause = why
		e.run.cancel(endedFor(why))
	}
}

// endedFor is the cause of a run's context.
type endedFor status.Cause

func (e endedFor) Error() string {
	switch status.Cause(e) {
	case status.Shutdown:
		return "the daemon was told to end"
	case status.PausedRun:
		return "paused"
	case status.OutOfHours:
		return "the window closed"
	case status.GaveWay:
		return "it only waited, and others could not start"
	}
	return string(e)
}

// ended takes in how a run ended.
func (s *state) ended(e *entry, r *running, run status.Run) {
	if !run.Finished() && run.Verdict != status.VerdictSuspicious && run.Cause == status.ByItself {
		run.Cause = r.cause
	}
	run.Ended = s.Now() // one clock for all that follows from it
	if run.Started.IsZero() || run.Started.After(run.Ended) {
		run.Started = r.started
	}
	s.turns.finish(e, r, run.Ended)
	e.run = nil
	s.overrun(e, r, run.Ended)
	e.ended(r.job, e.Clock, run)
	if e.Again.IsZero() {
		e.Again = r.again
	}
	if (r.back && run.Cause == status.Cancelled) || (r.resumed && run.Cause == status.Busy) {
		e.Resume = true
	}
	e.dirty = true
	switch run.Verdict {
	case status.VerdictComplete:
		s.counts.Complete++
	case status.VerdictGaps:
		s.counts.Gaps++
	case status.VerdictPartial:
		s.counts.Partial++
	case status.VerdictSuspicious:
		s.counts.Suspicious++
	default:
		s.counts.Failed++
	}
	level := slog.LevelInfo
	if !run.Complete() && run.Cause == status.ByItself {
		level = slog.LevelWarn
	}
	s.log.Log(context.Background(), level, "run ended", "job", e.name, "verdict", run.Verdict, "cause",
		string(run.Cause), "reasons", strings.Join(run.Reasons, "; "), "gaps", run.Gaps, "err", run.Error,
		"requests", run.Requests, "first_gone", run.FirstGone, "received", run.Received,
		"published", run.Published, "took", run.Ended.Sub(run.Started).Round(time.Millisecond))
	s.consider(e, run.Ended)
	for _, t := range r.tickets {
		t.finish(run, nil)
	}
	if e.cfg == nil {
		s.drop()
	}
	s.save()
	s.wake.kick()
}

// consider tells about a job when there is something to tell.
func (s *state) consider(e *entry, now time.Time) {
	j := e.job()
	if s.Teller == nil || j == nil || (e.Last == nil && j.Notify.StaleAfter == 0) {
		return
	}
	if (e.Last == nil || e.Last.Complete()) && !e.Told.Open() && j.Notify.StaleAfter == 0 {
		return
	}
	if !s.Teller.HasReceiver(j) {
		return
	}
	s.fresh(e) // a message says when the next run is
	st := e.status(now)
	kind := e.Told.Tell(&st, now)
	if kind == "" {
		return
	}
	e.Told, e.dirty = status.Told{Kind: kind, At: now, Lasting: st.LastingTrouble()}, true
	s.Teller.Tell(kind, j, st)
}

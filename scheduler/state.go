// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// state holds what a scheduler knows, and decides what happens to jobs. It starts no goroutine and has no
// lock: Scheduler calls its methods one at a time. Those in request.go are the methods of Scheduler of the
// same names.
type state struct {
	Options
	log  *slog.Logger
	wake waker

	config   Config
	jobs     map[string]*entry
	turns    turns
	room     roomWait
	ready    bool
	ending   bool
	counts   status.Counts
	reloaded time.Time
	problem  string
}

// newState returns what the store remembers.
func newState(o Options, wake chan<- struct{}) (*state, error) {
	s := &state{
		Options: o,
		log:     o.Log,
		wake:    wake,
		config:  Config{},
		jobs:    map[string]*entry{},
		turns:   turns{most: o.MaxRuns, wake: wake},
	}
	records, err := o.Store.LoadRecords()
	if err != nil {
		return nil, fmt.Errorf("start scheduler: %w", err)
	}
	now := o.Now()
	for name, rec := range records {
		s.jobs[name] = s.remembered(name, rec, now)
		if j, err := job.Parse(name, name+Suffix, []byte(rec.Text)); err == nil && rec.Text != "" {
			s.config[name] = &Entry{
				Name:    name,
				Job:     j,
				Text:    []byte(rec.Text),
				targets: targets(j),
			}
		}
	}
	return s, nil
}

// remembered is a job with its record.
func (s *state) remembered(name string, rec Record, now time.Time) *entry {
	e := &entry{name: name, Record: rec, seen: now}
	if rec.Last != nil {
		e.worked = rec.Last.Ended
	}
	if !rec.Running.IsZero() {
		e.killed(now)
		e.dirty = true
		s.log.Warn("the last daemon was killed during a run", "job", name)
	}
	if e.hasLasting() { // a new environment may be what was missing
		e.Retry = now
	}
	return e
}

// retryLasting tries again what another run would have met again, and returns the jobs: a user may have
// solved it where no process notices, such as at the site, in the name service or in a file of a secret.
func (s *state) retryLasting() (names []string) {
	now := s.Now()
	for name, e := range s.jobs {
		if (e.job() == nil) || (e.run != nil) || !e.hasLasting() || e.Manual() {
			continue
		}
		e.Retry, e.dirty = now, true
		names = append(names, name)
	}
	if len(names) > 0 {
		s.save()
		s.wake.kick()
	}
	slices.Sort(names)
	return names
}

// newcomers returns the jobs of a configuration that are not known yet. What the store has of them counts: a
// job that was renamed keeps its record.
func (s *state) newcomers(c Config, now time.Time) map[string]*entry {
	out := map[string]*entry{}
	for name := range c {
		if s.jobs[name] == nil {
			out[name] = nil
		}
	}
	if len(out) == 0 {
		return out
	}
	records, err := s.Store.LoadRecords()
	if err != nil {
		s.log.Error("records of new jobs could not be read; starting with empty ones", "err", err)
	}
	for name := range out {
		out[name] = s.remembered(name, records[name], now)
	}
	return out
}

// apply puts a configuration in force and returns what it changed.
func (s *state) apply(c Config) []status.Change {
	now := s.Now()
	changes := Diff(s.config, c)
	maps.Copy(s.jobs, s.newcomers(c, now))
	for name, cfg := range c {
		e := s.jobs[name]
		if e.run != nil && e.run.removed {
			e.run.back = true
		}
		same := e.cfg != nil && e.cfg.Job == cfg.Job
		if e.cfg = cfg; same {
			continue
		}
		if cfg.Job == nil { // refused, and there is no good version
			if e.run != nil {
				e.end(status.Cancelled)
			}
			e.refuse(fmt.Errorf("job %s: %w: %s", name, ErrRefused, strings.Join(cfg.Refused, "; ")))
			continue
		}
		clock, err := NewClock(cfg.Job, s.Local, s.Spread)
		if err != nil { // job.Parse has checked it
			s.log.Error("job left out", "job", name, "err", err)
			continue
		}
		e.adopt(cfg, clock, now)
		e.empty = e.run == nil && s.Empty(name)
	}
	for name, e := range s.jobs {
		if c[name] != nil {
			continue
		}
		if e.cfg = nil; e.run != nil {
			e.run.removed, e.run.back = e.run.cause == status.ByItself || e.run.removed, false
			e.end(status.Cancelled)
		}
		e.refuse(fmt.Errorf("job %s was removed", name))
	}
	first := s.reloaded.IsZero()
	s.config, s.ready, s.reloaded, s.problem = c, true, now, ""
	s.drop()
	s.save()
	s.wake.kick()
	if first {
		s.log.Info("jobs read", "jobs", len(c))
	}
	for _, ch := range changes {
		level := slog.LevelInfo
		switch {
		case ch.Kind == Refused:
			level = slog.LevelWarn
		case first:
			level = slog.LevelDebug
		}
		s.log.Log(context.Background(), level, "job "+string(ch.Kind), "job", ch.Job, "problems",
			strings.Join(ch.Problems, "; "))
		if ch.Kind == Added || ch.Kind == Changed {
			warnOldKeys(s.log, c[ch.Job].Job)
		}
	}
	return changes
}

// warnOldKeys logs the old keys of a job.
func warnOldKeys(log *slog.Logger, j *job.Job) {
	for _, w := range j.OldKeys() {
		log.Warn("old key in job file", "job", j.Name, "err", w.Error())
	}
}

// setProblem notes that the jobs directory cannot be read as a whole; "" takes it back.
func (s *state) setProblem(what string) {
	if s.problem != what && what != "" {
		s.log.Error("jobs directory", "err", what)
	}
	if s.problem = what; what != "" && !s.ready { // what the last process left is better than nothing
		now := s.Now()
		for name, cfg := range s.config {
			if clock, err := NewClock(cfg.Job, s.Local, s.Spread); err == nil {
				s.jobs[name].adopt(cfg, clock, now)
				s.jobs[name].empty = s.Empty(name)
			}
		}
		s.ready = true
		s.wake.kick()
	}
}

// drop forgets jobs whose files are gone and that do not run.
func (s *state) drop() {
	gone := map[string]*Record{}
	for name, e := range s.jobs {
		if e.cfg == nil && e.run == nil {
			gone[name] = nil
		}
	}
	if len(gone) == 0 {
		return
	}
	if err := s.Store.SaveRecords(gone); err != nil {
		s.log.Error("records of removed jobs could not be removed", "err", err)
		return // tried again with the next change
	}
	for name := range gone {
		delete(s.jobs, name)
	}
}

// save writes what has changed. What cannot be written is logged, and tried again at the next look.
func (s *state) save() error {
	changed := map[string]*Record{}
	for name, e := range s.jobs {
		if e.dirty && e.cfg != nil {
			changed[name] = &e.Record
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := s.Store.SaveRecords(changed); err != nil {
		s.log.Error("records could not be saved", "err", err)
		return err
	}
	for name := range changed {
		s.jobs[name].dirty = false
	}
	return nil
}

// ordered stores the request of a user, which is in force already.
func (s *state) ordered(what, name string) error {
	err := s.save()
	s.wake.kick()
	if err != nil {
		return fmt.Errorf("%s %s: it is in force, but was not stored, and a daemon that is started again does not "+
			"know it; the daemon stores it as soon as it can: %w", what, name, err)
	}
	return nil
}

// waker lets the scheduler look again.
type waker chan<- struct{}

func (w waker) kick() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// stop tells all runs to end, and lets none start.
func (s *state) stop() {
	s.ending = true
	for _, e := range s.jobs {
		if e.run != nil {
			e.end(status.Shutdown)
		}
		e.refuse(errors.New("the daemon is ending"))
	}
	s.save()
}

// look decides what starts, and when to look again. The caller makes the runs.
func (s *state) look() (runs []launch, wait time.Duration) {
	now := s.Now()
	if !s.ready || s.ending {
		return nil, tick
	}
	next := now.Add(tick)
	sooner := func(t time.Time) {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	free := sync.OnceValue(s.free)
	var want []*entry // a turn
	var roomless []*entry
	for _, e := range s.jobs {
		if e.sane(now) {
			s.log.Warn("the clock went back; times of this job were corrected", "job", e.name)
		}
		s.consider(e, now)
		if e.run != nil {
			sooner(s.tend(e, now))
			if e.run.how == wanting {
				want = append(want, e)
			}
			continue
		}
		if e.plan(); e.why == whyFirst && !s.Empty(e.name) { // a version was made meanwhile
			e.empty = false
			e.plan()
		}
		e.activity, e.held = "", time.Time{}
		switch {
		case e.Paused && e.manual == nil:
			e.activity = status.Paused
		case e.due.IsZero():
		case e.due.After(now):
			sooner(e.due)
		default:
			if e.activity, e.held = e.hold(now, free); e.activity != "" {
				if e.activity == status.NoRoom {
					roomless = append(roomless, e)
				}
				sooner(e.held)
				continue
			}
			want = append(want, e)
		}
	}
	s.room.note(s, roomless, now)
	runs = s.assign(want, now, sooner)
	s.save()
	return runs, max(time.Millisecond, next.Sub(now))
}

// rankOf lets runs for which a client waits come first.
func rankOf(e *entry) int {
	if e.manual != nil && e.run == nil {
		return 0
	}
	return 1
}

func (s *state) free() int64 {
	if s.Free == nil {
		return math.MaxInt64
	}
	n, err := s.Free()
	if err != nil {
		s.log.Error("room on the disk", "err", err)
		return math.MaxInt64 // the run finds out
	}
	return n
}

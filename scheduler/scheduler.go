// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/job"
	"mirrord/status"
)

// Teller tells people about jobs. It is called with the scheduler locked, so it must not wait or call the
// scheduler: what takes time is done later.
type Teller interface {
	// HasReceiver reports whether a job names anybody to tell. What is to be told of a job without receivers is
	// not recorded as told.
	HasReceiver(j *job.Job) bool

	// Tell takes a message for all receivers of a job. It is called for jobs that have some.
	Tell(kind status.Kind, j *job.Job, s status.Job)
}

// Options say how jobs are scheduled. Runner and Store are needed.
type Options struct {
	Runner Runner
	Store  Store
	Teller Teller                // default: nobody is told
	Free   func() (int64, error) // bytes left on the disk of the mirrors; default: enough

	MaxRuns    int            // at a time; default 4
	Spread     time.Duration  // see NewClock
	StopWithin time.Duration  // how long the runs have to end when the daemon is told to; default 25 s
	Local      *time.Location // of jobs that name no zone; default time.Local
	Now        func() time.Time
	Log        *slog.Logger // default none
}

// Scheduler runs jobs. Its methods are safe for concurrent use.
type Scheduler struct {
	o   Options
	log *slog.Logger

	wake chan struct{} // size 1: one call is enough, however many asked for it

	mu       sync.Mutex
	config   Config
	jobs     map[string]*entry
	running  int
	ready    bool
	ending   bool
	counts   status.Counts
	reloaded time.Time
	problem  string
	runs     sync.WaitGroup

	looked atomic.Pointer[time.Time] // when the loop last came around
}

// tick is the longest time between two looks at all jobs: what a clock that jumps, or a disk that fills,
// costs at most.
const tick = time.Minute

// New returns a scheduler with what its store remembers. Nothing runs before Run, and no job is known before
// Apply.
func New(o Options) (*Scheduler, error) {
	if o.MaxRuns <= 0 {
		o.MaxRuns = 4
	}
	if o.StopWithin <= 0 {
		o.StopWithin = 25 * time.Second
	}
	if o.Local == nil {
		o.Local = time.Local
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	given := o.Now
	// the wall clock only: by the monotonic one a clock that is set would not be seen
	o.Now = func() time.Time { return given().Round(0) }
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Scheduler{
		o:      o,
		log:    o.Log,
		wake:   make(chan struct{}, 1),
		config: Config{},
		jobs:   map[string]*entry{},
	}
	records, err := o.Store.LoadRecords()
	if err != nil {
		return nil, fmt.Errorf("start scheduler: %w", err)
	}
	now := o.Now()
	for name, rec := range records {
		e := &entry{name: name, rec: rec, seen: now}
		if !rec.Running.IsZero() {
			e.rec.killed(now)
			e.dirty = true
			s.log.Warn("the last daemon was killed during a run", "job", name)
		}
		s.jobs[name] = e
		if j, err := job.Parse(name, name+Suffix, []byte(rec.Text)); err == nil && rec.Text != "" {
			s.config[name] = &Entry{Name: name, Job: j, Text: []byte(rec.Text)}
		}
	}
	return s, nil
}

// Config returns the configuration in force: at first what the last process left.
func (s *Scheduler) Config() Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// Apply puts a configuration in force and returns what it changed. Jobs in which nothing changed are not
// touched.
func (s *Scheduler) Apply(c Config) []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	changes := Diff(s.config, c)
	for name, cfg := range c {
		e := s.jobs[name]
		if e == nil {
			e = &entry{name: name, seen: now}
			s.jobs[name] = e
		}
		if e.run != nil && e.run.removed {
			e.run.back = true
		}
		same := e.cfg != nil && e.cfg.Job == cfg.Job
		if e.cfg = cfg; same {
			continue
		}
		if cfg.Job == nil { // refused, and there is no good version
			if e.run != nil {
				s.end(e, status.Cancelled)
			}
			e.refuse(fmt.Errorf("job %s: %w: %s", name, ErrRefused, strings.Join(cfg.Refused, "; ")))
			continue
		}
		clock, err := NewClock(cfg.Job, s.o.Local, s.o.Spread)
		if err != nil { // job.Parse has checked it
			s.log.Error("job left out", "job", name, "err", err)
			continue
		}
		e.adopt(cfg, clock, now)
	}
	for name, e := range s.jobs {
		if c[name] != nil {
			continue
		}
		if e.cfg = nil; e.run != nil {
			e.run.removed, e.run.back = e.run.cause == status.ByItself || e.run.removed, false
			s.end(e, status.Cancelled)
		}
		e.refuse(fmt.Errorf("job %s was removed", name))
	}
	first := s.reloaded.IsZero()
	s.config, s.ready, s.reloaded, s.problem = c, true, now, ""
	s.drop()
	s.save()
	s.kick()
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
	}
	return changes
}

// Problem notes that the jobs directory cannot be read as a whole; the jobs that are in force go on. "" takes
// it back.
func (s *Scheduler) Problem(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problem != what && what != "" {
		s.log.Error("jobs directory", "err", what)
	}
	if s.problem = what; what != "" && !s.ready { // what the last process left is better than nothing
		now := s.o.Now()
		for name, cfg := range s.config {
			if clock, err := NewClock(cfg.Job, s.o.Local, s.o.Spread); err == nil {
				s.jobs[name].adopt(cfg, clock, now)
			}
		}
		s.ready = true
		s.kick()
	}
}

// drop forgets jobs whose files are gone and that do not run.
func (s *Scheduler) drop() {
	gone := map[string]*Record{}
	for name, e := range s.jobs {
		if e.cfg == nil && e.run == nil {
			gone[name] = nil
		}
	}
	if len(gone) == 0 {
		return
	}
	if err := s.o.Store.SaveRecords(gone); err != nil {
		s.log.Error("records of removed jobs could not be removed", "err", err)
		return // tried again with the next change
	}
	for name := range gone {
		delete(s.jobs, name)
	}
}

// save writes what has changed. What cannot be written is tried again at the next look.
func (s *Scheduler) save() {
	changed := map[string]*Record{}
	for name, e := range s.jobs {
		if e.dirty && e.cfg != nil {
			changed[name] = &e.rec
		}
	}
	if len(changed) == 0 {
		return
	}
	if err := s.o.Store.SaveRecords(changed); err != nil {
		s.log.Error("records could not be saved", "err", err)
		return
	}
	for name := range changed {
		s.jobs[name].dirty = false
	}
}

func (s *Scheduler) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run starts jobs at their times until ctx ends; then it ends the runs under way and waits for them, but no
// longer than StopWithin. It is called once.
func (s *Scheduler) Run(ctx context.Context) error {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.stop()
		case <-t.C:
		case <-s.wake:
		}
		t.Reset(s.look())
	}
}

// Alive returns an error when the loop of Run has not come around for too long.
func (s *Scheduler) Alive() error {
	if at := s.looked.Load(); at != nil && time.Since(*at) > 3*tick {
		return fmt.Errorf("the scheduler has not come around for %v", time.Since(*at).Round(time.Second))
	}
	return nil
}

// stop ends all runs.
func (s *Scheduler) stop() error {
	s.mu.Lock()
	s.ending = true
	for _, e := range s.jobs {
		if e.run != nil {
			s.end(e, status.Shutdown)
		}
		e.refuse(errors.New("the daemon is ending"))
	}
	s.save()
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.runs.Wait()
		close(done)
	}()
	t := time.NewTimer(s.o.StopWithin)
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-t.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf(
			"%d runs did not end within %v; they go on from their last batch when the daemon starts again", s.running,
			s.o.StopWithin)
	}
}

// look starts what is due and may start, and returns when to look again.
func (s *Scheduler) look() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	at := time.Now()
	s.looked.Store(&at)
	if !s.ready || s.ending {
		return tick
	}
	next := now.Add(tick)
	sooner := func(t time.Time) {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	free := sync.OnceValue(s.free)
	var due []*entry
	for _, e := range s.jobs {
		if e.sane(now) {
			s.log.Warn("the clock went back; times of this job were mended", "job", e.name)
		}
		s.consider(e, now)
		if e.run != nil {
			sooner(s.tend(e, now))
			continue
		}
		e.plan(now)
		e.activity, e.held = "", time.Time{}
		switch {
		case e.rec.Paused && e.manual == nil:
			e.activity = status.Paused
		case e.due.IsZero():
		case e.due.After(now):
			sooner(e.due)
		default:
			due = append(due, e)
		}
	}
	slices.SortFunc(due, func(a, b *entry) int {
		if byHand := cmp.Compare(rankOf(a), rankOf(b)); byHand != 0 {
			return byHand
		}
		return cmp.Or(a.due.Compare(b.due), strings.Compare(a.name, b.name))
	})
	for _, e := range due {
		if e.activity, e.held = e.hold(now, free); e.activity != "" {
			sooner(e.held)
			continue
		}
		if s.running >= s.o.MaxRuns {
			e.activity = status.Waiting
			continue
		}
		s.start(e, now)
	}
	s.save()
	return max(time.Millisecond, next.Sub(now))
}

// rankOf lets what somebody waits for come first.
func rankOf(e *entry) int {
	if e.manual != nil {
		return 0
	}
	return 1
}

func (s *Scheduler) free() int64 {
	if s.o.Free == nil {
		return math.MaxInt64
	}
	n, err := s.o.Free()
	if err != nil {
		s.log.Error("room on the disk", "err", err)
		return math.MaxInt64 // the run finds out
	}
	return n
}

// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// Teller tells people about jobs. It is called with the scheduler locked, so it must not wait or call the
// scheduler: what takes time is done later.
type Teller interface {
	// HasReceiver reports whether a job names receivers. Messages about a job without any are
	// not recorded as told.
	HasReceiver(j *job.Job) bool

	// Tell takes a message for all receivers of a job. It is called for jobs that have some.
	Tell(kind status.Kind, j *job.Job, s status.Job)
}

// Options say how jobs are scheduled. Runner and Store are needed.
type Options struct {
	Runner Runner
	Store  Store
	Teller Teller                // default: no messages
	Free   func() (int64, error) // bytes left on the disk of the mirrors; default: enough
	Empty  func(job string) bool // the site of a job has no run and no version; default: none is empty

	MaxRuns    int            // that work at a time; default 4
	MaxParked  int            // runs that only wait, at a time: what they take is memory; default 4 * MaxRuns
	Spread     time.Duration  // see NewClock
	StopWithin time.Duration  // how long the runs have to end when the daemon ends; default 25 s
	Local      *time.Location // of jobs that name no zone; default time.Local
	Now        func() time.Time
	Log        *slog.Logger // default none
}

// Scheduler runs jobs. Its methods are safe for concurrent use.
type Scheduler struct {
	Options
	wake chan struct{} // size 1: one call is enough, however many there are

	mu    sync.Mutex
	state *state
	runs  sync.WaitGroup

	looked atomic.Pointer[time.Time] // when the loop last came around
}

// tick is the longest time between two looks at all jobs: what a clock that jumps, or a disk that fills,
// costs at most.
const tick = time.Minute

// New returns a scheduler with what its store remembers. Nothing runs before Run, and no job is known before
// Apply.
func New(o Options) (*Scheduler, error) {
	o.MaxRuns = cmp.Or(max(o.MaxRuns, 0), 4)
	o.MaxParked = cmp.Or(max(o.MaxParked, 0), 4*o.MaxRuns)
	o.StopWithin = cmp.Or(max(o.StopWithin, 0), 25*time.Second)
	o.Local = cmp.Or(o.Local, time.Local)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Empty == nil {
		o.Empty = func(string) bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	given := o.Now
	// the wall clock only: by the monotonic one a clock that is set would not be seen
	o.Now = func() time.Time { return given().Round(0) }
	wake := make(chan struct{}, 1)
	st, err := newState(o, wake)
	if err != nil {
		return nil, err
	}
	return &Scheduler{
		Options: o,
		wake:    wake,
		state:   st,
	}, nil
}

// Config returns the configuration in force: at first what the last process left.
func (s *Scheduler) Config() Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.config
}

// Apply puts a configuration in force and returns what it changed. Jobs in which nothing changed are not
// touched.
func (s *Scheduler) Apply(c Config) []status.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.apply(c)
}

// RetryLasting lets jobs run at once whose last run ended for what another one would meet again, such as a
// secret that cannot be read. It returns their names. New does so as well.
func (s *Scheduler) RetryLasting() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.retryLasting()
}

// Problem notes that the jobs directory cannot be read as a whole; the jobs in force continue. "" takes
// it back.
func (s *Scheduler) Problem(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.setProblem(what)
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
		return fmt.Errorf("the scheduler has not come around for %s",
			count.Span(time.Since(*at).Round(time.Second)))
	}
	return nil
}

// RunNow requests a run of a job as soon as there is a turn for it. When one is under way, or was requested
// already, the ticket is for that; attached is then true.
func (s *Scheduler) RunNow(name string, o RunNowOptions) (t *Ticket, attached bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.runNow(name, o)
}

// Cancel ends the run of a job as partial, or takes back one that waits. The job's schedule continues.
func (s *Scheduler) Cancel(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.cancel(name)
}

// Pause ends the run of a job and lets it start none until Resume; that outlives the process. A run by hand
// is still possible.
func (s *Scheduler) Pause(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.pause(name)
}

// Resume takes Pause back: an interrupted run continues, and one that was missed is made up.
func (s *Scheduler) Resume(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.resume(name)
}

// Noted records a run of a job that was made without the scheduler. One that is known changes nothing.
func (s *Scheduler) Noted(name string, run status.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.noted(name, run)
}

// Job returns the state of one job.
func (s *Scheduler) Job(name string) (status.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.job(name)
}

// Active returns how many runs are under way.
func (s *Scheduler) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.turns.running()
}

// Wanted returns the job in force under a name.
func (s *Scheduler) Wanted(name string) (*job.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.wanted(name)
}

// Status returns the state of all jobs, by name, and of the scheduler; the fields of the daemon that the
// scheduler does not know are left empty.
func (s *Scheduler) Status() status.All {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.status()
}

// stop ends all runs.
func (s *Scheduler) stop() error {
	s.mu.Lock()
	s.state.stop()
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.runs.Wait()
		close(done)
	}()
	t := time.NewTimer(s.StopWithin)
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-t.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf(
			"%s not end within %s; those that did not continue from their last batch when the daemon starts again",
			count.Of(s.state.turns.running(), "run did", "runs did"), count.Span(s.StopWithin))
	}
}

// look starts the jobs that are due and may start, and returns the time of the next look.
func (s *Scheduler) look() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now()
	s.looked.Store(&at)
	runs, wait := s.state.look()
	for _, l := range runs {
		l.o.Turn = &RunTurn{s: s, e: l.e, r: l.r}
		s.runs.Go(func() {
			defer l.r.cancel(nil)
			s.ended(l, s.safely(l))
		})
	}
	return wait
}

// ended takes in how a run ended.
func (s *Scheduler) ended(l launch, run status.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.ended(l.e, l.r, run)
}

func (s *Scheduler) yield(e *entry, r *running, w status.Wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.turns.yield(e, r, w, s.Now())
}

func (s *Scheduler) want(e *entry, r *running) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.turns.want(e, r, s.Now())
}

func (s *Scheduler) giveUp(e *entry, r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.turns.giveUp(e, r, s.Now())
}

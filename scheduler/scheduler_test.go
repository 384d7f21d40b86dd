package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/job"
	"mirrord/status"
)

// rig is a scheduler that runs in a bubble.
type rig struct {
	*Scheduler
	t      *testing.T
	store  *memory
	runner *fakeRunner
	log    *startLog
	files  []File
	stop   func()
}

// inBubble runs a test with a scheduler over files; it begins on the first of March 2000, at noon in UTC.
func inBubble(t *testing.T, o Options, files []File, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2000, 3, 1, 12, 0, 0, 0, time.UTC)))
		r := &rig{t: t, store: newMemory(), log: newStartLog(), files: files}
		if o.Runner == nil {
			r.runner = &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
			o.Runner = r.runner
		} else {
			r.runner, _ = o.Runner.(*fakeRunner)
		}
		r.boot(o)
		f(t, r)
		r.stop()
	})
}

func (r *rig) boot(o Options) {
	o.Store, o.Local, o.Log = r.store, time.UTC, slogOf(r.log)
	if o.Spread == 0 {
		o.Spread = -1
	}
	s, err := New(o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Scheduler = s
	s.Apply(Resolve(r.files, s.Config()))
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	}
	synctest.Wait()
}

func (r *rig) job(name string) status.Job {
	r.t.Helper()
	synctest.Wait()
	j, err := r.Job(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// want compares the starts of a job, as "DAY HH:MM why".
func (r *rig) want(name string, want ...string) {
	r.t.Helper()
	synctest.Wait()
	var got []string
	r.log.mu.Lock()
	for _, b := range r.log.starts[name] {
		got = append(got, b.at.UTC().Format("02 15:04 ")+b.why)
	}
	r.log.mu.Unlock()
	if !slices.Equal(got, want) {
		r.t.Errorf("%s started %q, want %q", name, got, want)
	}
}

func sleepUntil(day, hour, minute int) {
	time.Sleep(time.Until(time.Date(2000, 3, day, hour, minute, 0, 0, time.UTC)))
	synctest.Wait()
}

func TestSchedule(t *testing.T) {
	files := []File{makeJob(t, "daily0", "30 3 * * *", "UTC", ""), makeJob(t, "byhand", "", "UTC", ""), makeJob(t, "every0", "@every 10h", "UTC", "")}
	inBubble(t, Options{}, files, func(t *testing.T, r *rig) {
		if j := r.job("daily0"); j.Health != status.New || j.Activity != status.Idle || !j.Next.Equal(time.Date(2000, 3, 2, 3, 30, 0, 0, time.UTC)) || j.Why != whySchedule {
			t.Errorf("%+v", j)
		}
		if j := r.job("byhand"); j.Next != nil {
			t.Errorf("%+v", j)
		}
		sleepUntil(2, 3, 31)
		sleepUntil(3, 4, 0)
		r.want("daily0", "02 03:30 schedule", "03 03:30 schedule")
		r.want("every0", "01 12:00 schedule", "01 22:00 schedule", "02 08:00 schedule", "02 18:00 schedule", "03 04:00 schedule")
		r.want("byhand")
		if j := r.job("daily0"); j.Health != status.OK || j.Last.Verdict != status.VerdictComplete || j.Complete == nil || j.Staleness != 30*60 {
			t.Errorf("%+v", j)
		}
	})
}

// At most MaxRuns at a time; those that wait go in the order in which they were due, and what somebody asked for first of all.
func TestTurns(t *testing.T) {
	var files []File
	for i := range 6 {
		files = append(files, makeJob(t, fmt.Sprintf("job00%d", i), fmt.Sprintf("%d 13 * * *", 6-i), "UTC", ""))
	}
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Hour }}
	inBubble(t, Options{Runner: run, MaxRuns: 2}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 10)
		if j := r.job("job001"); j.Activity != status.Waiting {
			t.Errorf("%+v", j)
		}
		if _, attached, err := r.RunNow("job000", RunNowOptions{}); err != nil || attached {
			t.Fatal(err)
		}
		sleepUntil(1, 20, 0)
		r.want("job005", "01 13:01 schedule")
		r.want("job004", "01 13:02 schedule")
		r.want("job000", "01 14:01 by hand")
		r.want("job003", "01 14:02 schedule")
		r.want("job002", "01 15:01 schedule")
		r.want("job001", "01 15:02 schedule")
		if run.most != 2 {
			t.Errorf("%d runs at a time", run.most)
		}
	})
}

// A run that takes longer than the time between two of them is not doubled, and what it overran is counted.
func TestOverrun(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return 150 * time.Minute }}
	inBubble(t, Options{Runner: run}, []File{makeJob(t, "hourly", "0 * * * *", "UTC", "")}, func(t *testing.T, r *rig) {
		sleepUntil(1, 19, 30)
		r.want("hourly", "01 13:00 schedule", "01 16:00 schedule", "01 19:00 schedule")
		if n := r.Status().Daemon.Runs.Skipped; n != 4 || run.twice {
			t.Errorf("skipped %d", n)
		}
	})
}

// A run pauses outside its window and goes on when it opens; a job that is due outside waits.
func TestWindow(t *testing.T) {
	files := []File{makeJob(t, "nights", "0 22 * * *", "UTC", `window = "22:00-02:00"`), makeJob(t, "midday", "0 12 2 3 *", "UTC", `window = "14:00-15:00"`)}
	run := &fakeRunner{takes: func(j *job.Job) time.Duration { return 6 * time.Hour }}
	run.takes = func(j *job.Job) time.Duration { // as if what was fetched were kept: the third night is the last
		if j.Name == "nights" && run.runs(j.Name) >= 3 {
			return time.Hour
		}
		return 6 * time.Hour
	}
	inBubble(t, Options{Runner: run}, files, func(t *testing.T, r *rig) {
		sleepUntil(2, 2, 1)
		if j := r.job("nights"); j.Activity != status.Window || j.Health != status.Partial || j.Last.Cause != status.OutOfHours || !j.Next.Equal(time.Date(2000, 3, 2, 22, 0, 0, 0, time.UTC)) || j.Failures != 0 {
			t.Errorf("%+v, last %+v", j, j.Last)
		}
		if n := r.Status().Daemon.Running; n != 0 {
			t.Errorf("%d runs take a turn outside their window", n)
		}
		sleepUntil(3, 23, 30)
		r.want("nights", "01 22:00 schedule", "02 22:00 resume", "03 22:00 resume")
		r.want("midday", "02 14:00 schedule", "03 14:00 resume")
		if j := r.job("nights"); j.Health != status.OK || !j.Verified.Equal(time.Date(2000, 3, 1, 22, 0, 0, 0, time.UTC)) {
			t.Errorf("%+v: what the first of the three nights has seen is the oldest part", j)
		}
	})
}

func TestPauseCancelResume(t *testing.T) {
	inBubble(t, Options{}, []File{makeJob(t, "hourly", "0 * * * *", "UTC", "")}, func(t *testing.T, r *rig) {
		if err := r.Cancel("hourly"); !errors.Is(err, ErrNothing) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Hour + 30*time.Second)
		if j := r.job("hourly"); j.Activity != status.Running {
			t.Fatalf("%+v", j)
		}
		if err := r.Pause("hourly"); err != nil {
			t.Fatal(err)
		}
		if j := r.job("hourly"); j.Activity != status.Paused || j.Last.Cause != status.PausedRun || j.Fix != "mirrord resume hourly" {
			t.Errorf("%+v", j)
		}
		if err := r.Pause("hourly"); !errors.Is(err, ErrNothing) {
			t.Errorf("%v", err)
		}
		sleepUntil(1, 18, 30)
		r.want("hourly", "01 13:00 schedule")
		// A pause outlives the daemon, a run by hand is possible all the same.
		r.stop()
		r.boot(Options{Runner: r.runner})
		sleepUntil(1, 19, 30)
		ticket, _, err := r.RunNow("hourly", RunNowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		<-ticket.Done()
		if run, err := ticket.Result(); err != nil || !run.Complete() {
			t.Errorf("%+v, %v", run, err)
		}
		r.want("hourly", "01 13:00 schedule", "01 19:30 by hand")
		sleepUntil(1, 20, 30)
		if err := r.Resume("hourly"); err != nil {
			t.Fatal(err)
		}
		sleepUntil(1, 20, 40)
		r.want("hourly", "01 13:00 schedule", "01 19:30 by hand", "01 20:30 schedule")
		if err := r.Resume("hourly"); !errors.Is(err, ErrNothing) {
			t.Errorf("%v", err)
		}
		sleepUntil(1, 21, 0)
		time.Sleep(30 * time.Second)
		if err := r.Cancel("hourly"); err != nil {
			t.Fatal(err)
		}
		if j := r.job("hourly"); j.Activity != status.Idle || j.Last.Cause != status.Cancelled || j.Health != status.Partial {
			t.Errorf("%+v", j)
		}
		for _, err := range []error{r.Cancel("none"), r.Pause("none"), r.Resume("none")} {
			if !errors.Is(err, ErrNoJob) {
				t.Errorf("%v", err)
			}
		}
	})
}

// Who asks for a run while one is under way gets that one.
func TestRunNow(t *testing.T) {
	inBubble(t, Options{}, []File{makeJob(t, "hourly", "0 * * * *", "UTC", ""), parsed(t, "broken", "x = 1")}, func(t *testing.T, r *rig) {
		a, attached, err := r.RunNow("hourly", RunNowOptions{})
		if err != nil || attached {
			t.Fatal(err)
		}
		b, attached, err := r.RunNow("hourly", RunNowOptions{})
		if err != nil || !attached {
			t.Fatal(err)
		}
		synctest.Wait()
		c, attached, err := r.RunNow("hourly", RunNowOptions{})
		if err != nil || !attached {
			t.Fatal(err)
		}
		if _, _, err := r.RunNow("hourly", RunNowOptions{Accept: true}); !errors.Is(err, ErrRunning) {
			t.Errorf("%v", err)
		}
		for _, x := range []*Ticket{a, b, c} {
			<-x.Done()
			if run, err := x.Result(); err != nil || !run.Complete() {
				t.Errorf("%+v, %v", run, err)
			}
		}
		r.want("hourly", "01 12:00 by hand")
		if _, _, err := r.RunNow("broken", RunNowOptions{}); err == nil || !strings.Contains(err.Error(), `unknown key "x"`) {
			t.Errorf("%v", err)
		}
		if _, _, err := r.RunNow("none", RunNowOptions{}); !errors.Is(err, ErrNoJob) {
			t.Errorf("%v", err)
		}
		d, _, err := r.RunNow("hourly", RunNowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r.stop()
		<-d.Done()
		if run, err := d.Result(); err == nil && run.Complete() {
			t.Errorf("%+v", run)
		}
		r.boot(Options{Runner: r.runner})
	})
}

// A reload does not touch jobs in which nothing changed; a changed one ends its run as it was; a removed one is ended.
func TestReload(t *testing.T) {
	files := []File{makeJob(t, "same00", "0 * * * *", "UTC", ""), makeJob(t, "other0", "0 * * * *", "UTC", ""), makeJob(t, "away00", "0 * * * *", "UTC", "")}
	inBubble(t, Options{}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 0)
		time.Sleep(30 * time.Second)
		next := []File{files[0], makeJob(t, "other0", "30 * * * *", "UTC", "title = \"new\"\n")}
		r.Apply(Resolve(next, r.Config()))
		synctest.Wait()
		if _, err := r.Job("away00"); !errors.Is(err, ErrNoJob) {
			t.Errorf("%v", err)
		}
		if a, b := r.job("same00"), r.job("other0"); a.Activity != status.Running || b.Activity != status.Running {
			t.Errorf("%+v, %+v", a, b)
		}
		if n := r.Status().Daemon.Running; n != 2 {
			t.Errorf("%d running", n)
		}
		sleepUntil(1, 14, 0)
		r.want("same00", "01 13:00 schedule", "01 14:00 schedule")
		r.want("other0", "01 13:00 schedule", "01 13:30 schedule")
		for _, j := range r.runner.seen[:3] {
			if j.Title != "" {
				t.Error("a run got a job that came later")
			}
		}
		if _, ok := r.store.records["away00"]; ok {
			t.Error("the record of a removed job stays")
		}
		// A directory that cannot be read any more stops nothing.
		r.Problem("it is gone")
		sleepUntil(1, 15, 1)
		r.want("same00", "01 13:00 schedule", "01 14:00 schedule", "01 15:00 schedule")
		if st := r.Status(); st.Daemon.Problem != "it is gone" {
			t.Errorf("%+v", st.Daemon)
		}
		// Nor does a daemon that starts without it: it has kept the last good files.
		r.stop()
		s, err := New(Options{Runner: r.runner, Store: r.store, Local: time.UTC, Spread: -1, Log: slogOf(r.log)})
		if err != nil {
			t.Fatal(err)
		}
		s.Problem("it is gone")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		sleepUntil(1, 16, 1)
		r.want("same00", "01 13:00 schedule", "01 14:00 schedule", "01 15:00 schedule", "01 16:00 schedule")
		cancel()
		<-ended
		// And a file that is broken when the daemon starts leaves the last good version in force.
		r.files = []File{parsed(t, "same00", "x = 1"), next[1]}
		r.boot(Options{Runner: r.runner})
		sleepUntil(1, 17, 1)
		if j := r.job("same00"); !j.Refused || j.Health != status.Invalid || j.Schedule != "0 * * * *" || len(j.Problems) != 2 {
			t.Errorf("%+v", j)
		}
	})
}

// A job that does not end well is tried again with growing pauses, and never shown as well.
func TestRetry(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	run.ends = func(_ *job.Job, n int) status.Run {
		if n <= 8 {
			return status.Run{Verdict: status.VerdictPartial, Reasons: []string{"the host does not answer"}}
		}
		return status.Run{Verdict: status.VerdictComplete, Published: true, Version: 1}
	}
	inBubble(t, Options{Runner: run}, []File{makeJob(t, "weekly", "0 13 1,8,15 * *", "UTC", "")}, func(t *testing.T, r *rig) {
		sleepUntil(1, 15, 0)
		if j := r.job("weekly"); j.Health != status.Partial || j.Failures != 4 || j.Why != whyRetry || j.Fix == "" {
			t.Errorf("%+v", j)
		}
		sleepUntil(4, 0, 0)
		r.want("weekly", "01 13:00 schedule", "01 13:16 retry", "01 13:47 retry", "01 14:48 retry", "01 16:49 retry", "01 20:50 retry", "02 04:51 retry", "02 16:52 retry", "03 04:53 retry")
		if j := r.job("weekly"); j.Health != status.OK || j.Failures != 0 || j.Why != whySchedule {
			t.Errorf("%+v", j)
		}
	})
}

// A site that cannot be reached for a month: it is asked two or three times a day, and told about once a day.
func TestUnreachableForAMonth(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	run.ends = func(_ *job.Job, n int) status.Run {
		return status.Run{Verdict: status.VerdictPartial, Reasons: []string{"the host does not answer"}}
	}
	tell := &fakeTeller{}
	inBubble(t, Options{Runner: run, Teller: tell}, []File{makeJob(t, "daily0", "0 3 * * *", "UTC", "notify = { command = \"true\", stale_after = \"3d\" }\n")}, func(t *testing.T, r *rig) {
		sleepUntil(31, 12, 0)
		if n := run.runs("daily0"); n < 50 || n > 110 {
			t.Errorf("%d runs in a month", n)
		}
		if n := len(tell.told); n < 25 || n > 35 {
			t.Errorf("told %d times: %v", n, tell.told)
		}
		j := r.job("daily0")
		if j.Health != status.Stale || !j.Stale || j.Failures != run.runs("daily0") {
			t.Errorf("%+v", j)
		}
		run.setEnds(nil)
		sleepUntil(32, 12, 0)
		if last := tell.told[len(tell.told)-1]; last != "recovered daily0" {
			t.Errorf("told last: %s", last)
		}
	})
}

type fakeTeller struct {
	mu   sync.Mutex
	told []string
}

func (f *fakeTeller) Tell(kind status.Kind, j *job.Job, s status.Job) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, string(kind)+" "+j.Name)
}

// A disk that fills pauses the job, says so once, and the run goes on by itself when there is room.
func TestFullDisk(t *testing.T) {
	var free atomic.Int64
	free.Store(2000)
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	run.ends = func(j *job.Job, n int) status.Run {
		if n == 1 && j.Name == "first0" {
			free.Store(900)
			return status.Run{Verdict: status.VerdictPartial, Cause: status.DiskFull, Reasons: []string{"less than limits.min_free is left"}}
		}
		return status.Run{Verdict: status.VerdictComplete}
	}
	tell := &fakeTeller{}
	text := "limits.min_free = 1000\nnotify.command = \"true\"\n"
	j := func(name, spec string) File {
		return parsed(t, name, fmt.Sprintf("url = \"https://%s.example/\"\nschedule = %q\ntimezone = \"UTC\"\n%s", name, spec, text))
	}
	inBubble(t, Options{Runner: run, Teller: tell, Free: func() (int64, error) { return free.Load(), nil }}, []File{j("first0", "0 13 * * *"), j("second", "0 14 * * *")}, func(t *testing.T, r *rig) {
		sleepUntil(1, 14, 30)
		if a, b := r.job("first0"), r.job("second"); a.Activity != status.NoRoom || b.Activity != status.NoRoom || !strings.Contains(a.Fix, "free some space") {
			t.Errorf("%+v\n%+v", a, b)
		}
		free.Store(1050) // enough to begin, not enough to go on
		sleepUntil(1, 15, 0)
		r.want("first0", "01 13:00 schedule")
		if n := len(r.log.starts["second"]); n != 1 {
			t.Errorf("second started %d times", n)
		}
		free.Store(1200)
		sleepUntil(1, 15, 2)
		r.want("first0", "01 13:00 schedule", "01 15:01 resume")
		sleepUntil(1, 16, 0)
		if j := r.job("first0"); j.Health != status.OK {
			t.Errorf("%+v", j)
		}
		if got := strings.Join(tell.told, ", "); got != "failed first0, recovered first0" {
			t.Errorf("told %s", got)
		}
	})
}

// A clock that jumps a year, forward or back, costs one run at most and stops nothing.
func TestClockJumps(t *testing.T) {
	var jump atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
	inBubble(t, Options{Now: now}, []File{makeJob(t, "hourly", "0 * * * *", "UTC", "notify = { command = \"true\", stale_after = \"3d\" }\n"), makeJob(t, "every0", "@every 6h", "UTC", ""), makeJob(t, "contin", "continuous", "UTC", "")}, func(t *testing.T, r *rig) {
		count := func(name string) int {
			synctest.Wait()
			r.log.mu.Lock()
			defer r.log.mu.Unlock()
			return len(r.log.starts[name])
		}
		sleepUntil(2, 0, 30)
		for _, by := range []time.Duration{365 * 24 * time.Hour, -365 * 24 * time.Hour, -400 * 24 * time.Hour} {
			before := map[string]int{"hourly": count("hourly"), "every0": count("every0"), "contin": count("contin")}
			jump.Add(int64(by))
			time.Sleep(10 * time.Minute)
			for name, n := range before {
				if d := count(name) - n; d > 1 {
					t.Errorf("jump by %v: %s started %d times", by, name, d)
				}
			}
			before = map[string]int{"hourly": count("hourly"), "every0": count("every0")}
			time.Sleep(24 * time.Hour)
			if d := count("hourly") - before["hourly"]; d < 23 || d > 25 {
				t.Errorf("after a jump by %v: hourly started %d times a day", by, d)
			}
			if d := count("every0") - before["every0"]; d < 3 || d > 5 {
				t.Errorf("after a jump by %v: every six hours started %d times a day", by, d)
			}
		}
	})
}

// A continuous job follows its site: often while it changes, seldom when it does not, within the job's bounds.
func TestContinuous(t *testing.T) {
	var perHour atomic.Int64
	perHour.Store(40)
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	last := time.Time{}
	run.ends = func(*job.Job, int) status.Run {
		changed := float64(perHour.Load()) * time.Since(last).Hours()
		last = time.Now()
		return status.Run{Verdict: status.VerdictComplete, Version: 1, Files: 100, Changed: int(changed)}
	}
	inBubble(t, Options{Runner: run}, []File{makeJob(t, "contin", "continuous", "UTC", "min_interval = \"15m\"\nmax_interval = \"2d\"\n")}, func(t *testing.T, r *rig) {
		during := func(d time.Duration) int {
			before := run.runs("contin")
			time.Sleep(d)
			synctest.Wait()
			return run.runs("contin") - before
		}
		if n := during(24 * time.Hour); n < 85 || n > 97 {
			t.Errorf("%d runs on a day full of changes", n)
		}
		perHour.Store(0)
		during(20 * 24 * time.Hour)
		if n := during(20 * 24 * time.Hour); n < 9 || n > 11 {
			t.Errorf("%d runs in twenty quiet days", n)
		}
		perHour.Store(1)
		during(5 * 24 * time.Hour)
		if n := during(4 * 24 * time.Hour); n < 50 || n > 150 {
			t.Errorf("%d runs in four days with a change an hour", n)
		}
	})
}

// A run that does not end is left behind after StopWithin, and goes on when the daemon starts again.
func TestStopWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, release := newMemory(), make(chan struct{})
		s, err := New(Options{Runner: stubborn(release), Store: store, StopWithin: 10 * time.Second, Spread: -1})
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(Resolve([]File{makeJob(t, "hangs0", "@every 1h", "UTC", "")}, nil))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(time.Minute)
		began := time.Now()
		cancel()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "1 runs did not end within 10s") {
			t.Errorf("%v", err)
		}
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("after %v", d)
		}
		after := store.takeOver()
		close(release)
		synctest.Wait()
		s, err = New(Options{Runner: &fakeRunner{}, Store: after})
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(Resolve([]File{makeJob(t, "hangs0", "@every 1h", "UTC", "")}, s.Config()))
		if j, err := s.Job("hangs0"); err != nil || j.Why != whyResume || j.Last.Cause != status.Killed {
			t.Errorf("%+v, %v", j, err)
		}
	})
}

type stubborn chan struct{}

func (s stubborn) Run(context.Context, *job.Job, RunOptions) status.Run {
	<-s
	return status.Run{Verdict: status.VerdictPartial}
}

type panics struct{}

func (panics) Run(context.Context, *job.Job, RunOptions) status.Run { panic("no") }

func TestPanicInARun(t *testing.T) {
	inBubble(t, Options{Runner: panics{}}, []File{makeJob(t, "hourly", "0 * * * *", "UTC", "")}, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 1)
		if j := r.job("hourly"); j.Health != status.Failed || !strings.Contains(j.Last.Error, "fault of mirrord") {
			t.Errorf("%+v", j)
		}
	})
}

// What cannot be saved now is saved later; runs are not held back by it.
func TestStoreFails(t *testing.T) {
	inBubble(t, Options{}, []File{makeJob(t, "hourly", "0 * * * *", "UTC", "")}, func(t *testing.T, r *rig) {
		r.store.mu.Lock()
		r.store.fail = errors.New("no space")
		r.store.mu.Unlock()
		sleepUntil(1, 14, 30)
		r.want("hourly", "01 13:00 schedule", "01 14:00 schedule")
		r.store.mu.Lock()
		r.store.fail = nil
		r.store.mu.Unlock()
		sleepUntil(1, 14, 32)
		if rec := r.store.records["hourly"]; rec.Last == nil || rec.Served.Hour() != 14 {
			t.Errorf("%+v", rec)
		}
	})
}

// A site that another process works on is tried again in a minute; that is no failure.
func TestLockedElsewhere(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Second }}
	run.ends = func(_ *job.Job, n int) status.Run {
		if n < 3 {
			return status.Run{Verdict: status.VerdictError, Cause: status.Busy, Error: "locked"}
		}
		return status.Run{Verdict: status.VerdictComplete}
	}
	inBubble(t, Options{Runner: run}, []File{makeJob(t, "hourly", "0 * * * *", "UTC", "")}, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 1)
		if j := r.job("hourly"); j.Last != nil || j.Health != status.New {
			t.Errorf("%+v", j)
		}
		sleepUntil(1, 13, 30)
		r.want("hourly", "01 13:00 schedule", "01 13:01 retry", "01 13:02 retry")
	})
}

// The watchdog is fed as long as the loop comes around.
func TestAlive(t *testing.T) {
	inBubble(t, Options{}, []File{makeJob(t, "hourly", "0 * * * *", "UTC", "")}, func(t *testing.T, r *rig) {
		for range 10 {
			if time.Sleep(7 * time.Minute); r.Alive() != nil {
				t.Errorf("%v", r.Alive())
			}
		}
		at := time.Now().Add(-4 * tick)
		r.looked.Store(&at)
		if r.Alive() == nil {
			t.Error("a loop that has not come around for four minutes is alive")
		}
	})
}

// BenchmarkIdle is what a thousand idle jobs cost: one look at all of them, at least one a minute, and the memory of each.
func BenchmarkIdle(b *testing.B) {
	var files []File
	for i := range 1000 {
		files = append(files, makeJob(b, fmt.Sprintf("job%03d", i), fmt.Sprintf("%d %d * * *", i%60, i%24), "Europe/Berlin", "[notify]\ncommand = \"true\"\nstale_after = \"3d\"\n"))
	}
	var before, after runtime.MemStats
	texts := 0
	s, err := New(Options{Runner: &fakeRunner{}, Store: newMemory(), Teller: &fakeTeller{}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range files {
		texts += len(files[i].Text)
		files[i].Job = nil
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range files {
		if files[i].Job, err = job.Parse(files[i].Name, files[i].Path, files[i].Text); err != nil {
			b.Fatal(err)
		}
	}
	s.Apply(Resolve(files, nil))
	runtime.GC()
	runtime.ReadMemStats(&after)
	files = nil
	for b.Loop() {
		s.look()
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1000, "B/job")
	runtime.KeepAlive(s)
}

// cpu is the processor time of this process.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

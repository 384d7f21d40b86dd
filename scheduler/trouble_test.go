// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// endsWellAfter is a runner whose first n runs of a job end in a bad way, and all others well, after a minute
// each.
func endsWellAfter(n int, bad status.Run) *fakeRunner {
	return &fakeRunner{
		takes: func(*job.Job) time.Duration { return time.Minute },
		ends: func(_ *job.Job, nth int) status.Run {
			if nth <= n {
				return bad
			}
			return status.Run{Verdict: status.VerdictComplete, Published: true, Version: 1}
		},
	}
}

// A job that does not end well is tried again with growing pauses, and never shown as well.
func TestRetry(t *testing.T) {
	run := endsWellAfter(8, status.Run{
		Verdict: status.VerdictPartial,
		Reasons: []string{"the host does not answer"},
	})
	files := []File{makeJob(t, "weekly", "0 13 1,8,15 * *", "UTC", "")}
	inBubble(t, Options{Runner: run}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 15, 0)
		if j := r.job("weekly"); j.Health != status.Partial || j.Failures != 4 || j.Why != whyRetry || j.Fix == "" {
			t.Errorf("%+v", j)
		}
		sleepUntil(4, 0, 0)
		r.want("weekly", "01 13:00 schedule", "01 13:16 retry", "01 13:47 retry", "01 14:48 retry",
			"01 16:49 retry", "01 20:50 retry", "02 04:51 retry", "02 16:52 retry", "03 04:53 retry")
		if j := r.job("weekly"); j.Health != status.OK || j.Failures != 0 || j.Why != whySchedule {
			t.Errorf("%+v", j)
		}
	})
}

// A site whose database is damaged is run by its schedule alone: until it is rebuilt each run ends the same.
// It is reported, with the command that helps.
func TestDamagedIsNotRetried(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	run.ends = func(_ *job.Job, n int) status.Run {
		if n <= 2 {
			return status.Run{
				Verdict: status.VerdictError,
				Cause:   status.BadState,
				Error:   "site.db is damaged: page 7",
			}
		}
		return status.Run{Verdict: status.VerdictComplete, Published: true, Version: 1}
	}
	tell := &fakeTeller{}
	inBubble(t, Options{
		Runner: run,
		Teller: tell,
	}, []File{makeJob(t, "daily", "0 13 * * *", "UTC", "notify = { command = \"true\" }\n")},
		func(t *testing.T, r *rig) {
			sleepUntil(2, 15, 0)
			if j := r.job("daily"); j.Health != status.Damaged || j.Failures != 2 || j.Why != whySchedule ||
				!strings.Contains(j.Fix, "repair --rebuild daily") ||
				!strings.Contains(strings.Join(j.Reasons, ""), "page 7") {
				t.Errorf("%+v", j)
			}
			sleepUntil(4, 0, 0)
			r.want("daily", "01 13:00 schedule", "02 13:00 schedule", "03 13:00 schedule")
			if j := r.job("daily"); j.Health != status.OK || j.Failures != 0 {
				t.Errorf("%+v", j)
			}
			if len(tell.told) == 0 {
				t.Error("no message was sent")
			}
		})
}

// A site that cannot be reached for a month: it gets two or three requests a day, and one message a day.
func TestUnreachableForAMonth(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	run.ends = func(_ *job.Job, n int) status.Run {
		return status.Run{Verdict: status.VerdictPartial, Reasons: []string{"the host does not answer"}}
	}
	tell := &fakeTeller{}
	inBubble(t, Options{
		Runner: run,
		Teller: tell,
	},
		[]File{makeJob(t, "daily0", "0 3 * * *", "UTC", "notify = { command = \"true\", stale_after = \"3d\" }\n")},
		func(t *testing.T, r *rig) {
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

// A disk that fills pauses the job, reports it once, and the run continues by itself when there is space.
func TestFullDisk(t *testing.T) {
	var free atomic.Int64
	free.Store(2000)
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	run.ends = func(j *job.Job, n int) status.Run {
		if n == 1 && j.Name == "first0" {
			free.Store(900)
			return status.Run{
				Verdict: status.VerdictPartial,
				Cause:   status.DiskFull,
				Reasons: []string{"less than limits.min_free is left"},
			}
		}
		return status.Run{Verdict: status.VerdictComplete}
	}
	tell := &fakeTeller{}
	text := "limits.min_free = 1000\nnotify.command = \"true\"\n"
	j := func(name, spec string) File {
		return parsed(t, name, fmt.Sprintf("url = \"https://%s.example/\"\nschedule = %q\ntimezone = \"UTC\"\n%s",
			name, spec, text))
	}
	inBubble(t, Options{
		Runner: run,
		Teller: tell,
		Free:   func() (int64, error) { return free.Load(), nil },
	}, []File{j("first0", "0 13 * * *"), j("second", "0 14 * * *")}, func(t *testing.T, r *rig) {
		sleepUntil(1, 14, 30)
		if a, b := r.job("first0"), r.job("second"); a.Activity != status.NoRoom || b.Activity != status.NoRoom ||
			!strings.Contains(a.Fix, "free some space") {
			t.Errorf("%+v\n%+v", a, b)
		}
		free.Store(1050) // enough to begin, not enough to continue
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
		for _, line := range []string{"jobs wait for room", "no job waits for free space"} {
			if n := strings.Count(strings.Join(r.log.others, "\n"), line); n != 1 {
				t.Errorf("%q is logged %d times", line, n)
			}
		}
	})
}

// A clock that jumps a year, forward or back, costs one run at most and stops nothing.
func TestClockJumps(t *testing.T) {
	var jump atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
	inBubble(t, Options{Now: now}, []File{makeJob(t, "hourly", "0 * * * *", "UTC", "notify = { command = "+
		"\"true\", stale_after = \"3d\" }\n"), makeJob(t, "every0", "@every 6h", "UTC", ""),
		makeJob(t, "contin", "continuous", "UTC", "")}, func(t *testing.T, r *rig) {
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

// What a machine left whose clock was hours ahead does not delay the next run of an interval: the mirrors of
// a cluster go from one machine to another with what the scheduler noted.
func TestIntervalFromTheFuture(t *testing.T) {
	var jump atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
	jump.Store(int64(10 * time.Hour))
	inBubble(t, Options{Now: now}, []File{makeJob(t, "every0", "@every 1h", "UTC", "")},
		func(t *testing.T, r *rig) {
			sleepUntil(2, 0, 30)
			jump.Store(0)
			count := func() int {
				synctest.Wait()
				r.log.mu.Lock()
				defer r.log.mu.Unlock()
				return len(r.log.starts["every0"])
			}
			before := count()
			time.Sleep(5 * time.Hour)
			if n := count() - before; before == 0 || n < 4 || n > 6 {
				t.Errorf("%d runs before, then %d in five hours", before, n)
			}
		})
}

// A continuous job follows its site: often while it changes, rarely when it does not, within the job's
// bounds.
func TestContinuous(t *testing.T) {
	var perHour atomic.Int64
	perHour.Store(40)
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	last := time.Time{}
	run.ends = func(*job.Job, int) status.Run {
		changed := float64(perHour.Load()) * time.Since(last).Hours()
		last = time.Now()
		return status.Run{
			Verdict: status.VerdictComplete,
			Version: 1,
			Files:   100,
			Changed: int(changed),
		}
	}
	inBubble(t, Options{Runner: run}, []File{makeJob(t, "contin", "continuous", "UTC", "min_interval = "+
		"\"15m\"\nmax_interval = \"2d\"\n")}, func(t *testing.T, r *rig) {
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

// A run that does not end is left behind after StopWithin, and continues when the daemon starts again.
func TestStopWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, release := newMemory(), make(chan struct{})
		s, err := New(Options{
			Runner:     stubborn(release),
			Store:      store,
			StopWithin: 10 * time.Second,
			Spread:     -1,
		})
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
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "1 run did not end within 10s") {
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
	files := []File{makeJob(t, "hourly", "0 * * * *", "UTC", "")}
	inBubble(t, Options{Runner: panics{}}, files, func(t *testing.T, r *rig) {
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
	files := []File{makeJob(t, "hourly", "0 * * * *", "UTC", "")}
	inBubble(t, Options{Runner: run}, files, func(t *testing.T, r *rig) {
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

// BenchmarkIdle is what a thousand idle jobs cost: one look at all of them, at least one a minute, and the
// memory of each.
func BenchmarkIdle(b *testing.B) {
	var files []File
	for i := range 1000 {
		files = append(files, makeJob(b, fmt.Sprintf("job%03d", i), fmt.Sprintf("%d %d * * *", i%60, i%24),
			"Europe/Berlin", "[notify]\ncommand = \"true\"\nstale_after = \"3d\"\n"))
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

// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// A disk that is full although there seems to be room (a quota, another disk below publish.dir, min_free = 0)
// is not run against without a pause.
func TestFullDiskElsewhere(t *testing.T) {
	for _, more := range []string{"limits.min_free = 0\n", "limits.min_free = 1000\n"} {
		run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Second }}
		run.ends = func(_ *job.Job, n int) status.Run {
			if n > 20 {
				return status.Run{Verdict: status.VerdictComplete}
			}
			return status.Run{
				Verdict: status.VerdictPartial,
				Cause:   status.DiskFull,
				Error:   "write: no space left on device",
			}
		}
		file := parsed(t, "quota0",
			"url = \"https://quota0.example/\"\nschedule = \"0 13 * * *\"\ntimezone = \"UTC\"\n"+more)
		inBubble(t, Options{
			Runner: run,
			Free:   func() (int64, error) { return 1 << 40, nil },
		}, []File{file}, func(t *testing.T, r *rig) {
			sleepUntil(1, 14, 0)
			if n := run.runs("quota0"); n < 2 || n > 7 {
				t.Errorf("%s%d runs in an hour", more, n)
			}
			sleepUntil(3, 0, 0)
			if j := r.job("quota0"); j.Health != status.OK {
				t.Errorf("%s%d runs, %+v", more, run.runs("quota0"), j)
			}
		})
	}
}

// A client that waits for a run gets an error when the job's file is refused without a good version, and a
// run in progress ends as if the file were removed.
func TestRefusedWhileWaited(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return 24 * time.Hour }}
	files := []File{makeJob(t, "busy01", "", "UTC", ""), makeJob(t, "waits1", "", "UTC", "")}
	inBubble(t, Options{Runner: run, MaxRuns: 1}, files, func(t *testing.T, r *rig) {
		a, _, err := r.RunNow("busy01", RunNowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b, _, err := r.RunNow("waits1", RunNowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c := Config{}
		for _, f := range files {
			c[f.Name] = &Entry{Name: f.Name, Path: f.Path, Refused: []string{"job other has the same url and scope"}}
		}
		r.Apply(c)
		time.Sleep(time.Minute)
		for name, ticket := range map[string]*Ticket{"busy01": a, "waits1": b} {
			select {
			case <-ticket.Done():
			default:
				t.Errorf("%s: still waits", name)
			}
		}
		if n := r.Status().Daemon.Running; n != 0 {
			t.Errorf("%d runs", n)
		}
	})
}

// A window that closes ends a run at once, whenever the scheduler looked last.
func TestWindowClosesInTime(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return 6 * time.Hour }}
	inBubble(t, Options{Runner: run}, []File{makeJob(t, "nights", "", "UTC", `window = "22:00-02:00"`)}, func(t *testing.T, r *rig) {
		sleepUntil(1, 22, 10)
		time.Sleep(40 * time.Second) // the minutes of the scheduler begin here
		if _, _, err := r.RunNow("nights", RunNowOptions{}); err != nil {
			t.Fatal(err)
		}
		sleepUntil(2, 2, 1)
		if j := r.job("nights"); j.LastRun == nil ||
			j.LastRun.Sub(time.Date(2000, 3, 2, 2, 0, 0, 0, time.UTC)) > time.Second {
			t.Errorf("ended %v", j.LastRun)
		}
	})
}

// Nothing that the scheduler keeps or compares has a reading of the monotonic clock: with it a clock that is
// set would not be seen. (In a bubble no time has one.)
func TestWallClock(t *testing.T) {
	for _, now := range []func() time.Time{nil, time.Now} {
		s, err := New(Options{Store: newMemory(), Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if at := s.Now(); at != at.Round(0) {
			t.Errorf("%v", at)
		}
	}
}

// A mirror that was verified while the clock was a year ahead does not stay fresh for a year after the clock
// was set right.
func TestVerifiedInTheFuture(t *testing.T) {
	var jump atomic.Int64
	jump.Store(int64(365 * 24 * time.Hour))
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Second }}
	run.ends = func(_ *job.Job, n int) status.Run {
		if n == 1 {
			return status.Run{Verdict: status.VerdictComplete, Verified: time.Now().Add(time.Duration(jump.Load()))}
		}
		return status.Run{Verdict: status.VerdictPartial}
	}
	inBubble(t, Options{
		Runner: run,
		Now:    func() time.Time { return time.Now().Add(time.Duration(jump.Load())) },
	}, []File{makeJob(t, "daily0", "0 13 * * *", "UTC", "notify = { stale_after = \"3d\" }\n")},
		func(t *testing.T, r *rig) {
			sleepUntil(2, 0, 0)
			if j := r.job("daily0"); j.Verified == nil {
				t.Fatalf("%+v", j)
			}
			jump.Store(0)
			sleepUntil(6, 0, 0)
			if j := r.job("daily0"); !j.Stale {
				t.Errorf("fresh since %v: %+v", j.Verified, j)
			}
		})
}

// A machine that starts with a clock far behind, until it is set, does not make its mirrors stale.
func TestClockIsBehindAtFirst(t *testing.T) {
	var jump atomic.Int64
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Second }}
	run.ends = func(_ *job.Job, n int) status.Run {
		if n == 1 {
			return status.Run{Verdict: status.VerdictComplete, Verified: time.Now()}
		}
		return status.Run{Verdict: status.VerdictPartial}
	}
	inBubble(t, Options{
		Runner: run,
		Now:    func() time.Time { return time.Now().Add(time.Duration(jump.Load())) },
	}, []File{makeJob(t, "daily0", "0 13 * * *", "UTC", "notify = { stale_after = \"3d\" }\n")},
		func(t *testing.T, r *rig) {
			sleepUntil(2, 0, 0)
			jump.Store(int64(-20 * 365 * 24 * time.Hour))
			sleepUntil(2, 0, 10)
			jump.Store(0)
			sleepUntil(2, 0, 20)
			if j := r.job("daily0"); j.Stale || j.Staleness > 12*3600 {
				t.Errorf("not verified since %v: %+v", j.Verified, j)
			}
		})
}

// A first mirror that never becomes complete, because its window is short or because it never gets to run,
// becomes stale as any other.
func TestNeverComplete(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return 6 * time.Hour }}
	files := []File{makeJob(t, "nights", "0 22 * * *", "UTC",
		"window = \"22:00-02:00\"\nnotify = { command = \"true\", stale_after = \"3d\" }\n"),
		parsed(t, "noroom",
			"url = \"https://noroom.example/\"\nschedule = \"0 22 * * *\"\ntimezone = \"UTC\"\nlimits.min_free = "+
				"\"1TiB\"\nnotify = { command = \"true\", stale_after = \"3d\" }\n")}
	tell := &fakeTeller{}
	inBubble(t, Options{
		Runner: run,
		Teller: tell,
		Free:   func() (int64, error) { return 1 << 30, nil },
	}, files, func(t *testing.T, r *rig) {
		sleepUntil(3, 0, 0)
		for _, name := range []string{"nights", "noroom"} {
			if j := r.job(name); j.Stale {
				t.Errorf("too early: %+v", j)
			}
		}
		sleepUntil(6, 0, 0)
		for _, name := range []string{"nights", "noroom"} {
			if j := r.job(name); j.Health != status.Stale {
				t.Errorf("%s is %s: %+v", name, j.Health, j)
			}
		}
		if len(tell.told) < 2 {
			t.Errorf("told %v", tell.told)
		}
	})
}

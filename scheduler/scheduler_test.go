// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
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
		r := &rig{
			t:     t,
			store: newMemory(),
			log:   newStartLog(),
			files: files,
		}
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
	time.Sleep(time.Until(time.Date(2000, 3, day, hour, minute, 0, 0, time.UTC))) // in a bubble
	synctest.Wait()
}

func TestSchedule(t *testing.T) {
	files := []File{makeJob(t, "daily0", "30 3 * * *", "UTC", ""), makeJob(t, "byhand", "", "UTC", ""),
		makeJob(t, "every0", "@every 10h", "UTC", ""), makeJob(t, "berlin", "30 3 * * *", "Europe/Berlin", "")}
	inBubble(t, Options{}, files, func(t *testing.T, r *rig) {
		for name, want := range map[string]string{
			"daily0": "2000-03-02 03:30 UTC", "berlin": "2000-03-02 03:30 CET", "byhand": "",
		} {
			if j := r.job(name); j.NextText != want {
				t.Errorf("%s: next run %q, want %q", name, j.NextText, want)
			}
		}
		if j := r.job("daily0"); j.Health != status.New || j.Activity != status.Idle ||
			!j.Next.Equal(time.Date(2000, 3, 2, 3, 30, 0, 0, time.UTC)) || j.Why != whySchedule {
			t.Errorf("%+v", j)
		}
		if j := r.job("byhand"); j.Next != nil {
			t.Errorf("%+v", j)
		}
		sleepUntil(2, 3, 31)
		sleepUntil(3, 4, 0)
		r.want("daily0", "02 03:30 schedule", "03 03:30 schedule")
		r.want("every0", "01 12:00 schedule", "01 22:00 schedule", "02 08:00 schedule", "02 18:00 schedule",
			"03 04:00 schedule")
		r.want("byhand")
		if j := r.job("daily0"); j.Health != status.OK || j.Last.Verdict != status.VerdictComplete ||
			j.Complete == nil || j.Staleness != 30*60 {
			t.Errorf("%+v", j)
		}
	})
}

// At most MaxRuns at a time; those that wait go in the order in which they were due, and runs by
// hand first of all.
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
	files := []File{makeJob(t, "hourly", "0 * * * *", "UTC", "")}
	inBubble(t, Options{Runner: run}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 19, 30)
		r.want("hourly", "01 13:00 schedule", "01 16:00 schedule", "01 19:00 schedule")
		if n := r.Status().Daemon.Runs.Skipped; n != 4 || run.twice {
			t.Errorf("skipped %d", n)
		}
	})
}

// A run pauses outside its window and continues when it opens; a job that is due outside waits.
func TestWindow(t *testing.T) {
	files := []File{makeJob(t, "nights", "0 22 * * *", "UTC", `window = "22:00-02:00"`),
		makeJob(t, "midday", "0 12 2 3 *", "UTC", `window = "14:00-15:00"`)}
	run := &fakeRunner{takes: func(j *job.Job) time.Duration { return 6 * time.Hour }}
	run.takes = func(j *job.Job) time.Duration { // as if what was fetched were kept: the third night is the last
		if j.Name == "nights" && run.runs(j.Name) >= 3 {
			return time.Hour
		}
		return 6 * time.Hour
	}
	inBubble(t, Options{Runner: run}, files, func(t *testing.T, r *rig) {
		sleepUntil(2, 2, 1)
		if j := r.job("nights"); j.Activity != status.Window || j.Health != status.Partial ||
			j.Last.Cause != status.OutOfHours || !j.Next.Equal(time.Date(2000, 3, 2, 22, 0, 0, 0, time.UTC)) ||
			j.Failures != 0 {
			t.Errorf("%+v, last %+v", j, j.Last)
		}
		if j := r.job("midday"); (j.NextText != "2000-03-02 14:00 UTC") || (j.Why != whySchedule) {
			t.Errorf("next %s (%s), want when the window opens", j.NextText, j.Why)
		}
		if n := r.Status().Daemon.Running; n != 0 {
			t.Errorf("%d runs take a turn outside their window", n)
		}
		sleepUntil(3, 23, 30)
		r.want("nights", "01 22:00 schedule", "02 22:00 resume", "03 22:00 resume")
		r.want("midday", "02 14:00 schedule", "03 14:00 resume")
		if j := r.job("nights"); j.Health != status.OK ||
			!j.Verified.Equal(time.Date(2000, 3, 1, 22, 0, 0, 0, time.UTC)) {
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
		if j := r.job("hourly"); j.Activity != status.Paused || j.Last.Cause != status.PausedRun ||
			j.Fix != "mirrord resume hourly" {
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
		if j := r.job("hourly"); j.Activity != status.Idle || j.Last.Cause != status.Cancelled ||
			j.Health != status.Partial {
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
	files := []File{makeJob(t, "hourly", "0 * * * *", "UTC", ""), parsed(t, "broken", "x = 1")}
	inBubble(t, Options{}, files, func(t *testing.T, r *rig) {
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
		if _, _, err := r.RunNow("broken", RunNowOptions{}); err == nil ||
			!strings.Contains(err.Error(), `unknown key "x"`) {
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

// A reload does not touch jobs in which nothing changed; a changed one ends its run as it was; a removed one
// is ended.
func TestReload(t *testing.T) {
	files := []File{makeJob(t, "same00", "0 * * * *", "UTC", ""), makeJob(t, "other0", "0 * * * *", "UTC", ""),
		makeJob(t, "away00", "0 * * * *", "UTC", "")}
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
		// A directory that can no longer be read stops nothing.
		r.Problem("it is gone")
		sleepUntil(1, 15, 1)
		r.want("same00", "01 13:00 schedule", "01 14:00 schedule", "01 15:00 schedule")
		if st := r.Status(); st.Daemon.Problem != "it is gone" {
			t.Errorf("%+v", st.Daemon)
		}
		// Nor does a daemon that starts without it: it has kept the last good files.
		r.stop()
		s, err := New(Options{
			Runner: r.runner,
			Store:  r.store,
			Local:  time.UTC,
			Spread: -1,
			Log:    slogOf(r.log),
		})
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
		if j := r.job("same00"); !j.Refused || j.Health != status.Invalid || j.Schedule != "0 * * * *" ||
			len(j.Problems) != 2 {
			t.Errorf("%+v", j)
		}
	})
}

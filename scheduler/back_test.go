// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// A run that is in the run log, complete, when the process was killed before its record was written, is not
// made again.
func TestKilledAfterTheEnd(t *testing.T) {
	at := time.Date(2000, 3, 1, 13, 0, 0, 0, time.UTC)
	run := status.Run{
		Started:   at.Add(time.Second),
		Ended:     at.Add(time.Minute),
		Verdict:   status.VerdictComplete,
		Version:   2,
		Published: true,
	}
	for _, tc := range []struct {
		name    string
		verdict string
		started time.Time
		again   bool
	}{{"complete", status.VerdictComplete, at.Add(time.Second), false},
		{"gaps", status.VerdictGaps, at.Add(time.Second), false},
		{"suspicious", status.VerdictSuspicious, at.Add(time.Second), false},
		{"partial", status.VerdictPartial, at.Add(time.Second), true},
		{"an older one", status.VerdictComplete, at.Add(-time.Hour), true}} {
		rec := Record{Served: at, Running: at, Began: at}
		run.Verdict, run.Started = tc.verdict, tc.started
		rec.Note(run)
		rec.killed(at.Add(time.Hour))
		if rec.Resume != tc.again || (!tc.again && (rec.Last.Verdict != tc.verdict || rec.At.IsZero())) {
			t.Errorf("%s: resume %v, last %+v, at %v", tc.name, rec.Resume, rec.Last, rec.At)
		}
	}
}

// slowToEnd takes a while to end when its context ends.
type slowToEnd struct{}

func (slowToEnd) Run(ctx context.Context, _ *job.Job, _ RunOptions) status.Run {
	run := status.Run{Started: time.Now(), Verdict: status.VerdictComplete}
	select {
	case <-ctx.Done():
		time.Sleep(10 * time.Second) // in a bubble
		run.Verdict = status.VerdictPartial
	case <-time.After(10 * time.Minute):
	}
	return run
}

// A job whose file goes and comes back while its run is ending continues that run.
func TestFileComesBack(t *testing.T) {
	run := slowToEnd{}
	files := []File{makeJob(t, "back01", "0 13 * * *", "UTC", "")}
	inBubble(t, Options{Runner: run}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 5)
		r.Apply(Config{})
		synctest.Wait()
		r.Apply(Resolve(files, nil))
		sleepUntil(1, 13, 30)
		r.want("back01", "01 13:00 schedule", "01 13:05 resume")
	})
}

// A run by hand follows the window and the min_free that were set for it.
func TestSetWindow(t *testing.T) {
	files := []File{makeJob(t, "window", "", "UTC", `window = "22:00-02:00"`)}
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return 10 * time.Minute }}
	inBubble(t, Options{Runner: run}, files, func(t *testing.T, r *rig) {
		j := *files[0].Job
		j.Window = ""
		ticket, _, err := r.RunNow("window", RunNowOptions{Job: &j})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Minute)
		select {
		case <-ticket.Done():
			if got, err := ticket.Result(); err != nil || got.Verdict != status.VerdictComplete {
				t.Errorf("%+v, %v", got, err)
			}
		default:
			t.Error("it waits for the window of the job")
		}
	})
}

// An interrupted run that finds its site locked by another process continues all the same, also when the job
// has no schedule that would start it.
func TestLockedWhenItGoesOn(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	run.ends = func(_ *job.Job, n int) status.Run {
		if n == 1 {
			return status.Run{Verdict: status.VerdictError, Cause: status.Busy, Error: "locked"}
		}
		return status.Run{Verdict: status.VerdictComplete}
	}
	inBubble(t, Options{Runner: run}, []File{makeJob(t, "byhand", "", "UTC", "")}, func(t *testing.T, r *rig) {
		r.mu.Lock()
		r.state.jobs["byhand"].Resume = true // as after a restart
		r.mu.Unlock()
		r.state.wake.kick()
		sleepUntil(1, 13, 0)
		r.want("byhand", "01 12:00 resume", "01 12:02 resume")
	})
}

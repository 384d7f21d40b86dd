// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
	"mirrord/site"
)

// lookingRunner finds URLs that answer 404 for the first time in each run that is no second look.
type lookingRunner struct {
	fakeRunner
	none  atomic.Bool // no URL answers so now
	mu    sync.Mutex
	again []bool
}

func (l *lookingRunner) Run(ctx context.Context, j *job.Job, o RunOptions) status.Run {
	run := l.fakeRunner.Run(ctx, j, o)
	if !o.Again && !l.none.Load() {
		run.FirstGone = 22
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = append(l.again, o.Again)
	return run
}

// What answers 404 for the first time is looked at again within the hour, inside the window, once, without
// taking the place of the runs of the schedule. A job without a schedule waits for its next run.
func TestSecondLook(t *testing.T) {
	for _, c := range []struct {
		schedule, window string
		want             []string
		again            []bool
	}{
		{"0 13 * * *", "", []string{
			"01 13:00 schedule", "01 13:31 second look", "02 13:00 schedule", "02 13:31 second look",
		}, []bool{false, true, false, true}},
		{"0 13 * * *", `window = "12:00-13:20"`, []string{ // both are due when it opens, but for one minute
			"01 13:00 schedule", "02 12:00 second look", "02 13:00 schedule",
		}, []bool{false, true, false}},
		{"*/20 * * * *", "", []string{"01 12:20 schedule", "01 12:40 schedule", "01 13:00 schedule"},
			[]bool{false, false, false}},
		{"continuous", "", []string{"01 12:00 schedule", "01 12:31 second look"}, []bool{false, true}},
		{"", "", nil, nil},
	} {
		l := &lookingRunner{fakeRunner: fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}}
		inBubble(t, Options{Runner: l}, []File{makeJob(t, "a", c.schedule, "UTC", c.window)},
			func(t *testing.T, r *rig) {
				switch c.schedule {
				case "*/20 * * * *":
					sleepUntil(1, 13, 10)
				case "continuous":
					sleepUntil(1, 12, 50)
				default:
					sleepUntil(2, 13, 50)
				}
				r.want("a", c.want...)
				if !slices.Equal(l.again, c.again) {
					t.Errorf("%q: second looks %v, want %v", c.schedule, l.again, c.again)
				}
			})
	}
}

// A second look that does not end well is tried again, and stays one; so is it over the end of the process.
func TestSecondLookIsTriedAgain(t *testing.T) {
	l := &lookingRunner{fakeRunner: fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}}
	l.ends = func(_ *job.Job, n int) status.Run {
		if n == 2 {
			return status.Run{Verdict: status.VerdictPartial, Reasons: []string{"the host does not answer"}}
		}
		return status.Run{Verdict: status.VerdictComplete}
	}
	files := []File{makeJob(t, "a", "0 13 * * *", "UTC", "")}
	inBubble(t, Options{Runner: l}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 10)
		r.stop()
		r.boot(Options{Runner: l})
		if j := r.job("a"); j.Why != whyAgain || j.NextText != "2000-03-01 13:31 UTC" {
			t.Errorf("next run %s: %s", j.NextText, j.Why)
		}
		sleepUntil(2, 12, 0)
		r.want("a", "01 13:00 schedule", "01 13:31 second look", "01 13:47 retry")
		if want := []bool{false, true, true}; !slices.Equal(l.again, want) {
			t.Errorf("second looks %v, want %v", l.again, want)
		}
	})
}

// Accepting a run and a run for single URLs by hand request none of the URLs that answered 404 for the first
// time: the second look stays due.
func TestSecondLookStaysDue(t *testing.T) {
	l := &lookingRunner{fakeRunner: fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}}
	files := []File{makeJob(t, "a", "0 13 * * *", "UTC", "")}
	page, err := job.Parse("a", "a.toml", []byte("url = \"http://a.example/\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	page.Only = []site.URL{site.Canonical(page.URLs[0])}
	for _, o := range []RunNowOptions{{Accept: true}, {Job: page}} {
		inBubble(t, Options{Runner: l}, files, func(t *testing.T, r *rig) {
			l.none.Store(false)
			sleepUntil(1, 13, 10)
			l.none.Store(true)
			if _, _, err := r.RunNow("a", o); err != nil {
				t.Fatal(err)
			}
			sleepUntil(1, 13, 50)
			r.want("a", "01 13:00 schedule", "01 13:10 by hand", "01 13:31 second look")
		})
	}
}

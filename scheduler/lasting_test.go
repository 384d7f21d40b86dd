// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// A problem that another run would only meet again is reported once and tried again by the schedule alone,
// or when the
// file of the job is another one.
func TestLastingIsNotRetried(t *testing.T) {
	run := endsWellAfter(4, status.Run{
		Verdict: status.VerdictError,
		Error:   "job daily: auth.password: read secret: environment variable P is not set",
		Lasting: true,
	})
	tell := &fakeTeller{}
	const notify = "notify = { command = \"true\" }\n"
	inBubble(t, Options{
		Runner: run,
		Teller: tell,
	}, []File{makeJob(t, "daily", "0 13 * * *", "UTC", notify)}, func(t *testing.T, r *rig) {
		sleepUntil(3, 15, 0)
		r.want("daily", "01 13:00 schedule", "02 13:00 schedule", "03 13:00 schedule")
		if j := r.job("daily"); (j.Health != status.Failed) || !strings.Contains(j.Fix, "mirrord check names it") {
			t.Errorf("%+v", j)
		}
		if len(tell.told) != 1 {
			t.Errorf("told %v, want once", tell.told)
		}
		r.Apply(Resolve([]File{makeJob(t, "daily", "0 13 * * *", "UTC", notify+"title = \"x\"\n")}, r.Config()))
		sleepUntil(4, 15, 0)
		r.want("daily", "01 13:00 schedule", "02 13:00 schedule", "03 13:00 schedule", "03 15:00 retry",
			"04 13:00 schedule")
		if j := r.job("daily"); (j.Health != status.OK) || (len(tell.told) != 2) {
			t.Errorf("%+v, told %v", j, tell.told)
		}
	})
}

// A problem that only a user can solve is tried again when they say so, and by a new daemon: their solution
// need not
// be in the file of the job.
func TestLastingIsRetriedOnRequest(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	run.ends = func(*job.Job, int) status.Run {
		return status.Run{Verdict: status.VerdictPartial, Reasons: []string{"no such host"}, Lasting: true}
	}
	tell := &fakeTeller{}
	o := Options{Runner: run, Teller: tell}
	files := []File{makeJob(t, "daily", "0 13 * * *", "UTC", "notify = { command = \"true\" }\n"),
		makeJob(t, "byhand", "", "UTC", "")}
	inBubble(t, o, files, func(t *testing.T, r *rig) {
		if _, _, err := r.RunNow("byhand", RunNowOptions{}); err != nil {
			t.Fatal(err)
		}
		sleepUntil(1, 15, 0)
		r.Apply(Resolve(files, r.Config()))
		sleepUntil(1, 16, 0)
		r.want("daily", "01 13:00 schedule")
		if got := r.RetryLasting(); !slices.Equal(got, []string{"daily"}) {
			t.Errorf("%q are tried again", got)
		}
		sleepUntil(1, 17, 0)
		r.want("daily", "01 13:00 schedule", "01 16:00 retry")
		r.stop()
		r.boot(o)
		sleepUntil(1, 18, 0)
		r.want("daily", "01 13:00 schedule", "01 16:00 retry", "01 17:00 retry")
		r.want("byhand", "01 12:00 by hand")
		if len(tell.told) != 1 {
			t.Errorf("told %v, want once", tell.told)
		}
	})
}

type fakeTeller struct {
	mu   sync.Mutex
	told []string
	next []string // that each message names
}

func (f *fakeTeller) HasReceiver(j *job.Job) bool { return j.Notify.Command != "" }

func (f *fakeTeller) Tell(kind status.Kind, j *job.Job, s status.Job) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, string(kind)+" "+j.Name)
	f.next = append(f.next, s.NextText+" "+s.Why)
}

// A message about a run that a user started names the run after it, as status does.
func TestMessageNamesTheNextRun(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	run.ends = func(_ *job.Job, _ int) status.Run {
		return status.Run{Verdict: status.VerdictSuspicious, Reasons: []string{"much is gone"}}
	}
	tell := &fakeTeller{}
	inBubble(t, Options{
		Runner: run,
		Teller: tell,
	}, []File{makeJob(t, "daily", "0 13 * * *", "UTC", "notify = { command = \"true\" }\n")},
		func(t *testing.T, r *rig) {
			ticket, _, err := r.RunNow("daily", RunNowOptions{})
			if err != nil {
				t.Fatal(err)
			}
			<-ticket.Done()
			j := r.job("daily")
			want := j.NextText + " " + j.Why
			if got := strings.Join(tell.next, "; "); (got != want) || !strings.HasSuffix(got, "13:00 UTC schedule") {
				t.Errorf("the message names %q, status %q", got, want)
			}
		})
}

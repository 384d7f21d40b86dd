// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// TestFirstRun: a job with a schedule whose site is empty is due at once, also against the record. The
// schedule says when again.
func TestFirstRun(t *testing.T) {
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	o := Options{
		Runner: run,
		Empty:  func(name string) bool { return name != "full00" && run.runs(name) == 0 },
	}
	files := []File{
		makeJob(t, "daily0", "30 3 * * *", "UTC", ""),
		makeJob(t, "every0", "@every 10h", "UTC", ""),
		makeJob(t, "always", "continuous", "UTC", ""),
		makeJob(t, "byhand", "", "UTC", ""),
		makeJob(t, "full00", "30 3 * * *", "UTC", ""),
		makeJob(t, "nights", "0 23 * * *", "UTC", `window = "22:00-02:00"`),
	}
	inBubble(t, o, files, func(t *testing.T, r *rig) {
		if j := r.job("nights"); j.Activity != status.Window || j.Why != whyFirst ||
			j.NextText != "2000-03-01 22:00 UTC" {
			t.Errorf("%s, next %s (%s)", j.Activity, j.NextText, j.Why)
		}
		sleepUntil(2, 4, 0)
		r.want("daily0", "01 12:00 first", "02 03:30 schedule")
		r.want("every0", "01 12:00 first", "01 22:00 schedule")
		r.want("byhand")
		r.want("full00", "02 03:30 schedule")
		r.want("nights", "01 22:00 first", "01 23:00 schedule")
		if n := len(r.log.starts["always"]); n == 0 || r.log.starts["always"][0].why != whyFirst {
			t.Errorf("%v", r.log.starts["always"])
		}
	})
}

// A record without a run is of a job that waited for its schedule: the next daemon runs it at once. A job
// that is paused, and one whose site gets a version meanwhile, do not start.
func TestFirstRunAfterRestart(t *testing.T) {
	var imported atomic.Bool
	files := []File{
		makeJob(t, "waited", "30 3 * * *", "UTC", ""),
		makeJob(t, "paused", "30 3 * * *", "UTC", ""),
		makeJob(t, "import", "30 3 * * *", "UTC", `window = "14:00-04:00"`),
	}
	inBubble(t, Options{}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 0)
		if err := r.Pause("paused"); err != nil {
			t.Fatal(err)
		}
		r.want("waited")
		r.stop()
		r.boot(Options{
			Runner: r.runner,
			Empty: func(name string) bool {
				return !(name == "import" && imported.Load()) && r.runner.runs(name) == 0
			},
		})
		imported.Store(true)
		sleepUntil(1, 15, 0)
		r.want("waited", "01 13:00 first")
		r.want("paused")
		r.want("import")
		if err := r.Resume("paused"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.want("paused", "01 15:00 first")
	})
}

// A first run that ends without having begun, such as when another process works on the site, is tried again
// after its pause. Many first runs share the turns.
func TestFirstRunTurns(t *testing.T) {
	run := &fakeRunner{
		takes: func(*job.Job) time.Duration { return time.Minute },
		ends: func(j *job.Job, n int) status.Run {
			if j.Name == "busy00" && n < 3 {
				return status.Run{Cause: status.Busy, Verdict: status.VerdictError}
			}
			return status.Run{Verdict: status.VerdictComplete}
		},
	}
	files := []File{makeJob(t, "busy00", "30 3 * * *", "UTC", "")}
	for i := range 100 {
		files = append(files, makeJob(t, fmt.Sprintf("many%02d", i), "30 3 * * *", "UTC", ""))
	}
	inBubble(t, Options{
		Runner:  run,
		MaxRuns: 4,
		Empty:   func(string) bool { return true },
	}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 0)
		if len(r.log.starts["busy00"]) == 0 || len(r.log.starts["busy00"]) > 4 {
			t.Errorf("%v", r.log.starts["busy00"])
		}
		for _, f := range files[1:] {
			if n := run.runs(f.Name); n != 1 {
				t.Errorf("%s had %d runs", f.Name, n)
			}
		}
		if run.most != 4 {
			t.Errorf("%d runs at a time", run.most)
		}
	})
}

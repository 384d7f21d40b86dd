// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// Record is what outlives the process about one job. It is plain data, kept as JSON.
type Record struct {
	Schedule string    `json:"schedule,omitempty"` // that Served belongs to
	Timezone string    `json:"timezone,omitempty"`
	Served   time.Time `json:"served,omitzero"` // the schedule has been served up to here

	Added   time.Time `json:"added,omitzero"`   // when the scheduler came to know the job
	Running time.Time `json:"running,omitzero"` // start of the run under way; still there after kill -9
	// start of the first of the runs that together are to be one complete run
	Began  time.Time `json:"began,omitzero"`
	Resume bool      `json:"resume,omitempty"` // a run was interrupted and is to continue
	Paused bool      `json:"paused,omitempty"`
	Retry  time.Time `json:"retry,omitzero"` // after a run that did not end well
	At     time.Time `json:"at,omitzero"`    // next run of a continuous job
	// when the URLs are looked at again that answered 404 or 410 for the first time, until that look has ended
	Again time.Time  `json:"again,omitzero"`
	Rate  ChangeRate `json:"rate,omitzero"`

	Last     *status.Run `json:"last,omitempty"`
	Complete time.Time   `json:"complete,omitzero"` // end of the last run that was complete or had gaps
	Verified time.Time   `json:"verified,omitzero"` // see status.Job
	// since when Verified or Added is far ahead of the clock, and one of them is wrong
	Doubted   time.Time   `json:"doubted,omitzero"`
	Failures  int         `json:"failures,omitempty"`
	Version   int         `json:"version,omitempty"`
	Published time.Time   `json:"published,omitzero"`
	Files     int         `json:"files,omitempty"`
	Bytes     int64       `json:"bytes,omitempty"`
	Told      status.Told `json:"told,omitzero"`

	Text string `json:"text,omitempty"` // the job file in force: the last good one
}

// Store keeps records. Saving is atomic: all of one call or nothing. It is called by one goroutine at a time.
type Store interface {
	LoadRecords() (map[string]Record, error)
	SaveRecords(map[string]*Record) error // nil removes
}

// retryAfter is the pause after the n-th run in a row that did not end well: from a quarter of an hour to
// half a day.
func retryAfter(n int) time.Duration {
	d := 15 * time.Minute
	for ; n > 1 && d < 12*time.Hour; n-- {
		d *= 2
	}
	return min(d, 12*time.Hour)
}

// roomAfter is the pause after the n-th run in a row that ended because of a full disk, from a minute to an
// hour: what says that there is room may be wrong (a quota, another disk below publish.dir), and what a run
// frees when it ends it needs again.
func roomAfter(n int) time.Duration {
	return min(time.Minute<<min(max(n-1, 0), 10), time.Hour)
}

// lockedAfter is the pause when another process works on the site.
const lockedAfter = time.Minute

// secondLookAfter is the pause before the URLs are looked at again that answered 404 or 410 for the first
// time. It is long enough for a deploy, and the look comes within the hour.
const secondLookAfter = 30 * time.Minute

// lookAgain says when a run that has ended leaves URLs to be looked at again; zero when it does not.
func (r *Record) lookAgain(run *status.Run) time.Time {
	if (run.FirstGone == 0) || (r.Schedule == "") {
		return time.Time{}
	}
	return run.Ended.Add(secondLookAfter)
}

// ended takes in how a run ended, and decides what comes next.
func (r *Record) ended(j *job.Job, c Clock, run status.Run) {
	began, second := r.Began, !r.Again.IsZero()
	r.Running, r.Resume, r.Retry = time.Time{}, false, time.Time{}
	if run.Cause == status.Busy { // it has not run at all
		r.Retry = run.Ended.Add(lockedAfter)
		return
	}
	var before time.Time // end of the complete run before
	before, r.Last, run.Summary = r.Complete, &run, nil
	if run.Version > 0 {
		r.Version, r.Files, r.Bytes = run.Version, run.Files, run.Bytes
		if run.Published {
			r.Published = run.Ended
		}
	}
	switch {
	case run.RolledBackTo > 0 && !run.Held: // it looked at nothing
		r.Failures, r.Began, r.Verified = 0, time.Time{}, run.Verified
	case run.Finished():
		r.Failures, r.Began, r.Complete = 0, time.Time{}, run.Ended
		if r.Verified = run.Verified; r.Verified.IsZero() { // at worst since the first of the runs began
			if r.Verified = run.Started; !began.IsZero() && began.Before(r.Verified) {
				r.Verified = began
			}
		}
		if !before.IsZero() && !second {
			r.Rate = r.Rate.Observe(run.Added+run.Changed+run.Removed, run.Ended.Sub(before))
		}
	case run.Cause == status.Cancelled:
	case run.Cause == status.Postponed:
		r.Retry = run.Ended.Add(retryAfter(1))
	case run.Cause == status.BadState || run.Cause == status.StateFull || run.Lasting:
		// until a user acts each run ends so: only the schedule asks again
		r.Failures++
	case run.Cause != status.ByItself && run.Cause != status.DiskFull:
		r.Resume = true
	default:
		r.Failures++
		r.Resume = run.Cause == status.DiskFull
		switch {
		case r.Resume:
			r.Retry = run.Ended.Add(roomAfter(r.Failures))
		case run.Verdict != status.VerdictSuspicious && !c.Manual():
			r.Retry = run.Ended.Add(retryAfter(r.Failures))
		}
	}
	if run.Finished() {
		r.Again = r.lookAgain(&run)
	} else if !r.Resume && r.Retry.IsZero() {
		r.Again = time.Time{}
	}
	if c.Continuous() && !second {
		r.At = run.Ended.Add(r.Rate.Interval(r.Files, j.MinInterval, j.MaxInterval))
	}
}

// Note records a run that was made without the scheduler, or that ended in the moment before its
// process was killed. What was planned stays as it was.
func (r *Record) Note(run status.Run) {
	keep := *r
	r.ended(job.Default(), Clock{}, run)
	r.Running, r.Resume, r.Retry, r.At, r.Rate = keep.Running, keep.Resume && !run.Finished(), keep.Retry,
		keep.At, keep.Rate
	if r.Last.Finished() {
		r.Retry = time.Time{}
	} else {
		r.Again = keep.Again
	}
	if !r.Running.IsZero() && !run.Started.Before(r.Running) &&
		// this is the run under way, and nothing is left to do
		(run.Finished() || run.Verdict == status.VerdictSuspicious) {
		if r.Running = (time.Time{}); r.At.IsZero() {
			r.At = run.Ended.Add(job.Default().MinInterval)
		}
	}
}

// hasLasting reports whether the last run ended for something that another one meets again.
func (r *Record) hasLasting() bool { return (r.Last != nil) && r.Last.Lasting }

// killed takes in that the process ended without a word while a run was under way.
func (r *Record) killed(now time.Time) {
	if r.Running.IsZero() {
		return
	}
	run := status.Run{
		Started: r.Running,
		Ended:   now,
		Verdict: status.VerdictPartial,
		Cause:   status.Killed,
		Reasons: []string{"the daemon was killed; the run continues"},
		Version: r.Version,
		Files:   r.Files,
		Bytes:   r.Bytes,
	}
	r.Last, r.Resume, r.Running = &run, true, time.Time{}
}

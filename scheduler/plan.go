// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// Why a job is due.
const (
	whyFirst    = "first"
	whySchedule = "schedule"
	whyMissed   = "missed"
	whyRetry    = "retry"
	whyResume   = "resume"
	whyAgain    = "second look"
	whyByHand   = "by hand"
)

// entry is what the scheduler knows of one job.
type entry struct {
	name  string
	cfg   *Entry // nil: the file is gone and its last run is ending
	clock Clock
	rec   Record
	dirty bool // rec is to be saved

	empty  bool      // the site has no run and no version: the first run is due at once
	run    *running  // nil: none
	manual *Ticket   // requested by hand and not started
	seen   time.Time // when this process took the job in; what was due before that was missed

	start    time.Time // cache of clock.Start(startFor)
	startFor time.Time
	due      time.Time // when it wants to run next; zero: never
	why      string
	worked   time.Time       // when it last had a turn
	behind   []string        // the jobs that have or get a turn before, while it waits for one
	activity status.Activity // while it does not run
	held     time.Time       // when what holds it back ends, if that is known
}

// job returns the job in force, nil without one.
func (e *entry) job() *job.Job {
	if e.cfg == nil {
		return nil
	}
	return e.cfg.Job
}

// scheduled returns when the schedule wants the next run.
func (e *entry) scheduled() time.Time {
	if e.startFor.IsZero() || !e.startFor.Equal(e.rec.Served) {
		e.start, e.startFor = e.clock.Start(e.rec.Served), e.rec.Served
	}
	return e.start
}

// serve notes that a run which starts, or is under way, at now serves what the schedule wanted until now.
func (e *entry) serve(now time.Time) (served bool) {
	at := e.scheduled()
	if at.IsZero() || at.After(now) {
		return false
	}
	e.rec.Served, e.dirty = now, true
	if e.clock.spec.Every == 0 {
		e.rec.Served = now.Add(-e.clock.jitter)
	}
	return true
}

// adopt puts a configuration in force at now. A schedule that is new counts from now on; what the old one
// wanted and did not get is made up.
func (e *entry) adopt(cfg *Entry, clock Clock, now time.Time) {
	old := e.clock
	e.cfg, e.startFor = cfg, time.Time{}
	if cfg.Job == nil {
		return
	}
	e.clock = clock
	if e.rec.Added.IsZero() {
		e.rec.Added, e.dirty = now, true
	}
	if text := string(cfg.Text); e.rec.Text != text {
		if (e.rec.Text != "") && e.rec.hasLasting() && !clock.Manual() {
			e.rec.Retry = now // the new file may be what was missing
		}
		e.rec.Text, e.dirty = text, true
	}
	spec, tz := cfg.Job.Schedule, cfg.Job.Timezone
	if !e.rec.Served.IsZero() && e.rec.Schedule == spec && e.rec.Timezone == tz {
		return
	}
	if !e.rec.Served.IsZero() && e.rec.Schedule != "" {
		if was := (&job.Job{Name: e.name, Schedule: e.rec.Schedule, Timezone: e.rec.Timezone}); old.zone == nil {
			// the record is of another process; a schedule that cannot be read wants nothing
			old, _ = NewClock(was, clock.zone, -1)
		}
		if at := old.Next(e.rec.Served); !at.IsZero() && !at.After(now) && !clock.Manual() {
			e.rec.Retry = now
		}
	}
	e.rec.Schedule, e.rec.Timezone, e.rec.Served, e.dirty = spec, tz, now, true
	if every := clock.spec.Every; every > 0 { // the first one comes soon
		e.rec.Served = now.Add(clock.jitter - every)
	}
	if e.rec.At = (time.Time{}); clock.Continuous() {
		e.rec.At = now.Add(clock.jitter)
	}
}

// A time in a record this far ahead of what it can be comes from a clock that was wrong.
const tooFarAhead = 25 * time.Hour

// sane corrects times that a clock that went back has left behind: nothing may wait for a year that will not
// come.
func (e *entry) sane(now time.Time) (corrected bool) {
	if e.rec.Served.Sub(now) > tooFarAhead {
		e.rec.Served, corrected = now, true
	}
	if e.rec.Retry.Sub(now) > tooFarAhead {
		e.rec.Retry, corrected = now, true
	}
	if e.rec.Again.Sub(now) > tooFarAhead {
		e.rec.Again, corrected = now, true
	}
	if j := e.job(); j != nil && e.rec.At.Sub(now) > j.MaxInterval+tooFarAhead {
		e.rec.At, corrected = now, true
	}
	if e.rec.Told.At.After(now.Add(tooFarAhead)) {
		e.rec.Told, corrected = status.Told{}, true
	}
	if e.rec.Began.After(now) {
		e.rec.Began, e.dirty = now, true
	}
	// An interval that began in the future would last longer than it is: a machine whose clock is an hour ahead
	// made the last run.
	if e.clock.Interval() && e.rec.Served.After(now) {
		e.rec.Served, e.dirty = now, true
	}
	// A mirror that was verified in a year that will not come would be fresh until then. When it is the clock
	// that is wrong, for a moment, nothing is lost.
	switch ahead := now.Add(tooFarAhead); {
	case !e.rec.Verified.After(ahead) && !e.rec.Added.After(ahead):
		if !e.rec.Doubted.IsZero() {
			e.rec.Doubted, e.dirty = time.Time{}, true
		}
	case e.rec.Doubted.IsZero() || e.rec.Doubted.After(now):
		e.rec.Doubted, corrected = now, true
	}
	if e.seen.After(now) {
		e.seen = now
	}
	if e.worked.After(now) {
		e.worked = now
	}
	e.dirty = e.dirty || corrected
	return corrected
}

// plan sets due and why.
func (e *entry) plan(now time.Time) {
	e.due, e.why = time.Time{}, ""
	want := func(at time.Time, why string) {
		if !at.IsZero() && (e.due.IsZero() || at.Before(e.due)) {
			e.due, e.why = at, why
		}
	}
	if e.job() == nil {
		return
	}
	if e.manual != nil {
		want(e.manual.asked, whyByHand)
		return
	}
	if e.rec.Resume {
		at := e.seen
		if e.rec.Retry.After(at) { // not yet
			at = e.rec.Retry
		}
		want(at, whyResume)
	} else if !e.clock.Manual() {
		if want(e.rec.Retry, whyRetry); e.rec.Retry.IsZero() {
			want(e.rec.Again, whyAgain)
		}
	}
	if e.empty && !e.rec.Resume && e.rec.Retry.IsZero() && !e.clock.Manual() {
		want(e.seen, whyFirst)
	}
	if at := e.scheduled(); !at.IsZero() {
		if at.Before(e.seen) { // missed: made up once, not all jobs at the same moment
			want(e.seen.Add(e.clock.jitter), whyMissed)
		} else {
			want(at, whySchedule)
		}
	}
	if e.clock.Continuous() {
		want(e.rec.At, whySchedule)
	}
}

// isContinuousDue reports whether a continuous job wants its next run.
func (e *entry) isContinuousDue(now time.Time) bool {
	return e.clock.Continuous() && !e.rec.At.After(now)
}

// hold says what keeps a job that is due from starting, "" when nothing does; until is when that ends, if it
// is known.
func (e *entry) hold(now time.Time, free func() int64) (a status.Activity, until time.Time) {
	j, clock := e.job(), e.clock
	if e.manual != nil && e.manual.o.Job != nil {
		j, clock = e.manual.o.Job, e.manual.clock
	}
	switch {
	case e.rec.Paused && e.manual == nil:
		return status.Paused, time.Time{}
	case e.manual != nil && e.manual.o.Accept: // asks for nothing
		return "", time.Time{}
	case !clock.Open(now):
		return status.Window, clock.Opens(now)
	case j.Limits.MinFree > 0 && free() < e.room(int64(j.Limits.MinFree)):
		return status.NoRoom, time.Time{}
	}
	return "", time.Time{}
}

// room is how much must be free for a job to start: somewhat more than at which it stopped, so that it does
// not stop again at once.
func (e *entry) room(least int64) int64 {
	if e.rec.Last != nil && e.rec.Last.Cause == status.DiskFull {
		return least + least/10
	}
	return least
}

// status returns the state of the job.
func (e *entry) status(now time.Time) status.Job {
	s := status.Job{
		Name:      e.name,
		Last:      e.rec.Last,
		Failures:  e.rec.Failures,
		Version:   e.rec.Version,
		Files:     e.rec.Files,
		Bytes:     e.rec.Bytes,
		Activity:  status.Idle,
		Complete:  known(e.rec.Complete),
		Verified:  known(e.rec.Verified),
		Published: known(e.rec.Published),
		Added:     known(e.rec.Added),
	}
	if d := e.rec.Doubted; !d.IsZero() {
		for _, at := range []**time.Time{&s.Verified, &s.Added} {
			if *at != nil && (*at).After(now) {
				*at = &d
			}
		}
	}
	if e.cfg != nil {
		s.File, s.Problems, s.Refused = e.cfg.Path, e.cfg.Refused, len(e.cfg.Refused) > 0
	}
	if j := e.job(); j != nil {
		for _, w := range j.OldKeys() {
			s.Warnings = append(s.Warnings, w.Error())
		}
		s.Schedule, s.Timezone, s.StaleAfter = j.Schedule, j.Timezone, int64(j.Notify.StaleAfter/time.Second)
	}
	if l := e.rec.Last; l != nil {
		s.LastRun, s.Verdict, s.Reasons = known(l.Ended), l.Verdict, l.Reasons
		if l.Error != "" {
			s.Reasons = append(append([]string{}, l.Reasons...), l.Error)
			if l.Cause == status.BadState {
				s.Problems = append(slices.Clip(s.Problems), l.Error)
			}
		}
	}
	switch {
	case e.run != nil:
		s.Activity, s.Started, s.Progress = status.Running, known(e.run.started), e.run.progress.Load()
		s.Turn = e.run.turn.how.works()
		if e.run.cause != status.ByItself {
			s.Activity = status.Ending
		}
	case e.activity != "":
		s.Activity = e.activity
	case e.rec.Paused && e.manual == nil:
		s.Activity = status.Paused
	}
	s.Waits = e.waits()
	next, why := e.due, e.why
	switch {
	case e.run != nil:
		next, why = e.scheduled(), whySchedule
	case s.Activity == status.Window:
		next = e.held
	case s.Activity != status.Idle: // unknown
		next = time.Time{}
	}
	if !next.IsZero() && next.After(now) {
		next = e.clock.Opens(next) // it is due, and waits for its window
	}
	if !next.IsZero() {
		next = next.In(e.clock.zone)
		s.Next, s.NextText, s.Why = &next, status.TimeText(next), why
	}
	s.Judge(now)
	return s
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

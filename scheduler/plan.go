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
	name string
	cfg  *Entry // nil: the file is gone and its last run is ending
	Clock
	Record
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
	if e.startFor.IsZero() || !e.startFor.Equal(e.Served) {
		e.start, e.startFor = e.Start(e.Served), e.Served
	}
	return e.start
}

// serve notes that a run which starts, or is under way, at now serves what the schedule wanted until now.
func (e *entry) serve(now time.Time) (served bool) {
	at := e.scheduled()
	if at.IsZero() || at.After(now) {
		return false
	}
	e.Served, e.dirty = now, true
	if e.spec.Every == 0 {
		e.Served = now.Add(-e.jitter)
	}
	return true
}

// adopt puts a configuration in force at now. A schedule that is new counts from now on; what the old one
// wanted and did not get is made up.
func (e *entry) adopt(cfg *Entry, clock Clock, now time.Time) {
	old := e.Clock
	e.cfg, e.startFor = cfg, time.Time{}
	if cfg.Job == nil {
		return
	}
	e.Clock = clock
	if e.Added.IsZero() {
		e.Added, e.dirty = now, true
	}
	if text := string(cfg.Text); e.Text != text {
		if (e.Text != "") && e.hasLasting() && !clock.Manual() {
			e.Retry = now // the new file may be what was missing
		}
		e.Text, e.dirty = text, true
	}
	spec, tz := cfg.Job.Schedule, cfg.Job.Timezone
	if !e.Served.IsZero() && e.Schedule == spec && e.Timezone == tz {
		return
	}
	if !e.Served.IsZero() && e.Schedule != "" {
		if was := (&job.Job{Name: e.name, Schedule: e.Schedule, Timezone: e.Timezone}); old.zone == nil {
			// the record is of another process; a schedule that cannot be read wants nothing
			old, _ = NewClock(was, clock.zone, -1)
		}
		if at := old.Next(e.Served); !at.IsZero() && !at.After(now) && !clock.Manual() {
			e.Retry = now
		}
	}
	e.Schedule, e.Timezone, e.Served, e.dirty = spec, tz, now, true
	if every := clock.spec.Every; every > 0 { // the first one comes soon
		e.Served = now.Add(clock.jitter - every)
	}
	if e.At = (time.Time{}); clock.Continuous() {
		e.At = now.Add(clock.jitter)
	}
}

// A time in a record this far ahead of what it can be comes from a clock that was wrong.
const tooFarAhead = 25 * time.Hour

// sane corrects times that a clock that went back has left behind: nothing may wait for a year that will not
// come.
func (e *entry) sane(now time.Time) (corrected bool) {
	for _, at := range []*time.Time{&e.Served, &e.Retry, &e.Again} {
		if at.Sub(now) > tooFarAhead {
			*at, corrected = now, true
		}
	}
	if j := e.job(); j != nil && e.At.Sub(now) > j.MaxInterval+tooFarAhead {
		e.At, corrected = now, true
	}
	if e.Told.At.After(now.Add(tooFarAhead)) {
		e.Told, corrected = status.Told{}, true
	}
	if e.Began.After(now) {
		e.Began, e.dirty = now, true
	}
	// An interval that began in the future would last longer than it is: a machine whose clock is an hour ahead
	// made the last run.
	if e.Interval() && e.Served.After(now) {
		e.Served, e.dirty = now, true
	}
	// A mirror that was verified in a year that will not come would be fresh until then. When it is the clock
	// that is wrong, for a moment, nothing is lost.
	switch ahead := now.Add(tooFarAhead); {
	case !e.Verified.After(ahead) && !e.Added.After(ahead):
		if !e.Doubted.IsZero() {
			e.Doubted, e.dirty = time.Time{}, true
		}
	case e.Doubted.IsZero() || e.Doubted.After(now):
		e.Doubted, corrected = now, true
	}
	for _, at := range []*time.Time{&e.seen, &e.worked} {
		if at.After(now) {
			*at = now
		}
	}
	e.dirty = e.dirty || corrected
	return corrected
}

// plan sets due and why.
func (e *entry) plan() {
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
	if e.Resume {
		at := e.seen
		if e.Retry.After(at) { // not yet
			at = e.Retry
		}
		want(at, whyResume)
	} else if !e.Manual() {
		if want(e.Retry, whyRetry); e.Retry.IsZero() {
			want(e.Again, whyAgain)
		}
	}
	if e.empty && !e.Resume && e.Retry.IsZero() && !e.Manual() {
		want(e.seen, whyFirst)
	}
	if at := e.scheduled(); !at.IsZero() {
		if at.Before(e.seen) { // missed: made up once, not all jobs at the same moment
			want(e.seen.Add(e.jitter), whyMissed)
		} else {
			want(at, whySchedule)
		}
	}
	if e.Continuous() {
		want(e.At, whySchedule)
	}
}

// hold says what keeps a job that is due from starting, "" when nothing does; until is when that ends, if it
// is known.
func (e *entry) hold(now time.Time, free func() int64) (a status.Activity, until time.Time) {
	j, clock := e.job(), e.Clock
	if e.manual != nil && e.manual.Job != nil {
		j, clock = e.manual.Job, e.manual.clock
	}
	switch {
	case e.Paused && e.manual == nil:
		return status.Paused, time.Time{}
	case e.manual != nil && e.manual.Accept: // asks for nothing
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
	if e.Last != nil && e.Last.Cause == status.DiskFull {
		return least + least/10
	}
	return least
}

// status returns the state of the job.
func (e *entry) status(now time.Time) status.Job {
	s := status.Job{
		Name:      e.name,
		Last:      e.Last,
		Failures:  e.Failures,
		Version:   e.Version,
		Files:     e.Files,
		Bytes:     e.Bytes,
		Activity:  status.Idle,
		Complete:  known(e.Complete),
		Verified:  known(e.Verified),
		Published: known(e.Published),
		Added:     known(e.Added),
	}
	if d := e.Doubted; !d.IsZero() {
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
	if l := e.Last; l != nil {
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
		s.Turn = e.run.how.works()
		if e.run.cause != status.ByItself {
			s.Activity = status.Ending
		}
	case e.activity != "":
		s.Activity = e.activity
	case e.Paused && e.manual == nil:
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
		next = e.Opens(next) // it is due, and waits for its window
	}
	if !next.IsZero() {
		next = next.In(e.zone)
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

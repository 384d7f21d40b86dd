// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"

	"mirrord/job"
)

// Clock says when a job is due. It is pure: the same time in, the same time out.
//
// What robfig/cron makes of clock changes is not what people expect (a job at 02:30 is skipped on one day of
// the year and one at 01:30 runs twice on another; in Cairo a job at midnight is skipped), so it is only
// used for calendars without any: a schedule with fixed hours steps on the wall clock as if there were no
// clock changes, and what it names is looked up in the zone afterwards. A time that does not exist becomes
// the moment at which the clock jumps over it; one that comes twice is taken the first time. So a daily job
// runs once on every day of the calendar. A schedule of every hour ("*" as the hour) steps through real time
// instead: it runs once in every real hour.
type Clock struct {
	spec   job.Schedule
	zone   *time.Location
	window job.Window
	jitter time.Duration
}

// DefaultSpread is over how long the starts of jobs that are due at the same time are spread.
const DefaultSpread = 5 * time.Minute

// NewClock returns the clock of a job. local is the zone of jobs that name none. Starts are spread over
// spread (0: DefaultSpread; negative: not at all), but over no more than a tenth of the time between two of
// them; each job's place depends on its name only.
func NewClock(j *job.Job, local *time.Location, spread time.Duration) (Clock, error) {
	s, err := job.ParseSchedule(j.Schedule)
	if err != nil {
		return Clock{}, fmt.Errorf("job %s: schedule: %w", j.Name, err)
	}
	zone, err := j.Location(local)
	if err != nil {
		return Clock{}, fmt.Errorf("job %s: timezone: %w", j.Name, err)
	}
	w, err := job.ParseWindow(j.Window)
	if err != nil {
		return Clock{}, fmt.Errorf("job %s: window: %w", j.Name, err)
	}
	c := Clock{spec: s, zone: zone, window: w}
	if spread == 0 {
		spread = DefaultSpread
	}
	if p := s.Shortest(); p > 0 {
		spread = min(spread, p/10)
	}
	if spread > 0 {
		c.jitter = time.Duration(placeOf(j.Name) * float64(spread)).Truncate(time.Millisecond)
	}
	return c, nil
}

// placeOf maps a name to [0, 1), evenly and for ever the same.
func placeOf(name string) float64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	v := h.Sum64()
	v ^= v >> 33 // FNV's high bits depend little on the last letters (the finalizer of MurmurHash3)
	v *= 0xff51afd7ed558ccd
	v ^= v >> 33
	return float64(v>>11) / (1 << 53)
}

// Jitter is by how much this job starts later than its schedule says.
func (c Clock) Jitter() time.Duration { return c.jitter }

// Manual reports whether the job only runs by hand.
func (c Clock) Manual() bool { return c.spec == job.Schedule{} }

// Continuous reports whether the time of the next run follows from what the last ones found.
func (c Clock) Continuous() bool { return c.spec.Continuous }

// Interval reports whether the schedule is an interval, which counts from the last start.
func (c Clock) Interval() bool { return c.spec.Every > 0 }

// Next returns the first time after t that the schedule names, without jitter; zero without one, for
// jobs that run by hand and continuous ones. For @every it is t and the interval.
func (c Clock) Next(t time.Time) time.Time {
	switch {
	case c.spec.Every > 0:
		return t.Add(c.spec.Every)
	case c.spec.Cron == nil:
		return time.Time{}
	case everyHour(c.spec.Cron):
		return nextReal(c.spec.Cron, t, c.zone)
	}
	return nextWall(c.spec.Cron, t, c.zone)
}

// Start returns when a job whose schedule has been served up to t starts next: Next with jitter. Zero when
// never.
func (c Clock) Start(t time.Time) time.Time {
	n := c.Next(t)
	if n.IsZero() || c.spec.Every > 0 { // an interval counts from a start, which has the jitter in it
		return n
	}
	return n.Add(c.jitter)
}

// Open reports whether requests may be made at t.
func (c Clock) Open(t time.Time) bool { return c.window.Open(t.In(c.zone)) }

// Opens returns when the window opens next, at or after t.
func (c Clock) Opens(t time.Time) time.Time {
	if c.Open(t) {
		return t
	}
	return c.window.Change(t.In(c.zone))
}

// Closes returns when the window that is open at t closes; zero when it does not.
func (c Clock) Closes(t time.Time) time.Time { return c.window.Change(t.In(c.zone)) }

// everyHour reports whether a schedule names all 24 hours.
func everyHour(s *cron.SpecSchedule) bool { return bits.OnesCount64(s.Hour&(1<<24-1)) == 24 }

// calendar asks robfig/cron for the next time on a calendar without clock changes. It looks five years ahead;
// leap days may be eight apart.
func calendar(s *cron.SpecSchedule, wall time.Time) time.Time {
	for range 3 {
		if n := s.Next(wall); !n.IsZero() {
			return n
		}
		wall = wall.AddDate(4, 0, 0)
	}
	return time.Time{}
}

// wallOf returns the wall clock of t in a zone as a time of a calendar without clock changes.
func wallOf(t time.Time, zone *time.Location) time.Time {
	_, off := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(off) * time.Second)
}

// nextWall steps on the wall clock.
func nextWall(s *cron.SpecSchedule, t time.Time, zone *time.Location) time.Time {
	wall := wallOf(t, zone)
	for {
		wall = calendar(s, wall)
		if wall.IsZero() {
			return time.Time{}
		}
		if n := realOf(wall, zone); n.After(t) {
			return n.In(zone)
		}
	}
}

// realOf returns the first moment at which a zone's clock shows wall, or has jumped over it.
func realOf(wall time.Time, zone *time.Location) time.Time {
	// Offsets reach from -12 to +14 hours, so the moment is between these.
	t := wall.Add(-15 * time.Hour)
	for {
		_, off := t.In(zone).Zone()
		_, end := t.In(zone).ZoneBounds()
		at := wall.Add(-time.Duration(off) * time.Second)
		switch {
		case at.Before(t): // the clock has jumped over it at t
			return t.In(zone)
		case end.IsZero() || at.Before(end):
			return at.In(zone)
		}
		t = end
	}
}

// nextReal steps through real time, from one clock change to the next.
func nextReal(s *cron.SpecSchedule, t time.Time, zone *time.Location) time.Time {
	for at := t; ; {
		_, off := at.In(zone).Zone()
		_, end := at.In(zone).ZoneBounds()
		shift := time.Duration(off) * time.Second
		n := calendar(s, t.UTC().Add(shift))
		if n.IsZero() {
			return n
		}
		if n = n.Add(-shift); end.IsZero() || n.Before(end) {
			return n.In(zone)
		}
		at, t = end, end.Add(-1) // the change itself may be such a time
	}
}

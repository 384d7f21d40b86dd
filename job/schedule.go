// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"mirrord/internal/count"
)

// MinEvery is the shortest interval of "@every".
const MinEvery = time.Minute

// Schedule is a checked schedule. Exactly one of its fields is set; all are zero for a job that only runs by
// hand.
type Schedule struct {
	Continuous bool               // when the site is likely to have changed: within MinInterval and MaxInterval
	Every      time.Duration      // between the starts of two runs
	Cron       *cron.SpecSchedule // minute, hour, day, month, weekday; bits as robfig/cron keeps them
}

// ParseSchedule reads "", "continuous", "@every 6h", "@hourly" … "@yearly" or five cron fields: minute hour
// day month weekday.
//
// What robfig/cron v3 accepts but does not do as one would think is refused here: a TZ= prefix (it can
// panic), @every below MinEvery, dates that never come (30 February), and day and weekday together when one
// of them is a step (cron programs differ in whether either or both must match).
func ParseSchedule(spec string) (Schedule, error) {
	s := strings.TrimSpace(spec)
	switch {
	case s == "":
		return Schedule{}, nil
	case s == "continuous":
		return Schedule{Continuous: true}, nil
	case len(s) > 1000:
		return Schedule{}, problemf("", "schedule is longer than 1000 bytes")
	case strings.Contains(strings.ToUpper(s), "TZ="):
		return Schedule{}, problemf(`set timezone = "Europe/Berlin"`, "schedule %q names a time zone", spec)
	case s == "@reboot":
		return Schedule{}, problemf("the daemon runs due jobs when it starts", "schedule @reboot is not known")
	case strings.HasPrefix(s, "@every"):
		d, err := ParseDuration(strings.TrimPrefix(s, "@every"))
		if err != nil {
			hint := `write "@every 6h"`
			if d, ok := meantDuration(strings.TrimPrefix(s, "@every")); ok && d >= MinEvery {
				hint = fmt.Sprintf("write %q", "@every "+formatDuration(d))
			}
			return Schedule{}, problemf(hint, "schedule %q has no interval", spec)
		}
		if d < MinEvery {
			return Schedule{}, problemf("the shortest is @every 1m", "schedule %q is too often", spec)
		}
		return Schedule{Every: d}, nil
	}
	if !strings.HasPrefix(s, "@") {
		f := strings.Fields(s)
		if len(f) != 5 {
			return Schedule{}, problemf(fieldsHint(s, f), "schedule %q has %s", spec, count.Of(len(f), "field"))
		}
		if f[2] != "*" && f[4] != "*" && f[2] != "?" && f[4] != "?" &&
			(strings.HasPrefix(f[2], "*") || strings.HasPrefix(f[4], "*")) {
			return Schedule{}, problemf("cron programs differ in its meaning: leave one of them *",
				"schedule %q sets both day and weekday", spec)
		}
	}
	c, err := parseCron(s)
	if err != nil {
		return Schedule{}, problemf(scheduleHint(s), "schedule %q: %s", spec, cronCause(err))
	}
	// Any start will do: robfig/cron looks five years ahead, and the next leap day is nearer than that from
	// here.
	if c.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Schedule{}, problemf("no such day exists", "schedule %q never fires", spec)
	}
	return Schedule{Cron: c}, nil
}

// resumeAtMost is how long any run may continue.
const resumeAtMost = 7 * 24 * time.Hour

// ResumeFor is for how long after its beginning an unfinished run of a job continues: twice the longest time
// between two runs of the schedule, at most seven days. After that it is closed, and the next run begins
// afresh.
func ResumeFor(j *Job) time.Duration {
	s, err := ParseSchedule(j.Schedule)
	if err != nil {
		return resumeAtMost // the scheduler reports the problem
	}
	switch {
	case s.Continuous:
		return min(2*j.MaxInterval, resumeAtMost)
	case s.Every > 0:
		return min(2*s.Every, resumeAtMost)
	case s.Cron == nil:
		return resumeAtMost
	}
	// Clock changes and the zone move single runs by an hour or two; twice the interval allows for that.
	begin := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	longest := time.Duration(0)
	for t := s.Cron.Next(begin); (t.Sub(begin) < 2*resumeAtMost) && (longest < resumeAtMost); {
		next := s.Cron.Next(t)
		if next.IsZero() {
			return resumeAtMost
		}
		longest, t = max(longest, next.Sub(t)), next
	}
	if longest == 0 { // it is rarely due
		return resumeAtMost
	}
	return min(2*longest, resumeAtMost)
}

// TreeWait is for how long a scheduled run of a job waits at most for a tree whose grace is over: a tenth of
// the shortest time between two runs. Jobs without a schedule do not wait.
func TreeWait(j *Job) time.Duration {
	s, err := ParseSchedule(j.Schedule)
	if err == nil && s.Continuous {
		return j.MinInterval / 10
	}
	return s.Shortest() / 10 // of a problem the scheduler reports
}

// Shortest is the shortest time between two runs of the schedule, at most resumeAtMost; 0 for jobs that run
// by hand and for "continuous".
func (s Schedule) Shortest() time.Duration {
	if s.Every > 0 || s.Cron == nil {
		return s.Every
	}
	return slices.Min(append(s.intervals(), resumeAtMost))
}

// intervals are the times between the next runs of a cron schedule, over more than any week: the days of a
// schedule need not lie equally far apart.
func (s Schedule) intervals() (out []time.Duration) {
	for t := s.Cron.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)); len(out) < 32; {
		next := s.Cron.Next(t)
		if next.IsZero() {
			break
		}
		out, t = append(out, next.Sub(t)), next
	}
	return out
}

// parseCron keeps a panic of the parser from reaching anybody.
func parseCron(s string) (c *cron.SpecSchedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not a cron schedule")
		}
	}()
	got, err := cron.ParseStandard(s)
	if err != nil {
		return nil, err
	}
	c, ok := got.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("not a cron schedule")
	}
	return c, nil
}

// cronCause is what the parser of schedules found, without the names of its functions.
func cronCause(err error) string {
	m := regexp.MustCompile(`^failed to parse int from (.*): strconv\.`).FindStringSubmatch(err.Error())
	if m != nil {
		return fmt.Sprintf("%q is neither a number nor a name", m[1])
	}
	return err.Error()
}

// fieldsHint is the hint for a schedule that has not five fields.
func fieldsHint(s string, f []string) string {
	word := strings.ToLower(s)
	names := []string{"hourly", "daily", "midnight", "weekly", "monthly", "yearly", "annually"}
	if n := Nearest(word, append(names, "continuous")); n == "continuous" {
		return `did you mean "continuous"?`
	} else if n != "" {
		return fmt.Sprintf("did you mean %q?", "@"+n)
	}
	if slices.Contains([]string{"never", "none", "off", "no", "manual", "manually"}, word) {
		return "leave schedule out: the job then runs by hand only"
	}
	interval := strings.TrimSpace(strings.TrimPrefix(word, "every"))
	if d, ok := meantDuration(interval); ok && d >= MinEvery {
		return fmt.Sprintf("did you mean %q?", "@every "+formatDuration(d))
	}
	if len(f) == 6 {
		return fmt.Sprintf("there is no field for seconds: did you mean %q?", strings.Join(f[1:], " "))
	}
	return `five fields are wanted: minute hour day month weekday, as in "30 3 * * *"`
}

func scheduleHint(s string) string {
	names := []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually",
		"continuous"}
	if n := Nearest(s, names); n != "" && n != s {
		return fmt.Sprintf("did you mean %q?", n)
	}
	f := strings.Fields(s)
	switch {
	case strings.HasPrefix(s, "@"):
		return "known are @every, @hourly, @daily, @weekly, @monthly and @yearly"
	case strings.Contains(f[4], "7"):
		return "Sunday is 0 or SUN"
	case strings.ContainsAny(s, "L#HW"):
		return "L, W, # and H are not known"
	}
	return "minutes are 0-59, hours 0-23, days 1-31, months 1-12 or JAN-DEC, weekdays 0-6 or SUN-SAT"
}

// Usual returns the mean time between two runs of the schedule; 0 for jobs that run by hand and for
// "continuous", which have no interval of their own.
func (s Schedule) Usual() time.Duration {
	if s.Every > 0 || s.Cron == nil {
		return s.Every
	}
	all, sum := s.intervals(), time.Duration(0)
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(max(len(all), 1))
}

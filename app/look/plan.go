// SPDX-License-Identifier: Apache-2.0

package look

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/mirror/report"
	"mirrord/scheduler"
	"mirrord/store"
	"mirrord/store/record"
)

// look reads the stored data of a job, for a command that makes no request. f may be called again: see view.
func look(a *env.App, name string, f func(*job.Job, *store.Site) error) error {
	j, err := a.FindJob(name)
	if err != nil {
		return err
	}
	return env.ViewState(a, j.Name, func(_ *store.State, s *store.Site) error { return f(j, s) })
}

// Plan is what the next run of a job would ask, spare and audit, and when that is. No site is contacted.
func Plan(a *env.App, name string, now time.Time) (p *report.PlanReport, err error) {
	err = look(a, name, func(j *job.Job, s *store.Site) error {
		at, when, err := nextStart(j, s, now)
		if err != nil {
			return err
		}
		if p, err = plan(j, s, at); err != nil {
			return err
		}
		p.When = when
		return nil
	})
	return p, err
}

// PlanIn is Plan in a state that is open, for a run at a time.
func PlanIn(st *store.State, j *job.Job, at time.Time) (p *report.PlanReport, err error) {
	err = env.View(st, j.Name, func(s *store.Site) error {
		p, err = plan(j, s, at)
		return err
	})
	return p, err
}

func plan(j *job.Job, s *store.Site, at time.Time) (*report.PlanReport, error) {
	v, err := report.Load(j, s, at)
	if err != nil {
		return nil, err
	}
	return v.Plan()
}

// nextStart is when a job starts next by its schedule, after now, and says so; now when that cannot be known.
func nextStart(j *job.Job, s *store.Site, now time.Time) (at time.Time, when string, err error) {
	clock, err := scheduler.NewClock(j, time.Local, 0)
	if err != nil {
		return at, "", err
	}
	switch {
	case clock.Manual():
		return now, "now, because it has no schedule", nil
	case clock.Continuous():
		return now, "now, because its schedule is continuous", nil
	case !clock.Interval():
		at = clock.Start(now)
	default: // counts from the last run
		var last int64
		if err := s.Records.Observations(func(o *record.Observation) error {
			last = max(last, o.Time)
			return nil
		}); err != nil {
			return at, "", err
		}
		at = clock.Start(time.Unix(last, 0))
	}
	switch {
	case at.IsZero():
		return now, "now, because its schedule never comes", nil
	case !at.After(now):
		return now, "now, because it is due", nil
	}
	return at, fmt.Sprintf("the next start of its schedule, %s", j.Schedule), nil
}

// EvolutionOrder is an order of directories.
type EvolutionOrder string

// The orders: by path, or the largest first.
const (
	ByPath  EvolutionOrder = "path"
	ByFoC   EvolutionOrder = "foc"
	ByDoC   EvolutionOrder = "doc" // the mean
	ByEdits EvolutionOrder = "edits"
)

// EvolutionOrders lists the orders.
func EvolutionOrders() []EvolutionOrder { return []EvolutionOrder{ByPath, ByFoC, ByDoC, ByEdits} }

// EvolutionRequest asks how the directories of a mirror change.
type EvolutionRequest struct {
	Job        string
	MinDoC     float64        // a change counts from this degree of change on, 0 to 1
	Structural bool           // files with other contents are no change
	By         EvolutionOrder // "" is ByPath
	Top        int            // only so many directories; 0 is all
}

// Evolution is how often and how much the directories of a mirror changed from run to run.
func Evolution(a *env.App, r EvolutionRequest) (e *report.Evolution, err error) {
	e, err = viewed(a, r.Job, func(v *report.View) (*report.Evolution, error) {
		return v.Evolution(r.MinDoC, r.Structural)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(e.Dirs, func(x, y report.DirEvolution) int {
		return cmp.Or(r.By.compare(&x, &y), strings.Compare(x.Path, y.Path))
	})
	if r.Top > 0 && r.Top < len(e.Dirs) {
		e.Dirs = e.Dirs[:r.Top]
	}
	return e, nil
}

// compare compares by what an order is named for, the largest first.
func (o EvolutionOrder) compare(x, y *report.DirEvolution) int {
	switch o {
	case ByFoC:
		return cmp.Compare(y.FoC, x.FoC)
	case ByDoC:
		return cmp.Compare(y.MeanDoC, x.MeanDoC)
	case ByEdits:
		return cmp.Compare(y.Edits, x.Edits)
	}
	return 0
}

// Rules is which directories of a mirror rarely change, as mined from what runs have observed with the
// thresholds of the job.
func Rules(a *env.App, name string) (*report.SiteRules, error) {
	return viewed(a, name, func(v *report.View) (*report.SiteRules, error) { return v.Rules(true) })
}

// Together is which directories of a mirror change with which, with the thresholds of the job.
func Together(a *env.App, name string) (*report.Associations, error) {
	return viewed(a, name, (*report.View).Together)
}

// viewed reads what reports know of a job, for a command that makes no request.
func viewed[T any](a *env.App, name string, read func(*report.View) (T, error)) (out T, err error) {
	err = look(a, name, func(j *job.Job, s *store.Site) error {
		v, err := report.Load(j, s, a.Clock())
		if err == nil {
			out, err = read(v)
		}
		return err
	})
	return out, err
}

// SPDX-License-Identifier: Apache-2.0

package look

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/shared"
	"mirrord/store/trees"
)

// Broken is the state of a mirror that cannot be read. It is found by looking, and is no part of what the
// scheduler knows.
const Broken status.Health = "broken"

// Statuses is the state of all jobs and mirrors on the disk, sorted by name. It does not include what a
// daemon would do next.
func Statuses(a *env.App, now time.Time) ([]status.Job, error) {
	files, err := a.JobsDir().Read()
	if err != nil && a.JobsNamed {
		return nil, err
	}
	st, ok, err := a.OpenState()
	if err != nil {
		return nil, err
	}
	if !ok {
		return statusOf(a, files, nil)
	}
	defer st.Close()
	list, err := statusOf(a, files, st)
	if err != nil {
		return nil, err
	}
	return list, fillAll(list, st, now)
}

// LeftMirrors are the mirrors on the disk that are none of some jobs, as when a job file was removed.
func LeftMirrors(a *env.App, jobs []status.Job, now time.Time) ([]status.Job, error) {
	st, ok, err := a.OpenState()
	if err != nil || !ok {
		return nil, err
	}
	defer st.Close()
	list, err := statusOf(a, nil, st)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(left status.Job) bool {
		return slices.ContainsFunc(jobs, func(j status.Job) bool { return j.Name == left.Name })
	})
	return list, fillAll(list, st, now)
}

// statusOf says of each job file and each mirror what the records of runs know.
func statusOf(a *env.App, files []scheduler.File, st *store.State) ([]status.Job, error) {
	kept := scheduler.Store(NoRecords{})
	if st != nil {
		kept = jobs.Records{Kept: st.Shared, Log: a.Log, ReadOnly: true}
	}
	s, err := scheduler.New(scheduler.Options{Store: kept})
	if err != nil {
		return nil, a.AboutRuns(err)
	}
	c := scheduler.Resolve(files, s.Config())
	if st != nil {
		sites, err := st.Sites()
		if err != nil {
			return nil, err
		}
		for _, name := range sites {
			if c[name] == nil {
				c[name] = &scheduler.Entry{Name: name}
			}
		}
	}
	s.Apply(c)
	list := s.Status().Jobs
	for i := range list {
		j := &list[i]
		if j.Next, j.NextText, j.Why = nil, "", ""; j.Activity != status.Paused {
			j.Activity = status.Idle
		}
		if j.File == "" {
			j.Problems = append(j.Problems, "there is no job file of this name in "+a.Jobs)
		}
	}
	return list, nil
}

// NoRecords is the store of a state that is not there yet.
type NoRecords struct{}

func (NoRecords) LoadRecords() (map[string]scheduler.Record, error) { return nil, nil }

func (NoRecords) SaveRecords(map[string]*scheduler.Record) error { return nil }

// fillAll adds what the sites know. No run repairs a mirror whose job file was removed.
func fillAll(list []status.Job, st *store.State, now time.Time) error {
	for i := range list {
		j := &list[i]
		if err := fill(j, st, now); err != nil {
			return err
		}
		if j.File == "" && strings.Contains(j.Fix, "mirrord run-now") {
			j.Fix = "put its job file back; or mirrord remove " + j.Name + ", which deletes the mirror"
		}
	}
	return nil
}

// fill adds what the site itself knows.
func fill(s *status.Job, st *store.State, now time.Time) error {
	g, err := store.GlanceAt(st, s.Name)
	switch {
	case errors.Is(err, db.ErrBusy):
		s.Activity = status.Running
		return nil
	case errors.Is(err, home.ErrNoSite):
		return nil // there was no run yet, or it has just made the folder
	case err != nil:
		unreadableSite(s, err, now)
		return nil
	}
	if g.Busy {
		s.Activity = status.Running
	}
	if v := &g.Version; v.Number > 0 {
		s.Version, s.Published, s.Files, s.Bytes = v.Number, &v.Time, v.Files, v.Bytes
		s.Judge(now)
	}
	if !g.Busy {
		noteCutOff(s, g.Unfinished.Started)
	}
	JudgeTree(s, st, now, WholeTree(st))
	return nil
}

// noteCutOff says that a run, which began at some Unix time, has no end: its process was killed, or the
// machine went down.
func noteCutOff(s *status.Job, began int64) {
	if began == 0 || s.Activity == status.Running || (s.Last != nil && s.Last.Ended.Unix() >= began) {
		return
	}
	s.Problems = append(s.Problems, "the run of "+status.TimeText(time.Unix(began, 0).UTC())+
		" was cut off; the next one continues it")
	if s.Last != nil && status.Partial.Worse(s.Health) {
		s.Health = status.Partial
	}
	if s.Fix == "" {
		s.Fix = "mirrord run-now " + s.Name
	}
}

// unreadableSite marks a job whose site cannot be read. The status of other jobs is not affected.
func unreadableSite(s *status.Job, err error, now time.Time) {
	s.Health = Broken
	if CauseOf(err, s.Name) == status.BadState {
		last := status.Run{Verdict: status.VerdictError}
		if s.Last != nil {
			last = *s.Last
		}
		last.Cause, s.Last = status.BadState, &last
		s.Judge(now)
	}
	if p := env.Remedied(err); !slices.Contains(s.Problems, p) {
		s.Problems = append(s.Problems, p)
	}
}

// noteRebuild clears the damage of a job whose database was rebuilt after its last run.
func noteRebuild(s *status.Job, st *store.State, now time.Time) {
	if s.Last == nil || s.Last.Cause != status.BadState {
		return
	}
	g, err := store.GlanceAt(st, s.Name)
	if err != nil || g.Rebuilt.Before(s.Last.Ended.Truncate(time.Second)) {
		return
	}
	last := *s.Last
	was := func(text string) bool { return text == last.Error }
	s.Reasons, s.Problems = slices.DeleteFunc(slices.Clone(s.Reasons), was),
		slices.DeleteFunc(slices.Clone(s.Problems), was)
	last.Cause, last.Error = status.ByItself,
		"the database was damaged and has been rebuilt; the next run requests every page again"
	s.Last, s.Reasons = &last, append(s.Reasons, last.Error)
	s.Judge(now)
}

// JudgeTree looks at whether the mirror can be read: its database, when the last run could not, and the
// published tree; and at what the mirror takes on the disk.
func JudgeTree(
	s *status.Job, st *store.State, now time.Time, look func(name string) trees.TreeProblem,
) {
	noteRebuild(s, st, now)
	s.Disk = jobs.DiskOf(st, s.Name)
	if s.Version == 0 {
		return
	}
	jobs.WithoutForgotten(s, st)
	s.WithScrub(scrubOf(st, s.Name))
	p := look(s.Name)
	if (p.Text == "") || Publishing(st, s.Name) {
		return
	}
	if p.File == "" {
		s.Health = Broken
	} else if status.Damaged.Worse(s.Health) {
		s.Health = status.Damaged
	}
	s.Problems = append(s.Problems, p.Text)
	s.Fix = "mirrord run-now " + s.Name + ", which makes it again from the stored bodies"
	if _, denied := status.TroubleOf(p.Text); denied {
		s.Fix = status.AgainHint(s.Name, p.Text)
	}
}

// Publishing reports whether a publish was decided that is not carried out yet: readers see its version as
// soon as the site is opened for writing.
func Publishing(st *store.State, name string) bool {
	g, err := store.GlanceAt(st, name)
	return (err == nil) && g.Publishing
}

// JobStatus is what the disk knows of one job, with the report of its last run.
func JobStatus(a *env.App, name string, now time.Time) (status.Job, error) {
	list, err := Statuses(a, now)
	if err != nil {
		return status.Job{}, err
	}
	for _, s := range list {
		if s.Name != name {
			continue
		}
		st, ok, err := a.OpenState()
		if err != nil || !ok {
			return s, err
		}
		defer st.Close()
		runs, err := st.Shared.Runs(name, 1)
		if err == nil && len(runs) > 0 {
			s.Summary = SummaryJSON(runs[0])
		}
		jobs.AboutSite(&s, st)
		return s, err
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return status.Job{}, env.UnknownName(name, names)
}

// Runs is the reports of the last n runs of a job, newest first, without their summaries.
func Runs(a *env.App, name string, n int) ([]status.Run, error) {
	if !job.ValidName(name) {
		return nil, env.NotAName(name)
	}
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	runs, err := HistoryOf(st, name, n)
	if len(runs) == 0 && err == nil {
		err = env.KnownJob(a, name)
	}
	return runs, err
}

// SummaryJSON returns the summary of a stored run with the keys of today, whichever version stored it.
func SummaryJSON(r shared.RunRecord) json.RawMessage {
	var sum mirror.Summary
	if json.Unmarshal(r.Summary, &sum) != nil {
		return r.Summary // the decoder reports that
	}
	data, err := json.Marshal(&sum)
	if err != nil {
		return r.Summary
	}
	return data
}

// HistoryOf reads the last n runs of a site, newest first.
func HistoryOf(st *store.State, name string, n int) ([]status.Run, error) {
	recs, err := st.Shared.Runs(name, n)
	if err != nil {
		return nil, err
	}
	out := make([]status.Run, 0, len(recs))
	for _, r := range recs {
		var sum mirror.Summary
		if err := json.Unmarshal(r.Summary, &sum); err != nil {
			return nil, fmt.Errorf("run log of %s: %w", name, err)
		}
		run := env.RunOf(&sum)
		run.Summary = nil
		out = append(out, run)
	}
	return out, nil
}

// CauseOf is BadState when an error says that the database of a job's own site cannot be used.
func CauseOf(err error, name string) status.Cause {
	if db, ok := errors.AsType[*db.DatabaseError](err); ok && db.Site == name {
		return status.BadState
	}
	return status.ByItself
}

// WholeTree is the look at a tree without a daemon.
func WholeTree(st *store.State) func(name string) trees.TreeProblem {
	return func(name string) trees.TreeProblem { return trees.LookAt(st.Dir, name, true) }
}

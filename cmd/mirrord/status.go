package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mirrord/control"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/status"
	"mirrord/store"
)

func (a *app) statusCommand() *cobra.Command {
	runs := 0
	cmd := &cobra.Command{
		Use:   "status [JOB]",
		Short: "Show jobs, their last runs and verdicts",
		Long: `Show the jobs of the jobs directory. With JOB, show the report of its last run.

States: ok; new (never ran); invalid (its file is refused: mirrord check); partial (something is left to ask); stale (a part was not verified for longer than
notify.stale_after); suspicious (see mirrord accept); failed (the last run ended in an error); broken (the mirror cannot be read). What a job is doing stands beside it:
running, waiting for its turn, its window or room on the disk, paused. VERIFIED is how long ago the part of the mirror was looked at that was not looked at for longest.

With a daemon the answer is the daemon's. Without one nothing will start by itself, and no next runs are shown; mirrors that have no job file are listed too.`,
		Example: `  mirrord status
  mirrord status samba --runs 20
  mirrord status --json | jq '.[] | select(.state != "ok")'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if runs > 0 {
					return usagef("--runs needs the name of a job")
				}
				list, err := a.statuses(cmd.Context(), c, time.Now())
				if err != nil {
					return err
				}
				return a.printStatuses(list)
			}
			name := strings.TrimSuffix(args[0], jobSuffix)
			if runs > 0 {
				return a.printRuns(cmd.Context(), c, name, runs)
			}
			s, err := a.jobStatus(cmd.Context(), c, name, time.Now())
			if err != nil {
				return err
			}
			return a.printStatus(s)
		},
	}
	cmd.Flags().IntVar(&runs, "runs", 0, "list the last `N` runs of JOB instead")
	return cmd
}

// broken is the state of a mirror that cannot be read; only who looks without the daemon finds that out.
const broken status.Health = "broken"

// statuses collects what is known, sorted by name: from the daemon, else from the disk. Jobs and mirrors are both listed.
func (a *app) statuses(ctx context.Context, c *control.Client, now time.Time) ([]status.Job, error) {
	if c != nil {
		all, err := c.Status(ctx)
		return all.Jobs, clientError(err)
	}
	dir := scheduler.NewDir(a.jobsDir())
	files, err := dir.Read()
	if err != nil && a.jobsFlag != "" {
		return nil, err
	}
	st, ok, err := a.openState()
	if err != nil {
		return nil, err
	}
	if !ok {
		return statusOf(files, nil, a)
	}
	defer st.Close()
	list, err := statusOf(files, st, a)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if err := fill(&list[i], st, now); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// statusOf says of each job file and each mirror what the records of runs know.
func statusOf(files []scheduler.File, st *store.State, a *app) ([]status.Job, error) {
	kept := scheduler.Store(noRecords{})
	if st != nil {
		kept = records{st: st, log: a.log(), readOnly: true}
	}
	s, err := scheduler.New(scheduler.Options{Store: kept})
	if err != nil {
		return nil, err
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
		if j.Next, j.Why = nil, ""; j.Activity != status.Paused {
			j.Activity = status.Idle
		}
		if j.File == "" {
			j.Problems = append(j.Problems, "there is no job file of this name in "+a.jobsDir())
		}
	}
	return list, nil
}

// noRecords is the store of a state that is not there yet.
type noRecords struct{}

func (noRecords) LoadRecords() (map[string]scheduler.Record, error) { return nil, nil }
func (noRecords) SaveRecords(map[string]*scheduler.Record) error    { return nil }

// fill adds what the site itself knows.
func fill(s *status.Job, st *store.State, now time.Time) error {
	site, err := st.ReadSite(s.Name)
	switch {
	case errors.Is(err, store.ErrLocked):
		s.Activity = status.Running
		return nil
	case errors.Is(err, store.ErrNoSite):
		return nil // there was no run yet, or it has just made the folder
	case err != nil:
		s.Health, s.Problems = broken, append(s.Problems, err.Error())
		return nil
	}
	vs, err := site.Versions()
	if err = errors.Join(err, site.Close()); err != nil {
		return err
	}
	if len(vs) > 0 {
		v := vs[len(vs)-1]
		s.Version, s.Published, s.Files, s.Bytes = v.Number, &v.Time, v.Files, v.Bytes
		s.Judge(now)
	}
	return nil
}

// jobStatus is what is known of one job, with the report of its last run.
func (a *app) jobStatus(ctx context.Context, c *control.Client, name string, now time.Time) (status.Job, error) {
	if c != nil {
		j, err := c.Job(ctx, name)
		return j, clientError(err)
	}
	list, err := a.statuses(ctx, nil, now)
	if err != nil {
		return status.Job{}, err
	}
	for _, s := range list {
		if s.Name != name {
			continue
		}
		st, ok, err := a.openState()
		if err != nil || !ok {
			return s, err
		}
		defer st.Close()
		runs, err := st.Runs(name, 1)
		if err == nil && len(runs) > 0 {
			s.Summary = runs[0].Summary
		}
		return s, err
	}
	return status.Job{}, usagef("no job and no mirror is named %q", name)
}

func (a *app) printStatuses(list []status.Job) error {
	if a.json {
		if list == nil {
			list = []status.Job{}
		}
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.printf("no jobs in %s and no mirrors yet\n", a.jobsDir())
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "JOB\tSTATE\tVERSION\tFILES\tSIZE\tVERIFIED\tLAST RUN\tNEXT RUN\tSCHEDULE")
	for _, s := range list {
		version, files, size, verified := "-", "-", "-", "-"
		if s.Version > 0 {
			version, files, size = fmt.Sprint(s.Version), fmt.Sprint(s.Files), bytesText(s.Bytes)
		}
		if s.Verified != nil {
			verified = status.Age(time.Duration(s.Staleness)*time.Second) + " ago"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Say(), version, files, size, verified, timeText(s.LastRun), timeText(s.Next), orDash(s.Schedule))
	}
	return w.Flush()
}

func (a *app) printStatus(s status.Job) error {
	if a.json {
		return a.printJSON(s)
	}
	a.printf("%s: %s\n", s.Name, s.Say())
	for _, p := range s.Problems {
		a.printf("  %s\n", p)
	}
	if s.Fix != "" {
		a.printf("  what to do: %s\n", s.Fix)
	}
	if s.Version > 0 {
		a.printf("  version %d", s.Version)
		if s.Published != nil {
			a.printf(", published %s", timeText(s.Published))
		}
		a.printf(": %d files, %s\n", s.Files, bytesText(s.Bytes))
	}
	if s.Verified != nil {
		a.printf("  all of it was verified within the last %s\n", status.Age(time.Duration(s.Staleness)*time.Second))
	}
	if s.Started != nil {
		a.printf("  running since %s", timeText(s.Started))
		if p := s.Progress; p != nil {
			a.printf(": %s", progressLine(mirror.Progress{}, progressFrom(p)))
		}
		a.printf("\n")
	}
	if s.Next != nil {
		a.printf("  next run %s (%s)\n", timeText(s.Next), s.Why)
	}
	if s.LastRun == nil {
		return nil
	}
	a.printf("  last run ended %s\n", timeText(s.LastRun))
	if s.Last != nil && s.Last.Cause != status.ByItself {
		a.printf("  %s\n", causeText(s.Last.Cause))
	}
	if len(s.Summary) == 0 {
		return nil
	}
	var sum mirror.Summary
	if err := json.Unmarshal(s.Summary, &sum); err != nil {
		return fmt.Errorf("status %s: report of the last run: %w", s.Name, err)
	}
	return sum.WriteText(a.stdout)
}

// historyOf reads the last n runs of a site, newest first.
func historyOf(st *store.State, name string, n int) ([]status.Run, error) {
	recs, err := st.Runs(name, n)
	if err != nil {
		return nil, err
	}
	out := make([]status.Run, 0, len(recs))
	for _, r := range recs {
		var sum mirror.Summary
		if err := json.Unmarshal(r.Summary, &sum); err != nil {
			return nil, fmt.Errorf("run log of %s: %w", name, err)
		}
		run := runOf(&sum)
		run.Summary = nil
		out = append(out, run)
	}
	return out, nil
}

func (a *app) printRuns(ctx context.Context, c *control.Client, name string, n int) error {
	var runs []status.Run
	if c != nil {
		var err error
		if runs, err = c.Runs(ctx, name, min(n, 1000)); err != nil {
			return clientError(err)
		}
	} else {
		if !job.ValidName(name) {
			return usagef("%q cannot name a job", name)
		}
		st, err := a.mustState()
		if err != nil {
			return err
		}
		defer st.Close()
		if runs, err = historyOf(st, name, n); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(runs)
	}
	if len(runs) == 0 {
		a.printf("%s has not run yet\n", name)
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "STARTED\tTOOK\tVERDICT\tVERSION\tREQUESTS\tRECEIVED\tWHY")
	for _, r := range runs {
		version := "-"
		if r.Published {
			version = fmt.Sprint(r.Version)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", timeText(&r.Started), r.Ended.Sub(r.Started).Round(time.Second), r.Verdict, version, r.Requests, bytesText(r.Received), strings.Join(r.Reasons, "; "))
	}
	return w.Flush()
}

func timeText(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func bytesText(n int64) string { return mirror.Bytes(n) }

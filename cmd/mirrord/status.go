package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mirrord/job"
	"mirrord/mirror"
	"mirrord/store"
)

// jobStatus is what status knows of one job or site.
type jobStatus struct {
	Name      string          `json:"job"`
	State     string          `json:"state"` // see stateOf
	Schedule  string          `json:"schedule,omitempty"`
	Version   int             `json:"version,omitempty"`
	Published *time.Time      `json:"published,omitempty"` // when the current version was
	Files     int             `json:"files,omitempty"`
	Bytes     int64           `json:"bytes,omitempty"`
	LastRun   *time.Time      `json:"lastRun,omitempty"` // its end
	Verdict   string          `json:"verdict,omitempty"`
	Reasons   []string        `json:"reasons,omitempty"`
	Stale     bool            `json:"stale,omitempty"` // notify.stale_after has passed
	Problems  []string        `json:"problems,omitempty"`
	Summary   json.RawMessage `json:"summary,omitempty"` // of the last run; only when one job is asked for
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status [JOB]",
		Short: "Show jobs, their last runs and verdicts",
		Long: `Show the jobs of the jobs directory, and the mirrors of the state directory that have no job file. With JOB, show the report of its last run.
States: running; ok; partial (run it again); suspicious (see mirrord accept); stale (notify.stale_after has passed); new (never ran); invalid (see mirrord check).`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := a.statuses(time.Now())
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.printStatuses(list)
			}
			name := strings.TrimSuffix(args[0], jobSuffix)
			for _, s := range list {
				if s.Name == name {
					return a.printStatus(s)
				}
			}
			return usagef("no job and no mirror is named %q", name)
		},
	}
}

// statuses collects what is known, sorted by name. Jobs and mirrors are both listed.
func (a *app) statuses(now time.Time) ([]jobStatus, error) {
	byName := map[string]*jobStatus{}
	jobs := map[string]*job.Job{}
	files, err := jobFiles(a.jobsDir())
	if err != nil && a.jobsFlag != "" {
		return nil, err
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), jobSuffix)
		s := &jobStatus{Name: name, State: "new"}
		j, err := readJob(f)
		if err != nil {
			s.State, s.Problems = "invalid", strings.Split(err.Error(), "\n")
		} else {
			s.Schedule, jobs[name] = j.Schedule, j
		}
		byName[name] = s
	}
	st, ok, err := a.openState()
	if err != nil {
		return nil, err
	}
	if ok {
		defer st.Close()
		sites, err := st.Sites()
		if err != nil {
			return nil, err
		}
		for _, name := range sites {
			s := byName[name]
			if s == nil {
				s = &jobStatus{Name: name, State: "new", Problems: []string{"there is no job file of this name in " + a.jobsDir()}}
				byName[name] = s
			}
			if err := s.fill(st, jobs[name], now); err != nil {
				return nil, err
			}
		}
	}
	out := make([]jobStatus, 0, len(byName))
	for _, s := range byName {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(x, y jobStatus) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}

// fill adds what the state directory knows of a site.
func (s *jobStatus) fill(st *store.State, j *job.Job, now time.Time) error {
	running := false
	site, err := st.ReadSite(s.Name)
	switch {
	case errors.Is(err, store.ErrLocked):
		running = true
	case errors.Is(err, store.ErrNoSite):
		return nil // a folder that a first run has just made
	case err != nil:
		s.State, s.Problems = "broken", append(s.Problems, err.Error())
		return nil
	default:
		vs, err := site.Versions()
		if err = errors.Join(err, site.Close()); err != nil {
			return err
		}
		if len(vs) > 0 {
			v := vs[len(vs)-1]
			s.Version, s.Published, s.Files, s.Bytes = v.Number, &v.Time, v.Files, v.Bytes
		}
	}
	runs, err := st.Runs(s.Name, 1)
	if err != nil {
		return err
	}
	if len(runs) > 0 {
		r := runs[0]
		s.LastRun, s.Verdict, s.Reasons, s.Summary = &r.Ended, r.Verdict, r.Reasons, r.Summary
	}
	if j != nil && j.Notify.StaleAfter > 0 && s.LastRun != nil {
		s.Stale = s.Verdict != mirror.Complete.String() && (s.Published == nil || now.Sub(*s.Published) > j.Notify.StaleAfter) || now.Sub(*s.LastRun) > j.Notify.StaleAfter
	}
	switch {
	case running:
		s.State = "running"
	case s.State == "invalid":
	case s.Verdict == mirror.Suspicious.String(), s.Verdict == mirror.Partial.String():
		s.State = s.Verdict
	case s.Stale:
		s.State = "stale"
	case s.Version > 0:
		s.State = "ok"
	}
	return nil
}

func (a *app) printStatuses(list []jobStatus) error {
	if a.json {
		for i := range list {
			list[i].Summary = nil
		}
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.printf("no jobs in %s and no mirrors yet\n", a.jobsDir())
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "JOB\tSTATE\tVERSION\tFILES\tSIZE\tPUBLISHED\tLAST RUN\tSCHEDULE")
	for _, s := range list {
		version, files, size := "-", "-", "-"
		if s.Version > 0 {
			version, files, size = fmt.Sprint(s.Version), fmt.Sprint(s.Files), bytesText(s.Bytes)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.State, version, files, size, timeText(s.Published), timeText(s.LastRun), orDash(s.Schedule))
	}
	return w.Flush()
}

func (a *app) printStatus(s jobStatus) error {
	if a.json {
		return a.printJSON(s)
	}
	a.printf("%s: %s\n", s.Name, s.State)
	for _, p := range s.Problems {
		a.printf("  %s\n", p)
	}
	if s.Version > 0 {
		a.printf("  version %d, published %s: %d files, %s\n", s.Version, timeText(s.Published), s.Files, bytesText(s.Bytes))
	}
	if s.LastRun == nil {
		return nil
	}
	a.printf("  last run ended %s\n", timeText(s.LastRun))
	var sum mirror.Summary
	if err := json.Unmarshal(s.Summary, &sum); err != nil {
		return fmt.Errorf("status %s: report of the last run: %w", s.Name, err)
	}
	return sum.WriteText(a.stdout)
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

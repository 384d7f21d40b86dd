// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/spaces"
	"mirrord/internal/count"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

func statusCommand(a *cli) *cobra.Command {
	runs := 0
	cmd := &cobra.Command{
		Use: "status [JOB]",
		Long: `Show the jobs of the jobs directory. With JOB, show the report of its last run.

States: ok (also with known gaps); new (never ran); gaps (published, but some part could not be had); invalid (its file is refused: mirrord check); partial (something is left to ask); stale (a part was not verified for longer than
notify.stale_after); suspicious (see mirrord accept); failed (the last run ended in an error); damaged (its database or files of it are damaged); broken (the mirror cannot be read). What a job is doing stands beside it:
running, waiting (for a turn, a host, its window, room on the disk), paused. VERIFIED is how long ago the part of the mirror was looked at that was not looked at for longest.

With a daemon the answer is the daemon's. Without one nothing will start by itself, and no next runs are shown. Mirrors that have no job file are listed too.`,
		Example: `  mirrord status
  mirrord status samba --runs 20
  mirrord status --json | jq '.[] | select(.state != "ok")'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.app().Client()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if runs > 0 {
					return env.Usagef("--runs needs the name of a job")
				}
				all, err := statuses(cmd.Context(), a, c, time.Now())
				if err != nil {
					return err
				}
				if err := printStatuses(a, all); err != nil || a.json || !spaces.HasSpaces(a.app()) {
					return err
				}
				return printSpaces(cmd.Context(), a)
			}
			name := strings.TrimSuffix(args[0], scheduler.Suffix)
			if runs > 0 {
				return printRuns(cmd.Context(), a, c, name, runs)
			}
			s, err := jobStatus(cmd.Context(), a, c, name, time.Now())
			if err != nil {
				return err
			}
			return printStatus(a, s)
		},
	}
	cmd.Flags().IntVar(&runs, "runs", 0, "list the last `N` runs of JOB instead")
	return cmd
}

// statuses asks the daemon, if there is one, else the disk.
func statuses(ctx context.Context, a *cli, c *control.Client, now time.Time) (status.All, error) {
	if c == nil {
		list, err := look.Statuses(a.app(), now)
		return status.All{Jobs: list}, err
	}
	all, err := answer(ctx, c.Status)
	if errors.Is(err, env.ErrSilent) {
		sayDisk(a)
		list, err := look.Statuses(a.app(), now)
		return status.All{Jobs: list}, err
	}
	if err != nil {
		return all, clientError(err)
	}
	left, err := look.LeftMirrors(a.app(), all.Jobs, now)
	if err == nil { // otherwise this user may not read the state
		all.Jobs = append(all.Jobs, left...)
		slices.SortFunc(all.Jobs, func(a, b status.Job) int { return strings.Compare(a.Name, b.Name) })
	}
	return all, nil
}

func jobStatus(
	ctx context.Context, a *cli, c *control.Client, name string, now time.Time,
) (status.Job, error) {
	if c == nil {
		return look.JobStatus(a.app(), name, now)
	}
	j, err := answer(ctx, func(ctx context.Context) (status.Job, error) { return c.Job(ctx, name) })
	if errors.Is(err, env.ErrSilent) {
		sayDisk(a)
		return look.JobStatus(a.app(), name, now)
	}
	if errors.Is(err, control.ErrNotFound) {
		if left, lerr := look.JobStatus(a.app(), name, now); lerr == nil && left.File == "" {
			return left, nil
		}
	}
	return j, clientError(err)
}

// answerWithin is how long the daemon may think about a question that needs no work.
const answerWithin = 3 * time.Second

// answer asks the daemon, and returns env.ErrSilent when it does not answer in time.
func answer[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	within, cancel := context.WithTimeoutCause(ctx, answerWithin, env.ErrSilent)
	defer cancel()
	return ask(within)
}

func sayDisk(a *cli) {
	fmt.Fprintln(a.stderr, "mirrord: the daemon does not answer; this is what the disk knows. "+
		"When mirrord daemon health says the same, start it again: sudo systemctl restart mirrord")
}

func printStatuses(a *cli, all status.All) error {
	list := all.Jobs
	if a.json {
		if list == nil {
			list = []status.Job{}
		}
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.printf("no jobs in %s; mirrord init URL writes one\n", a.jobsDir())
		return nil
	}
	t := table{
		{"JOB", "STATE", "VERSION", "FILES", "SIZE", "VERIFIED", "LAST RUN", "NEXT RUN", "SCHEDULE"},
	}
	if len(all.Nodes) > 0 {
		t[0] = append(t[0], "NODE")
	}
	for _, s := range list {
		version, files, size, verified := "-", "-", "-", "-"
		if s.Version > 0 {
			version, files, size = fmt.Sprint(s.Version), fmt.Sprint(s.Files), bytesText(s.Bytes)
		}
		if wasVerified(&s) {
			verified = status.Age(time.Duration(s.Staleness)*time.Second) + " ago"
		}
		row := []string{
			s.Name, s.Say(), version, files, size, verified,
			timeText(s.LastRun), nextText(&s), orDash(s.Schedule),
		}
		if len(all.Nodes) > 0 {
			row = append(row, orDash(s.Node))
		}
		t = append(t, row)
	}
	if err := t.write(a, []string{"SCHEDULE", "FILES", "SIZE", "VERSION", "VERIFIED", "LAST RUN"}); err != nil {
		return err
	}
	for _, line := range all.Daemon.Holders() {
		a.printf("%s\n", line)
	}
	for _, m := range all.Nodes {
		switch {
		case m.Away == "":
		case m.AsOf == nil:
			a.printf("node %s: %s\n", m.Name, m.Away)
		default:
			a.printf("node %s: %s; its %s shown as of %s\n", m.Name, m.Away,
				count.Of(m.Jobs, "job is", "jobs are"), timeText(m.AsOf))
		}
	}
	return nil
}

func printStatus(a *cli, s status.Job) error {
	if a.json {
		return a.printJSON(s)
	}
	a.printf("%s: %s\n", s.Name, s.Say())
	if s.Node != "" {
		a.printf("  node %s has it\n", s.Node)
	}
	for _, r := range s.Reasons {
		a.printf("  why: %s\n", r)
	}
	for _, p := range s.Problems {
		if !slices.Contains(s.Reasons, p) {
			a.printf("  %s\n", p)
		}
	}
	if s.Fix != "" {
		a.printf("  what to do: %s\n", a.typed(s.Fix))
	}
	for _, w := range s.Warnings {
		a.printf("  warning: %s\n", w)
	}
	if s.Version > 0 {
		a.printf("  version %d", s.Version)
		if s.Published != nil {
			a.printf(", published %s", timeText(s.Published))
		}
		a.printf(": %s, %s\n", count.Of(s.Files, "file"), bytesText(s.Bytes))
	}
	if wasVerified(&s) {
		a.printf("  all of it was verified within the last %s\n",
			status.Age(time.Duration(s.Staleness)*time.Second))
	}
	if d := s.Disk; d != nil {
		a.printf("  on the disk at %s: %s (bodies %s, documents %s, trees %s, database %s)\n", timeText(&d.At),
			bytesText(d.Total), bytesText(d.Bodies), bytesText(d.Documents), bytesText(d.Trees), bytesText(d.Database))
	}
	for _, line := range s.Scrub.Lines(time.Now()) {
		a.printf("  %s\n", line)
	}
	for _, line := range s.Hooks {
		a.printf("  %s\n", line)
	}
	for _, line := range s.Forgotten {
		a.printf("  not requested: %s\n", line)
	}
	if s.Started != nil {
		a.printf("  running since %s", timeText(s.Started))
		if p := s.Progress; p != nil {
			a.printf(": %s", progressLine(*p))
		}
		a.printf("\n")
	}
	if s.Next != nil {
		a.printf("  next run %s (%s)\n", nextText(&s), s.Why)
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
	// it ended in an error, before there was anything to report
	if s.Last != nil && !s.Last.Started.Equal(sum.Started) {
		a.printf("  the run before it, of %s:\n", timeText(&sum.Started))
	} else {
		sum.Reasons = nil // they stand above, with what to do
	}
	return a.printSummary(&sum, hints{full: jobHints(s.Name).full})
}

func printRuns(ctx context.Context, a *cli, c *control.Client, name string, n int) error {
	var runs []status.Run
	if c != nil {
		var err error
		runs, err = answer(ctx, func(ctx context.Context) ([]status.Run, error) {
			return c.Runs(ctx, name, min(n, 1000))
		})
		if errors.Is(err, env.ErrSilent) {
			sayDisk(a)
			runs, err = look.Runs(a.app(), name, n)
		}
		if err != nil {
			return clientError(err)
		}
	} else {
		var err error
		if runs, err = look.Runs(a.app(), name, n); err != nil {
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", timeText(&r.Started),
			count.Span(r.Ended.Sub(r.Started)), r.Verdict, version, r.Requests, bytesText(r.Received),
			strings.Join(whyOf(&r), "; "))
	}
	return w.Flush()
}

// whyOf is what the list of runs says of one beside its numbers.
func whyOf(r *status.Run) []string {
	if first := r.FirstGoneText(); first != "" {
		return append([]string{first}, r.Reasons...)
	}
	return r.Reasons
}

// nextText is when a job runs next. A daemon of an older version gives no text for it.
func nextText(s *status.Job) string {
	if s.NextText == "" {
		return timeText(s.Next)
	}
	return s.NextText
}

func timeText(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return status.TimeText(t.Local())
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func bytesText(n int64) string { return mirror.Bytes(n) }

// wasVerified reports whether it can be said how old the mirror is at most: not of one that is damaged.
func wasVerified(s *status.Job) bool {
	return (s.Verified != nil) && s.Health != look.Broken && s.Health != status.Damaged
}

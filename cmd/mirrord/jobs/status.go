// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/spaces"
	"mirrord/cmd/mirrord/cli"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

func StatusCommand(a *cli.CLI) *cobra.Command {
	runs, versions := 0, false
	return a.Command("status", cli.Flags{
		"runs":     &runs,
		"versions": &versions,
	}, func(cmd *cobra.Command, args []string) error {
		c, err := a.App().Client()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			if runs > 0 || versions {
				return env.Usagef("name a job: the runs or versions are those of one")
			}
			all, err := statuses(cmd.Context(), a, c, time.Now())
			if err != nil {
				return err
			}
			if err := printStatuses(a, all); err != nil || a.JSON || !spaces.HasSpaces(a.App()) {
				return err
			}
			return cli.PrintSpaces(cmd.Context(), a)
		}
		name := strings.TrimSuffix(args[0], scheduler.Suffix)
		if versions {
			return printVersions(a, name)
		}
		if runs > 0 {
			return printRuns(cmd.Context(), a, c, name, runs)
		}
		s, err := jobStatus(cmd.Context(), a, c, name, time.Now())
		if err != nil {
			return err
		}
		return printStatus(a, s)
	})
}

// statuses asks the daemon, if there is one, else the disk.
func statuses(ctx context.Context, a *cli.CLI, c *control.Client, now time.Time) (status.All, error) {
	if c == nil {
		list, err := look.Statuses(a.App(), now)
		if err == nil && len(list) > 0 && a.StateFlag != "" && !env.Exists(filepath.Join(a.StateFlag, "sites")) {
			fmt.Fprintf(a.Stderr, "mirrord: there are no mirrors in %s\n", a.StateFlag)
		}
		return status.All{Jobs: list}, err
	}
	all, err := cli.Answer(ctx, c.Status)
	if errors.Is(err, env.ErrSilent) {
		sayDisk(a)
		list, err := look.Statuses(a.App(), now)
		return status.All{Jobs: list}, err
	}
	if err != nil {
		return all, cli.ClientError(err)
	}
	left, err := look.LeftMirrors(a.App(), all.Jobs, now)
	if err == nil { // otherwise this user may not read the state
		all.Jobs = append(all.Jobs, left...)
		status.SortJobs(all.Jobs)
	}
	return all, nil
}

func jobStatus(
	ctx context.Context, a *cli.CLI, c *control.Client, name string, now time.Time,
) (status.Job, error) {
	if c == nil {
		return look.JobStatus(a.App(), name, now)
	}
	j, err := cli.Answer(ctx, func(ctx context.Context) (status.Job, error) { return c.Job(ctx, name) })
	if errors.Is(err, env.ErrSilent) {
		sayDisk(a)
		return look.JobStatus(a.App(), name, now)
	}
	if errors.Is(err, control.ErrNotFound) {
		if left, lerr := look.JobStatus(a.App(), name, now); lerr == nil && left.File == "" {
			return left, nil
		}
	}
	return j, cli.ClientError(err)
}

func sayDisk(a *cli.CLI) {
	fmt.Fprintln(a.Stderr, "mirrord: the daemon does not answer; this is what the disk knows. "+
		"When mirrord daemon health says the same, start it again: sudo systemctl restart mirrord")
}

func printStatuses(a *cli.CLI, all status.All) error {
	list := all.Jobs
	if a.JSON {
		if list == nil {
			list = []status.Job{}
		}
		return a.PrintJSON(list)
	}
	err := cli.SayTable(a, "statuses", struct {
		status.All
		Dir string
	}{all, a.JobsDir()}, "SCHEDULE", "FILES", "SIZE", "VERSION", "LAST CHECKED", "LAST RUN")
	if err != nil || len(list) == 0 {
		return err
	}
	return a.Say("daemon", all)
}

func printStatus(a *cli.CLI, s status.Job) error {
	err := a.Show("status", s, struct {
		*status.Job
		Now time.Time
	}{&s, time.Now()})
	if err != nil || a.JSON || s.LastRun == nil || len(s.Summary) == 0 {
		return err
	}
	var sum mirror.Summary
	if err := json.Unmarshal(s.Summary, &sum); err != nil {
		return fmt.Errorf("status %s: report of the last run: %w", s.Name, err)
	}
	// it ended in an error, before there was anything to report
	if s.Last != nil && !s.Last.Started.Equal(sum.Started) {
		a.Printf("  the run before it, of %s:\n", cli.TimeText(&sum.Started))
	} else {
		sum.Reasons = nil // they are above, with the fix
	}
	return a.PrintSummary(&sum, cli.Hints{Full: cli.JobHints(s.Name).Full})
}

func printRuns(ctx context.Context, a *cli.CLI, c *control.Client, name string, n int) error {
	var runs []status.Run
	if c != nil {
		var err error
		runs, err = cli.Answer(ctx, func(ctx context.Context) ([]status.Run, error) {
			return c.Runs(ctx, name, min(n, 1000))
		})
		if errors.Is(err, env.ErrSilent) {
			sayDisk(a)
			runs, err = look.Runs(a.App(), name, n)
		}
		if err != nil {
			return cli.ClientError(err)
		}
	} else {
		var err error
		if runs, err = look.Runs(a.App(), name, n); err != nil {
			return err
		}
	}
	return a.Show("runs", runs, struct {
		Job  string
		Runs []status.Run
	}{name, runs})
}

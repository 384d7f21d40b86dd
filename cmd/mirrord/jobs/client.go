// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/life"
	"mirrord/app/runs"
	"mirrord/cmd/mirrord/cli"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

// runInDaemon asks the daemon for a run, shows where it stands, and ends as it does.
func runInDaemon(
	ctx context.Context, a *cli.CLI, c *control.Client, name string, r control.RunRequest,
) error {
	name = strings.TrimSuffix(name, scheduler.Suffix)
	p := cli.NewProgress(a, name, a.JSON || !r.Wait)
	draw := p.Update()
	state := status.Activity("")
	var last *status.Job
	attached := false
	run, err := c.Run(ctx, name, r, func(e control.Event) {
		if e.Attached != nil { // once, and the daemon has just read the job's file
			if j, err := c.Job(ctx, name); err == nil && j.Refused {
				const old = "%s: its file is refused, so the run is by the last good one; why: mirrord check\n"
				fmt.Fprintf(a.Stderr, old, name)
			}
		}
		if e.Job != nil {
			last = e.Job
		}
		attached = attached || (e.Attached != nil && *e.Attached)
		switch {
		case !r.Wait:
		case e.Attached != nil && *e.Attached && !a.JSON:
			fmt.Fprintf(a.Stderr, "%s: a run is under way; this is it\n", name)
		case e.Job == nil:
		case e.Job.Activity == status.Running && e.Job.Progress != nil && draw != nil:
			draw(*e.Job.Progress)
		case e.Job.Activity != state && e.Job.Activity != status.Running && e.Job.Activity != status.Idle:
			p.Clear()
			fmt.Fprintf(a.Stderr, "%s: %s\n", name, cli.WaitText(e.Job))
		}
		if e.Job != nil {
			state = e.Job.Activity
		}
	})
	p.Clear()
	switch {
	case ctx.Err() != nil:
		return &env.Error{
			Kind: env.Partial,
			Err: fmt.Errorf(
				"left alone: the run of %s continues in the daemon; mirrord status %s shows it, mirrord cancel %s "+
					"ends it",
				name, name, name),
		}
	case errors.Is(err, control.ErrGone):
		return &env.Error{Kind: env.Partial, Err: err}
	case errors.Is(err, control.ErrConflict) && !r.Accept: // one of another kind is under way
		return &env.Error{
			Kind: env.Locked,
			Err:  fmt.Errorf("%w; wait for it, or end it: mirrord cancel %s", err, name),
		}
	case err != nil:
		return cli.ClientError(err)
	case run == nil:
		if a.JSON {
			return a.PrintJSON(map[string]any{"job": name, "started": true})
		}
		switch {
		case last != nil && (last.Activity == status.Window || last.Activity == status.Waiting ||
			last.Activity == status.NoRoom):
			a.Printf("%s: asked for; %s\n", name, cli.WaitText(last))
		case attached:
			a.Printf("%s: a run is under way\n", name)
		default:
			a.Printf("%s: started\n", name)
		}
		return nil
	}
	return reportRun(a, name, run)
}

// reportRun prints the report of a daemon's run and turns how it ended into the exit code, as report does for
// a run of this process.
func reportRun(a *cli.CLI, name string, run *status.Run) error {
	var sum *mirror.Summary
	if len(run.Summary) > 0 {
		sum = new(mirror.Summary)
		if err := json.Unmarshal(run.Summary, sum); err != nil {
			return fmt.Errorf("report of the run of %s: %w", name, err)
		}
		if again := runs.LastingOfJob(nil, name, sum); again != nil && run.Cause == status.ByItself {
			return a.Report(sum, again, cli.JobHints(name))
		}
		if err := a.PrintSummary(sum, cli.JobHints(name)); err != nil {
			return err
		}
	}
	var err error
	switch {
	case run.Error != "":
		err = errors.New(run.Error)
	case run.Cause != status.ByItself && run.Verdict == status.VerdictPartial:
		err = fmt.Errorf("%s: ended early: %s", name, cli.CauseText(run.Cause))
	}
	switch {
	case run.Cause == status.Busy:
		return &env.Error{Kind: env.Locked, Err: err}
	case run.Verdict == status.VerdictPartial:
		return &env.Error{Kind: env.Partial, Err: err}
	case run.Verdict == status.VerdictSuspicious:
		return &env.Error{Kind: env.Suspicious, Err: err}
	case run.Verdict == status.VerdictGaps:
		return &env.Error{Kind: env.Gaps, Err: err}
	case run.Verdict != status.VerdictComplete && err == nil:
		return fmt.Errorf("%s: the run ended in an error", name)
	}
	return err
}

func CancelCommand(a *cli.CLI) *cobra.Command {
	return cli.JobCommand(a, "cancel", nil,
		func(ctx context.Context, name string) error {
			c, err := a.App().Commander(ctx)
			if err == nil && c == nil {
				err = errors.New("no daemon runs on this state directory; Ctrl-C ends a run in the process that makes it")
			}
			if err != nil {
				return err
			}
			j, err := c.Cancel(ctx, name)
			return cli.Said(a, j, "cancelled", err)
		})
}

// PauseCommand is pause, or resume.
func PauseCommand(a *cli.CLI, name string, paused bool) *cobra.Command {
	return cli.JobCommand(a, name, nil,
		func(ctx context.Context, name string) error { return setPaused(ctx, a, name, paused) })
}

func setPaused(ctx context.Context, a *cli.CLI, name string, paused bool) error {
	c, err := a.App().Commander(ctx)
	if err != nil {
		return err
	}
	word := map[bool]string{true: "paused", false: "resumed"}[paused]
	if c != nil {
		do := c.Resume
		if paused {
			do = c.Pause
		}
		j, err := do(ctx, name)
		return cli.Said(a, j, word, err)
	}
	if err := life.SetPaused(a.App(), name, paused); err != nil {
		return err
	}
	return cli.Said(a, status.Job{Name: name}, word+"; no daemon runs, the next one honors it", nil)
}

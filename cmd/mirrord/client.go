// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/life"
	"mirrord/app/runs"
	"mirrord/internal/count"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

// runInDaemon asks the daemon for a run, shows where it stands, and ends as it does.
func runInDaemon(ctx context.Context, a *cli, c *control.Client, name string, r control.RunRequest) error {
	name = strings.TrimSuffix(name, scheduler.Suffix)
	p := newProgress(a, name, a.json || !r.Wait)
	draw := p.update()
	state := status.Activity("")
	var last *status.Job
	attached := false
	run, err := c.Run(ctx, name, r, func(e control.Event) {
		if e.Job != nil {
			last = e.Job
		}
		attached = attached || (e.Attached != nil && *e.Attached)
		switch {
		case !r.Wait:
		case e.Attached != nil && *e.Attached && !a.json:
			fmt.Fprintf(a.stderr, "%s: a run is under way; this is it\n", name)
		case e.Job == nil:
		case e.Job.Activity == status.Running && e.Job.Progress != nil && draw != nil:
			draw(*e.Job.Progress)
		case e.Job.Activity != state && e.Job.Activity != status.Running && e.Job.Activity != status.Idle:
			p.clear()
			fmt.Fprintf(a.stderr, "%s: %s\n", name, waitText(e.Job))
		}
		if e.Job != nil {
			state = e.Job.Activity
		}
	})
	p.clear()
	switch {
	case ctx.Err() != nil:
		return &env.Error{
			Kind: env.Partial,
			Err: fmt.Errorf(
				"left alone: the run of %s goes on in the daemon; mirrord status %s shows it, mirrord cancel %s ends it",
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
		return clientError(err)
	case run == nil:
		if a.json {
			return a.printJSON(map[string]any{"job": name, "started": true})
		}
		switch {
		case last != nil && (last.Activity == status.Window || last.Activity == status.Waiting ||
			last.Activity == status.NoRoom):
			a.printf("%s: asked for; %s\n", name, waitText(last))
		case attached:
			a.printf("%s: a run is under way\n", name)
		default:
			a.printf("%s: started\n", name)
		}
		return nil
	}
	return reportRun(a, name, run)
}

// waitText says what a run waits for.
func waitText(j *status.Job) string {
	s := j.Say()
	if _, after, ok := strings.Cut(s, ", "); ok {
		s = after
	}
	if j.Activity == status.Window {
		s += "; mirrord run-now " + j.Name + " --now does not wait for it"
	}
	return s
}

// reportRun prints the report of a daemon's run and turns how it ended into the exit code, as report does for
// a run of this process.
func reportRun(a *cli, name string, run *status.Run) error {
	var sum *mirror.Summary
	if len(run.Summary) > 0 {
		sum = new(mirror.Summary)
		if err := json.Unmarshal(run.Summary, sum); err != nil {
			return fmt.Errorf("report of the run of %s: %w", name, err)
		}
		if again := runs.LastingOfJob(nil, name, sum); again != nil && run.Cause == status.ByItself {
			return a.report(sum, again, jobHints(name))
		}
		if err := a.printSummary(sum, jobHints(name)); err != nil {
			return err
		}
	}
	var err error
	switch {
	case run.Error != "":
		err = errors.New(run.Error)
	case run.Cause != status.ByItself && run.Verdict == status.VerdictPartial:
		err = fmt.Errorf("%s: ended early: %s", name, causeText(run.Cause))
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

func causeText(c status.Cause) string {
	switch c {
	case status.Shutdown:
		return "the daemon was told to end; the run goes on when it starts again"
	case status.Cancelled:
		return "it was cancelled"
	case status.PausedRun:
		return "the job was paused; mirrord resume lets it go on"
	case status.OutOfHours:
		return "the job's window closed; the run goes on when it opens"
	case status.GaveWay:
		return "it waited for its site while other jobs could not begin; the run goes on later"
	case status.Postponed:
		return "hooks.before postponed it; it is tried again"
	case status.StateFull:
		return "the mirror takes as much room as it may; the next run goes on when there is more"
	case status.DiskFull:
		return "there is too little room on the disk; the run goes on when there is more"
	}
	return string(c)
}

// clientError gives an answer of the daemon its exit code.
func clientError(err error) error {
	switch {
	case errors.Is(err, control.ErrNotFound), errors.Is(err, control.ErrInvalid):
		return &env.Error{Kind: env.Usage, Err: err}
	case errors.Is(err, os.ErrPermission):
		join := ""
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
			join = env.JoinHint(op.Addr.String())
		}
		return fmt.Errorf("%w; run this as root (sudo)%s", err, join)
	}
	return err
}

// jobCommand makes a command that asks the daemon to do something with a job.
func jobCommand(
	a *cli, use, long string, run func(ctx context.Context, name string) error,
) *cobra.Command {
	return &cobra.Command{
		Use:               use + " JOB",
		Long:              long,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), strings.TrimSuffix(args[0], scheduler.Suffix))
		},
	}
}

func cancelCommand(a *cli) *cobra.Command {
	return jobCommand(a, "cancel", `End the run of a job in the daemon, as partial: what was fetched is kept, and the next run goes on from there. A run that waits for its turn is taken
back. The job's schedule is not touched; mirrord pause is for that.`,
		func(ctx context.Context, name string) error {
			c, err := a.app().Commander(ctx)
			if err == nil && c == nil {
				err = errors.New("no daemon runs on this state directory; Ctrl-C ends a run in the process that makes it")
			}
			if err != nil {
				return err
			}
			j, err := c.Cancel(ctx, name)
			return said(a, j, "cancelled", err)
		})
}

func pauseCommand(a *cli) *cobra.Command {
	return jobCommand(a, "pause", `End the run of a job, if one is under way, and start none any more until mirrord resume: not after the daemon was restarted either. A run by
mirrord run-now is still possible. Without a daemon the next one will heed it.`,
		func(ctx context.Context, name string) error { return setPaused(ctx, a, name, true) })
}

func resumeCommand(a *cli) *cobra.Command {
	return jobCommand(a, "resume",
		`Let a paused job run again. A run that the pause interrupted goes on, and one that it missed is made up once.`,
		func(ctx context.Context, name string) error { return setPaused(ctx, a, name, false) })
}

func setPaused(ctx context.Context, a *cli, name string, paused bool) error {
	c, err := a.app().Commander(ctx)
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
		return said(a, j, word, err)
	}
	if err := life.SetPaused(a.app(), name, paused); err != nil {
		return err
	}
	return said(a, status.Job{Name: name}, word+"; no daemon runs, the next one will heed it", nil)
}

// said reports what was done.
func said(a *cli, j status.Job, what string, err error) error {
	if err != nil {
		return clientError(err)
	}
	if a.json {
		return a.printJSON(j)
	}
	a.printf("%s: %s\n", j.Name, what)
	return nil
}

func reloadCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use: "reload",
		Long: `Let the daemon read the jobs directory again, and print what changed. It does so by itself soon after a change, and on SIGHUP; this command is for
those who want to see the result. Jobs in which nothing changed are not touched; a run under way ends as it began. Jobs whose last run met what only somebody could mend (a host name, a secret,
permissions) run again, as after a restart of the daemon. Exit code 1 when a file is refused.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.app().Commander(cmd.Context())
			if err == nil && c == nil {
				err = errors.New("no daemon runs on this state directory; mirrord check validates job files")
			}
			if err != nil {
				return err
			}
			re, err := c.Reload(cmd.Context())
			if err != nil {
				return clientError(err)
			}
			if a.json {
				err = a.printJSON(re)
			} else {
				printReloaded(a, re)
			}
			// a daemon of an older version names the changes only
			refused := func(ch control.Change) bool { return ch.Kind == string(scheduler.Refused) }
			if err == nil && (len(re.Refused) > 0 || slices.ContainsFunc(re.Changes, refused)) {
				err = &env.Error{}
			}
			return err
		},
	}
}

// printReloaded prints what changed, and the files that are refused as before.
func printReloaded(a *cli, re control.Reloaded) {
	changes := slices.Clone(re.Changes)
	for _, r := range re.Refused {
		said := func(ch control.Change) bool { return ch.Job == r.Job && ch.Kind == r.Kind }
		if !slices.ContainsFunc(changes, said) {
			changes = append(changes, r)
		}
	}
	for _, ch := range changes {
		a.printf("%s: %s\n", ch.Job, ch.Kind)
		for _, p := range ch.Problems {
			a.printf("  %s\n", p)
		}
	}
	a.printf("%s in force\n", count.Of(re.Jobs, "job is", "jobs are"))
}

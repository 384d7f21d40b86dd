// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

// WaitText says what a run waits for.
func WaitText(j *status.Job) string {
	s := j.Say()
	if _, after, ok := strings.Cut(s, ", "); ok {
		s = after
	}
	if j.Activity == status.Window {
		s += "; mirrord run-now " + j.Name + " --now does not wait for it"
	}
	return s
}

func CauseText(c status.Cause) string {
	switch c {
	case status.Shutdown:
		return "the daemon ended; the run continues when it starts again"
	case status.Cancelled:
		return "it was cancelled"
	case status.PausedRun:
		return "the job was paused; mirrord resume continues it"
	case status.OutOfHours:
		return "the job's window closed; the run continues when it opens"
	case status.GaveWay:
		return "it waited for its site while other jobs could not begin; the run continues later"
	case status.Postponed:
		return "hooks.before postponed it; it is tried again"
	case status.StateFull:
		return "the mirror is as large as it may be; the next run continues when it may be larger"
	case status.DiskFull:
		return "there is too little free space on the disk; the run continues when there is more"
	}
	return string(c)
}

// ClientError gives an answer of the daemon its exit code.
func ClientError(err error) error {
	switch {
	case errors.Is(err, control.ErrNotFound), errors.Is(err, control.ErrInvalid):
		return env.Usagef("%w", err)
	case errors.Is(err, os.ErrPermission):
		join := ""
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
			join = env.JoinHint(op.Addr.String())
		}
		return fmt.Errorf("%w; run this as root (sudo)%s", err, join)
	}
	return err
}

// JobCommand makes a command that asks the daemon to do something with a job.
func JobCommand(
	a *CLI, name string, flags Flags, run func(ctx context.Context, name string) error,
) *cobra.Command {
	return a.Command(name, flags, func(cmd *cobra.Command, args []string) error {
		return run(cmd.Context(), strings.TrimSuffix(args[0], scheduler.Suffix))
	})
}

// Said reports what was done.
func Said(a *CLI, j status.Job, what string, err error) error {
	if err != nil {
		return ClientError(err)
	}
	if a.JSON {
		return a.PrintJSON(j)
	}
	a.Printf("%s: %s\n", j.Name, what)
	return nil
}

// PrintReloaded prints what changed, and the files that are refused as before.
func PrintReloaded(a *CLI, re control.Reloaded) error {
	changes := slices.Clone(re.Changes)
	for _, r := range re.Refused {
		said := func(ch status.Change) bool { return ch.Job == r.Job && ch.Kind == r.Kind }
		if !slices.ContainsFunc(changes, said) {
			changes = append(changes, r)
		}
	}
	re.Changes = changes
	return a.Say("reloaded", re)
}

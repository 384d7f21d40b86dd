// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/spaces"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// PlainDefaults shows defaults of a command's flags as people write them: "24h" in place of "24h0m0s", and no
// empty list.
func PlainDefaults(c *cobra.Command, names ...string) *cobra.Command {
	for _, name := range names {
		f := c.Flags().Lookup(name)
		if d, err := time.ParseDuration(f.DefValue); err == nil {
			f.DefValue = count.Span(d)
		} else {
			f.DefValue = ""
		}
	}
	return c
}

func SetFlag(cmd *cobra.Command, set *[]string) {
	cmd.Flags().StringArrayVar(set, "set", nil,
		"set a key of the job: `KEY=VALUE` (repeatable; see man mirrord-job)")
	Complete(cmd, "set", completeSet)
}

// PrintSpaces writes a line for each space.
func PrintSpaces(ctx context.Context, a *CLI) error {
	all, err := spaces.Spaces(ctx, a.App(), spaces.SpaceRequest{Brief: true})
	return errors.Join(a.Say("spaces in short", all), err)
}

// answerWithin is how long the daemon may think about a question that needs no work.
const answerWithin = 3 * time.Second

// Answer asks the daemon, and returns env.ErrSilent when it does not answer in time.
func Answer[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	within, cancel := context.WithTimeoutCause(ctx, answerWithin, env.ErrSilent)
	defer cancel()
	return ask(within)
}

func TimeText(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return status.TimeText(t.Local())
}

// LateGoal reads --late.
func LateGoal(s string) (time.Duration, error) {
	late, err := job.ParseDuration(s)
	if err != nil {
		return 0, env.Usagef("--late: %w", err)
	}
	if late <= 0 {
		return 0, env.Usagef("--late %s: want a time above 0", s)
	}
	return late, nil
}

// Some is the beginning of a long list, and how much more there is.
func Some(list []string) []string {
	const most = 5
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("%d more", len(list)-most))
}

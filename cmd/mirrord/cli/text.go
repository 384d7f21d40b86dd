// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/spaces"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/mirror"
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
	for _, s := range all {
		a.Printf("space %s: %s, %s with links to other mirrors (mirrord space %s)\n", s.Space,
			count.Of(len(s.Mirrors), "mirror"), count.Of(s.Pages, "page"), s.Space)
	}
	return err
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

func BytesText(n int64) string { return mirror.Bytes(n) }

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

func VerifySummary(r *care.Verified) string {
	s := fmt.Sprintf("%s, %s; links of %d read; ", count.Of(r.Files, "file"), mirror.Bytes(r.Bytes),
		r.Linked)
	if r.Meta == nil && r.Kept == nil && r.Linked == 0 { // a web archive
		s = fmt.Sprintf("%s, %s; ", count.Of(r.Files, "record"), mirror.Bytes(r.Bytes))
	}
	if d := r.Delta; d != nil {
		s = fmt.Sprintf(
			"what version %d has since version %d: %s, of which it holds %d, %s; mirrord import --delta checks "+
				"whether it fits; ", d.Version, d.Base.Version, count.Of(d.Lines, "new or changed file"), r.Files,
			mirror.Bytes(r.Bytes))
	}
	if x := r.Sample; x != nil {
		s = fmt.Sprintf("a sample of %g%% (--seed %d): %s read: %s; ", 100*x.Share, x.Seed,
			mirror.Bytes(x.Read), count.Of(r.Files, "published file"))
	}
	if r.Kept != nil {
		s += fmt.Sprintf("%s, %s read; ", count.Of(r.Kept.Records, "record"),
			count.Of(r.Kept.Frames+r.Kept.Blobs-r.Kept.Away, "stored body", "stored bodies"))
	}
	if r.Running {
		s += "a run is in progress, and what it committed since was not checked; "
	}
	if n := r.Count(); n > 0 {
		return s + count.Of(n, "problem")
	}
	return s + "all is well"
}

// Some is the beginning of a long list, and how much more there is.
func Some(list []string) []string {
	const most = 5
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("%d more", len(list)-most))
}

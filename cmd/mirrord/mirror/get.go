// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"mirrord/app/jobs"
	"mirrord/app/runs"
	"mirrord/archive"
	"mirrord/cmd/mirrord/cli"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

func GetCommand(a *cli.CLI) *cobra.Command {
	var set []string
	var out string
	var accept, full bool
	cmd := a.Command("get", cli.Flags{
		"output": &out,
		"accept": &accept,
		"full":   &full,
	}, func(cmd *cobra.Command, args []string) error {
		j := job.Default(args...)
		if err := jobs.Apply(j, control.RunRequest{Set: set, Full: full}); err != nil {
			return err
		}
		j.Name = job.NameFor(j.Seeds()[0])
		return get(cmd.Context(), a, runs.GetRequest{
			Job:    j,
			Keep:   a.StateFlag != "",
			Out:    out,
			Accept: accept,
		})
	})
	cli.SetFlag(cmd, &set)
	return cmd
}

// getHints are the hints for a get.
func getHints() cli.Hints {
	return cli.Hints{
		Accept: "look at the site; if it really is so: the same command with --accept",
		Gaps: func(why string) string {
			if keys := status.CutBy(why); keys != "" {
				return "raise " + keys + " with --set"
			}
			return ""
		},
		Full: "the same command with --full",
		Entry: func(why string) string {
			if t, ok := status.TroubleOf(why); ok && t.Get != "" {
				return t.Get
			}
			return "look at the site; if it has moved, get the URL that it has now"
		},
	}
}

// get mirrors, prints the report, and says where to look.
func get(ctx context.Context, a *cli.CLI, r runs.GetRequest) error {
	var sum *mirror.Summary
	err := a.WithProgress(r.Job.Name, getHints(),
		func(show func(status.Progress)) (_ *mirror.Summary, err error) {
			r.Progress = show
			sum, err = runs.Get(ctx, a.App(), r)
			return sum, err
		})
	if sum == nil || !sum.Verdict.Finished() || r.Keep || a.JSON {
		return err
	}
	a.Printf("  open: %s\n", openHint(sum.Path, sum.Entry))
	return err
}

// openHint is what a person opens to see the mirror.
func openHint(out, entry string) string {
	if !archive.Named(out).Folder() {
		return out
	}
	return filepath.Join(out, filepath.FromSlash(entry))
}

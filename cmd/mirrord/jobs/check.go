// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/cmd/mirrord/cli"
)

func CheckCommand(a *cli.CLI) *cobra.Command {
	var effective, resolve bool
	cmd := &cobra.Command{
		Use:   "check [FILE…]",
		Short: "Validate job files",
		Long: `Validate job files: every error with file, line, column and a hint. Without FILE all files of the jobs directory are checked, and whether they can go
together: what the daemon would refuse is refused here for the same reason. A FILE is held against the jobs directory for what it reuses.

A warning names the URLs of a job, and the origins of its mirror, that are at private addresses which the job may not reach, and the line to add to
its file. For this host names are resolved, within ten seconds; --resolve=false leaves that out. Another one says how many files of the mirror the
next run will remove because the rules of the job changed. No request is made to any site.

Other warnings name what the daemon's user cannot reach: publish.dir, files of secrets and certificates, variables that are not set; and values
that are valid and probably not meant: a regular expression as a glob, a schedule outside of the window, a file whose name does not end in .toml.

Exit code 1 when a file is invalid.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return check(cmd.Context(), a, args, effective, resolve)
		},
	}
	cmd.Flags().BoolVar(&resolve, "resolve", true, "resolve the host names of jobs")
	cmd.Flags().BoolVar(&effective, "effective", false,
		"print the whole configuration of each valid file, defaults included")
	return cmd
}

func check(ctx context.Context, a *cli.CLI, args []string, effective, resolve bool) error {
	checked, err := jobs.Check(ctx, a.App(), args, resolve)
	if err != nil {
		return err
	}
	failed := 0
	for _, r := range checked.Files {
		if !r.OK {
			failed++
		}
		if a.JSON {
			continue
		}
		runs := ""
		if r.First != "" {
			runs = ", " + r.First
		}
		switch {
		case r.Err != nil:
			a.Printf("%s\n", r.Text())
		case effective && !r.NotRead:
			a.Printf("# %s\n%s\n", r.File, r.Parsed.Effective())
		case !r.NotRead:
			a.Printf("%s: ok%s\n", r.File, runs)
		}
		for _, w := range r.Warnings {
			if !effective {
				a.Printf("%s: warning: %s\n", r.File, w)
			}
		}
	}
	if len(checked.Unresolved) > 0 {
		fmt.Fprintf(a.Stderr, "mirrord: not resolved, so whether these are private is unknown: %s\n",
			firstOf(checked.Unresolved, 10))
	}
	if checked.NotAs != "" {
		fmt.Fprintf(a.Stderr, "mirrord: files were looked at with your rights; the daemon's are those of user %s: "+
			"sudo mirrord check\n", checked.NotAs)
	}
	if a.JSON {
		if err := a.PrintJSON(checked.Files); err != nil {
			return err
		}
	} else if len(checked.Files) == 0 {
		a.Printf("no job files in %s\n", a.JobsDir())
	}
	if failed > 0 {
		return &env.Error{}
	}
	return nil
}

// firstOf lists the first n of some words, and how many more there are.
func firstOf(words []string, n int) string {
	if len(words) <= n {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:n], ", "), len(words)-n)
}

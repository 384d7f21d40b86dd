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
	effective, resolve := false, true
	return a.Command("check", cli.Flags{
		"effective": &effective,
		"resolve":   &resolve,
	}, func(cmd *cobra.Command, args []string) error {
		return check(cmd.Context(), a, args, effective, resolve)
	})
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
	}
	if a.JSON {
		err = a.PrintJSON(checked.Files)
	} else {
		var text string
		text, err = a.Text("checked", struct {
			*jobs.Checked
			Effective bool
			Dir       string
		}{checked, effective, a.JobsDir()})
		a.Printf("%s\n", text)
	}
	if len(checked.Unresolved) > 0 {
		fmt.Fprintf(a.Stderr, "mirrord: not resolved, so whether these are private is unknown: %s\n",
			firstOf(checked.Unresolved, 10))
	}
	if checked.NotAs != "" {
		fmt.Fprintf(a.Stderr, "mirrord: files were looked at with your rights; the daemon's are those of user %s: "+
			"sudo mirrord check\n", checked.NotAs)
	}
	if err == nil && failed > 0 {
		err = &env.Error{}
	}
	return err
}

// firstOf lists the first n of some words, and how many more there are.
func firstOf(words []string, n int) string {
	if len(words) <= n {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:n], ", "), len(words)-n)
}

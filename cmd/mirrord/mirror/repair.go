// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
)

func RepairCommand(a *cli.CLI) *cobra.Command {
	var rebuild, dropLost, yes bool
	return a.Command("repair", cli.Flags{
		"rebuild":   &rebuild,
		"drop-lost": &dropLost,
		"yes":       &yes,
	}, func(cmd *cobra.Command, args []string) error {
		switch {
		case rebuild:
			return runRebuild(cmd.Context(), a, args[0])
		case dropLost:
			return runDropLost(cmd.Context(), a, args[0], yes)
		}
		return runMend(cmd.Context(), a, args[0], false)
	})
}

// runDropLost takes lost bodies out of the versions of a mirror, after a question.
func runDropLost(ctx context.Context, a *cli.CLI, name string, yes bool) error {
	if !yes {
		lost, err := care.WhatIsLost(ctx, a.App(), name)
		if err != nil {
			return err
		}
		for i := range lost {
			fmt.Fprintf(a.Stderr, "  %s\n", care.SayLost(&lost[i]))
		}
		if len(lost) > 0 {
			if err := a.ConfirmDeletion(); err != nil {
				return err
			}
		}
	}
	return runMend(ctx, a, name, true)
}

// runMend repairs what it can of a mirror without a request.
func runMend(ctx context.Context, a *cli.CLI, name string, drop bool) error {
	out, err := care.Mend(ctx, a.App(), name, drop)
	if err != nil {
		return err
	}
	if err := a.Show("repair", out); err != nil {
		return err
	}
	if out.After.Count() > 0 {
		return &env.Error{}
	}
	return nil
}

// runRebuild says whether a database had to be made again.
func runRebuild(ctx context.Context, a *cli.CLI, name string) error {
	out, err := care.Rebuild(ctx, a.App(), name)
	if err != nil {
		return err
	}
	return a.Show("rebuild", out)
}

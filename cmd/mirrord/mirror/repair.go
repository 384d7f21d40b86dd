// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/store"
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
	switch {
	case a.JSON:
		if err := a.PrintJSON(out); err != nil {
			return err
		}
	default:
		sayMended(a, out)
	}
	if out.After.Count() > 0 {
		return &env.Error{}
	}
	return nil
}

// sayMended reports repairs and losses, and what to do about these.
func sayMended(a *cli.CLI, out *care.Repaired) {
	name := out.Job
	if out.Database {
		a.Printf("%s: its database was made again from its log, and nothing is lost\n", name)
	}
	if out.Shared {
		a.Printf("mirror.db was made again from the sites\n")
	}
	if n := len(out.Files); n > 0 {
		a.Printf("%s: published files were made again: %s\n", name, env.Joined(cli.Some(out.Files), "and"))
	}
	if n := len(out.Bodies); n > 0 {
		a.Printf("%s: damaged bodies were replaced by copies: %s\n", name, env.Joined(cli.Some(out.Bodies), "and"))
	}
	for _, space := range out.Spaces {
		a.Printf("%s: its files in space %s were made again\n", name, space)
	}
	if out.Tree != "" {
		a.Printf("%s: the published tree cannot be made again (%s): mirrord run-now %s makes it again\n", name,
			out.Tree, name)
	}
	what := "lost"
	if out.Dropped {
		what = "dropped"
	}
	for i := range out.Lost {
		a.Printf("%s: %s\n", what, care.SayLost(&out.Lost[i]))
	}
	for _, p := range out.After.KeptProblems {
		a.Printf("%s\n", p)
	}
	a.Printf("%s: %s\n", name, cli.VerifySummary(out.After))
	present := slices.ContainsFunc(out.Lost, func(l store.LostBody) bool { return l.Present })
	switch {
	case len(out.Lost) == 0 || out.Dropped:
	case present:
		a.Printf("mirrord run-now %s requests what the site has; mirrord repair --drop-lost %s drops the rest\n",
			name, name)
	default:
		a.Printf("no copy is known; mirrord repair --drop-lost %s drops it\n", name)
	}
}

// runRebuild says whether a database had to be made again.
func runRebuild(ctx context.Context, a *cli.CLI, name string) error {
	out, err := care.Rebuild(ctx, a.App(), name)
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		return a.PrintJSON(out)
	case out.Whole:
		a.Printf("%s: its database was made again from its log, and nothing is lost; the damaged one is in the "+
			"site's folder \"damaged\"\n", name)
	case out.Rebuilt:
		a.Printf(
			"%s: %d URLs are known again from the published version; what was there is in the site's folder "+
				"\"damaged\"\n", name, out.Known)
		a.Printf("mirrord run-now %s fetches the rest\n", name)
	default:
		a.Printf("%s: its database can be read; nothing was changed\n", name)
	}
	return nil
}

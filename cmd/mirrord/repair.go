// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/store"
)

func repairCommand(a *cli) *cobra.Command {
	var rebuild, dropLost, yes bool
	cmd := &cobra.Command{
		Use:   "repair JOB",
		Short: "Repair a mirror without a request",
		Long: `Make again what can be made without a request: the database from its log, bodies from copies, published files from
bodies, those in a space too. The next run does so too, and requests the rest.

--drop-lost takes pages that are lost out of the versions that had them. If the log is damaged too, --rebuild uses the
published version; older versions are lost. Exit code 1 when something stays wrong.`,
		Example: `  mirrord repair samba
  mirrord repair --rebuild samba`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case rebuild:
				return runRebuild(cmd.Context(), a, args[0])
			case dropLost:
				return runDropLost(cmd.Context(), a, args[0], yes)
			}
			return runMend(cmd.Context(), a, args[0])
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "replace the damaged database")
	cmd.Flags().BoolVar(&dropLost, "drop-lost", false, "take what is lost out of the mirror")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask before --drop-lost")
	cmd.MarkFlagsMutuallyExclusive("rebuild", "drop-lost")
	return cmd
}

// runMend repairs what it can of a mirror without a request.
func runMend(ctx context.Context, a *cli, name string) error {
	out, err := care.Mend(ctx, a.app(), name)
	if err != nil {
		return err
	}
	return printMended(a, out)
}

// runDropLost takes what is lost out of the versions of a mirror, after a question.
func runDropLost(ctx context.Context, a *cli, name string, yes bool) error {
	if !yes {
		lost, err := care.WhatIsLost(ctx, a.app(), name)
		if err != nil {
			return err
		}
		for i := range lost {
			fmt.Fprintf(a.stderr, "  %s\n", care.SayLost(&lost[i]))
		}
		if len(lost) > 0 {
			if err := a.confirmDeletion(); err != nil {
				return err
			}
		}
	}
	out, err := care.DropLost(ctx, a.app(), name)
	if err != nil {
		return err
	}
	return printMended(a, out)
}

func printMended(a *cli, out *care.Repaired) error {
	switch {
	case a.json:
		if err := a.printJSON(out); err != nil {
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

// sayMended says what was repaired, what is lost, and what to do about that.
func sayMended(a *cli, out *care.Repaired) {
	name := out.Job
	if out.Database {
		a.printf("%s: its database was made again from its log, and nothing is lost\n", name)
	}
	if out.Shared {
		a.printf("mirror.db was made again from the sites\n")
	}
	if n := len(out.Files); n > 0 {
		a.printf("%s: of the published tree was made again: %s\n", name, env.Joined(some(out.Files), "and"))
	}
	if n := len(out.Bodies); n > 0 {
		a.printf("%s: damaged bodies were replaced by copies: %s\n", name, env.Joined(some(out.Bodies), "and"))
	}
	for _, space := range out.Spaces {
		a.printf("%s: its files in space %s were made again\n", name, space)
	}
	if out.Tree != "" {
		a.printf("%s: the published tree cannot be made again (%s): mirrord run-now %s makes it again\n", name,
			out.Tree, name)
	}
	what := "lost"
	if out.Dropped {
		what = "dropped"
	}
	for i := range out.Lost {
		a.printf("%s: %s\n", what, care.SayLost(&out.Lost[i]))
	}
	for _, p := range out.After.KeptProblems {
		a.printf("%s\n", p)
	}
	a.printf("%s: %s\n", name, verifySummary(out.After))
	present := slices.ContainsFunc(out.Lost, func(l store.LostBody) bool { return l.Present })
	switch {
	case len(out.Lost) == 0 || out.Dropped:
	case present:
		a.printf("mirrord run-now %s requests what the site has; mirrord verify --drop-lost %s drops the rest\n",
			name, name)
	default:
		a.printf("no copy is known; mirrord verify --drop-lost %s drops it\n", name)
	}
}

// some is the beginning of a long list, and how much more there is.
func some(list []string) []string {
	const most = 5
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("%d more", len(list)-most))
}

// runRebuild says whether a database had to be made again.
func runRebuild(ctx context.Context, a *cli, name string) error {
	out, err := care.Rebuild(ctx, a.app(), name)
	if err != nil {
		return err
	}
	switch {
	case a.json:
		return a.printJSON(out)
	case out.Whole:
		a.printf("%s: its database was made again from its log, and nothing is lost; the damaged one is in the "+
			"site's folder \"damaged\"\n", name)
	case out.Rebuilt:
		a.printf(
			"%s: %d URLs are known again from the published version; what was there is in the site's folder "+
				"\"damaged\"\n", name, out.Known)
		a.printf("mirrord run-now %s brings the rest\n", name)
	default:
		a.printf("%s: its database can be read; nothing was changed\n", name)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/spf13/cobra"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
	"mirrord/scheduler/status"
	"mirrord/store"
)

func VerifyCommand(a *cli.CLI) *cobra.Command {
	var noLinks, rebuild, repair, dropLost, yes bool
	var share string
	var seed uint64
	return a.Command("verify", cli.Flags{
		"no-links":  &noLinks,
		"rebuild":   &rebuild,
		"sample":    &share,
		"seed":      &seed,
		"repair":    &repair,
		"drop-lost": &dropLost,
		"yes":       &yes,
	}, func(cmd *cobra.Command, args []string) error {
		if rebuild {
			return runRebuild(cmd.Context(), a, args[0])
		}
		if repair {
			return runMend(cmd.Context(), a, args[0], false)
		}
		if dropLost {
			return runDropLost(cmd.Context(), a, args[0], yes)
		}
		if share != "" {
			if !cmd.Flags().Changed("seed") {
				seed = uint64(rand.Uint32()) // short enough to be typed
			}
			return verifySample(cmd.Context(), a, args[0], share, seed)
		}
		if cmd.Flags().Changed("seed") {
			return env.Usagef("--seed needs --sample")
		}
		return verify(cmd.Context(), a, args[0], !noLinks)
	})
}

func verify(ctx context.Context, a *cli.CLI, what string, links bool) error {
	environ, done := a.AppWithNote()
	report, err := care.Verify(ctx, environ, what, links)
	done()
	if err != nil {
		return err
	}
	return printVerified(a, what, report)
}

// verifySample checks a share of a mirror.
func verifySample(ctx context.Context, a *cli.CLI, name, share string, seed uint64) error {
	x := care.Sample{Seed: seed}
	var err error
	if x.Share, err = care.ParseShare(share); err != nil {
		return env.Usagef("--sample: %w", err)
	}
	report, err := care.VerifySample(ctx, a.App(), name, x)
	if err != nil {
		return err
	}
	return printVerified(a, name, report)
}

func printVerified(a *cli.CLI, what string, report *care.Verified) error {
	if a.JSON {
		if err := a.PrintJSON(report); err != nil {
			return err
		}
	} else {
		for _, p := range report.Problems {
			a.Printf("%s\n", p)
		}
		for _, p := range report.KeptProblems {
			a.Printf("%s\n", p)
		}
		if report.More > 0 {
			a.Printf("%s not shown\n", count.Of(report.More, "more problem is", "more problems are"))
		}
		for i := range report.Damaged {
			a.Printf("damaged: %s\n", care.SayLost(&report.Damaged[i]))
		}
		a.Printf("%s: %s\n", what, cli.VerifySummary(report))
		if slices.ContainsFunc(report.KeptProblems, func(p store.Problem) bool {
			return p.Kind == store.BadDatabase
		}) {
			a.Printf("%s: the database is damaged; %s\n", what, status.RebuildHint(what))
		} else if report.CanBeMade() || len(report.Damaged) > 0 {
			a.Printf("mirrord repair %s repairs what it can without a request; mirrord run-now %s "+
				"requests the rest\n", what, what)
		}
	}
	for _, n := range report.Notes {
		if !a.JSON {
			a.Printf("%s: note: %s\n", what, n)
		}
	}
	if report.Count() > 0 {
		return &env.Error{}
	}
	if k := report.Kept; (k != nil) && k.TornLog != "" && !a.JSON {
		a.Printf("%s: note: %s\n", what, k.TornLog)
	}
	if k := report.Kept; (k != nil) && k.Away > 0 && !a.JSON {
		a.Printf("%s: note: not read, because only the depot has it: %s; "+
			"mirrord cluster pull %s fetches all\n", what, count.Of(k.Away, "stored body", "stored bodies"), what)
	}
	return nil
}

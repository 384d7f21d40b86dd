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
	cmd := &cobra.Command{
		Use: "verify JOB|PATH",
		Long: `Check a published mirror, a PHM directory, an archive, tar or ZIM file of mirrord: each file, names, relative
links; of other archives each record or cluster. Of a JOB all that is stored is checked too, as of the last commit. A
name that exists here and that no job or mirror has is a PATH. Exit code 1 when something is wrong.

--sample reads a random share of a JOB, as daemon --scrub does in turn.

--repair makes again what can be made without a request: the database from its log, bodies from copies, published files
from bodies, those in a space too. The next run does so too, and requests the rest. --drop-lost takes pages that are lost out of the versions
that had them. If the log is damaged too, --rebuild uses the published version; older versions are lost.`,
		Example: `  mirrord verify samba
  mirrord verify samba.wacz
  mirrord verify --sample 5% samba
  mirrord verify --rebuild samba`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.CompleteJobOrFile(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rebuild {
				return runRebuild(cmd.Context(), a, args[0])
			}
			if repair {
				return runMend(cmd.Context(), a, args[0])
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
		},
	}
	cmd.Flags().BoolVar(&noLinks, "no-links", false, "do not read the links of pages")
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "replace the damaged database of a JOB")
	cmd.Flags().StringVar(&share, "sample", "", "read a random `SHARE` of a JOB, such as 5%")
	cmd.Flags().Uint64Var(&seed, "seed", 0, "`NUMBER` that the share depends on (default random)")
	cmd.Flags().BoolVar(&repair, "repair", false, "repair a JOB without a request")
	cmd.Flags().BoolVar(&dropLost, "drop-lost", false, "take what is lost out of a JOB")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask before --drop-lost")
	cmd.MarkFlagsMutuallyExclusive("sample", "rebuild", "repair", "drop-lost")
	return cmd
}

func verify(ctx context.Context, a *cli.CLI, what string, links bool) error {
	report, err := care.Verify(ctx, a.App(), what, links)
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
			a.Printf("mirrord verify --repair %s repairs what it can without a request; mirrord run-now %s "+
				"requests the rest\n", what, what)
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
			"mirrord cluster pull %s brings all here\n", what, count.Of(k.Away, "stored body", "stored bodies"), what)
	}
	return nil
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
		a.Printf("mirrord run-now %s brings the rest\n", name)
	default:
		a.Printf("%s: its database can be read; nothing was changed\n", name)
	}
	return nil
}

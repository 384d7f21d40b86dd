// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
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
	err := a.Show("verify", report, struct {
		What string
		*care.Verified
	}{what, report})
	if err == nil && report.Count() > 0 {
		return &env.Error{}
	}
	return err
}

// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"math"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/cmd/mirrord/cli"
	"mirrord/replay"
)

func TuneCommand(a *cli.CLI) *cobra.Command {
	var requests float64
	var late string
	cmd := a.Command("tune", cli.Flags{
		"requests": &requests,
		"late":     &late,
	}, func(cmd *cobra.Command, args []string) error {
		g, err := tuneGoal(cmd, requests, late)
		if err != nil {
			return err
		}
		x, done := a.AppWithNote()
		r, err := runs.Tune(cmd.Context(), x, args[0], g)
		done()
		if err != nil {
			return err
		}
		return a.Show("tuned", r, struct {
			*runs.TuneReport
			Flag string // --late, as it was given
		}{r, late})
	})
	cmd.MarkFlagsOneRequired("requests", "late")
	return cmd
}

func tuneGoal(cmd *cobra.Command, requests float64, late string) (g replay.Goal, err error) {
	if cmd.Flags().Changed("requests") {
		if !(requests > 0) || math.IsInf(requests, 0) {
			return g, env.Usagef("--requests %v: want a number above 0", requests)
		}
		g.Requests = requests
		return g, nil
	}
	g.Late, err = cli.LateGoal(late)
	return g, err
}

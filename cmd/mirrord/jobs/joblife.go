// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"github.com/spf13/cobra"

	"mirrord/app/life"
	"mirrord/cmd/mirrord/cli"
)

func RemoveCommand(a *cli.CLI) *cobra.Command {
	var yes, now bool
	return a.Command("remove", cli.Flags{
		"yes": &yes,
		"now": &now,
	}, func(cmd *cobra.Command, args []string) error {
		r, err := life.PlanRemoval(a.App(), args[0], now)
		if err != nil {
			return err
		}
		if !yes {
			if err := a.ConfirmPlan(r.Job, r.Plan()); err != nil {
				return err
			}
		}
		if err := life.Remove(cmd.Context(), a.App(), r); err != nil {
			return err
		}
		return a.Show("remove", r)
	})
}

func RenameCommand(a *cli.CLI) *cobra.Command {
	return a.Command("rename", nil, func(cmd *cobra.Command, args []string) error {
		r, err := life.Rename(cmd.Context(), a.App(), args[0], args[1])
		if err != nil {
			return err
		}
		return a.Show("rename", r)
	})
}

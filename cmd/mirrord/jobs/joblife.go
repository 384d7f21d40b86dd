// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"github.com/spf13/cobra"

	"mirrord/app/life"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
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
		if a.JSON {
			return a.PrintJSON(r)
		}
		a.Printf("%s: removed\n", r.Job)
		if r.Mirror != "" {
			a.Printf("  to free the space of bodies that no other mirror has: mirrord gc\n")
		}
		if r.Depots {
			sayInDepots(a, r.Job)
		}
		if r.Shared {
			sayShared(a)
		}
		if r.Kept > 0 {
			a.Printf("  %s in its space, because damaged pages link to it: mirrord "+
				"space says which; the next run of their job repairs them, and the rest goes\n"+
				"  to remove it now: mirrord remove %s --now\n", count.Of(r.Kept, "file stays", "files stay"), r.Job)
		}
		return nil
	})
}

// sayInDepots says what becomes of a mirror in depots.
func sayInDepots(a *cli.CLI, name string) {
	a.Printf("  a depot has it: a daemon that is a node removes it from that of its cluster; from any other: "+
		"mirrord cluster depot --depot ADDRESS --remove %s, then mirrord cluster gc\n", name)
}

// sayShared says how the other nodes of a cluster learn that a job file was changed here.
func sayShared(a *cli.CLI) {
	a.Printf("  the other nodes of its cluster have the job file as it was: mirrord cluster jobs push changes " +
		"it there; a node with --jobs-source does so by itself\n")
}

func RenameCommand(a *cli.CLI) *cobra.Command {
	return a.Command("rename", nil, func(cmd *cobra.Command, args []string) error {
		r, err := life.Rename(cmd.Context(), a.App(), args[0], args[1])
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(r)
		}
		a.Printf("%s is now %s\n", r.Was, r.Job)
		if r.File != "" {
			a.Printf("  job file: %s\n", r.File)
		}
		if r.Mirror != "" {
			a.Printf("  mirror: %s\n", r.Mirror)
		}
		if r.Depots {
			sayInDepots(a, r.Was)
		}
		if r.Shared {
			sayShared(a)
		}
		return nil
	})
}

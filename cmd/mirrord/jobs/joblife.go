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
	cmd := &cobra.Command{
		Use: "remove JOB",
		Long: `Delete a job: its file, its mirror with all versions, and the log of its runs. The command shows what it deletes and asks first;
without a terminal it needs --yes. During a run nothing is deleted (exit code 5).

In a space, links of other mirrors lead to the site again. Files to which a page leads that cannot be made again now (its stored copy is
damaged) stay in the space until it can. With --now they are deleted immediately, and a page instead of each says that the mirror was
removed; the command does this also for a mirror that is removed already.

To stop mirroring and keep the mirror, delete the job file or use mirrord pause. mirrord export writes a mirror to a file first.`,
		Example: `  mirrord remove samba
  mirrord remove samba --yes --now`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteJob,
		RunE: func(cmd *cobra.Command, args []string) error {
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
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&now, "now", false, "keep nothing of the mirror for other mirrors of its space")
	return cmd
}

// sayInDepots says what becomes of a mirror in depots.
func sayInDepots(a *cli.CLI, name string) {
	a.Printf("  a depot has it: a daemon that is a node removes it from that of its cluster; from any other: "+
		"mirrord cluster depot --remove %s\n", name)
}

// sayShared says how the other nodes of a cluster learn that a job file was changed here.
func sayShared(a *cli.CLI) {
	a.Printf("  the other nodes of its cluster have the job file as it was: mirrord cluster jobs push changes " +
		"it there; a node with --jobs-source does so by itself\n")
}

func RenameCommand(a *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "rename OLD NEW",
		Long: `Give a job another name: its file, its mirror with all versions, the log of its runs, and the link of publish.dir, which points to
the mirror under its new name. Nothing is requested again. Servers show the mirror under its new name.

During a run nothing is renamed (exit code 5). The same command continues an interrupted rename; until then no run
of the job begins, and status and check name it.`,
		Example:           `  mirrord rename www.samba.org samba`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.CompleteJob,
		RunE: func(cmd *cobra.Command, args []string) error {
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
		},
	}
}

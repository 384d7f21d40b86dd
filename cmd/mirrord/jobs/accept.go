// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/runs"
	"mirrord/cmd/mirrord/cli"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

func AcceptCommand(a *cli.CLI) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "accept JOB",
		Long: `Publish what the last run of a job found and held for review: a site that suddenly lost many pages, or became the same page everywhere.
A first version with less than half of the known URLs is published likewise. Resources that the run missed are accepted as missing: they stay
listed, and runs exit with 0 until another one is missing.

The command shows all changes, as mirrord diff JOB --held does, and asks on a terminal; without one it publishes.
The site is not contacted. Dropped files can be restored from an older version.`,
		Example: `  mirrord accept samba
  mirrord accept samba --yes`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.App().Commander(cmd.Context())
			if err != nil {
				return err
			}
			name := strings.TrimSuffix(args[0], scheduler.Suffix)
			if err := a.ConfirmAccept(name, yes, c != nil); err != nil {
				return err
			}
			if c != nil {
				return runInDaemon(cmd.Context(), a, c, args[0], control.RunRequest{Accept: true, Wait: true})
			}
			return a.WithProgress(name, cli.JobHints(name), func(show func(status.Progress)) (*mirror.Summary, error) {
				return runs.Accept(cmd.Context(), a.App(), args[0], show)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

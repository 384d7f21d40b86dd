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
	return a.Command("accept", cli.Flags{
		"yes": &yes,
	}, func(cmd *cobra.Command, args []string) error {
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
	})
}

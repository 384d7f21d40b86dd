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
	var yes, keep bool
	return a.Command("accept", cli.Flags{
		"keep": &keep,
		"yes":  &yes,
	}, func(cmd *cobra.Command, args []string) error {
		c, err := a.App().Commander(cmd.Context())
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(args[0], scheduler.Suffix)
		if err := a.ConfirmAccept(name, keep, yes, c != nil); err != nil {
			return err
		}
		if c != nil {
			r := control.RunRequest{Accept: true, Keep: keep, Wait: true}
			return runInDaemon(cmd.Context(), a, c, args[0], r)
		}
		return a.WithProgress(name, cli.JobHints(name), func(show func(status.Progress)) (*mirror.Summary, error) {
			return runs.Accept(cmd.Context(), a.App(), args[0], keep, show)
		})
	})
}

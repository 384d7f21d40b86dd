// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"github.com/spf13/cobra"

	"mirrord/app/jobs"
	"mirrord/cmd/mirrord/cli"
)

func InitCommand(a *cli.CLI) *cobra.Command {
	r := jobs.InitRequest{Schedule: "@daily"}
	return a.Command("init", cli.Flags{
		"as":       &r.Job,
		"schedule": &r.Schedule,
	}, func(cmd *cobra.Command, args []string) error {
		r.URL = args[0]
		made, err := jobs.Init(a.App(), r)
		if err != nil {
			return err
		}
		if c, err := a.App().Commander(cmd.Context()); err == nil {
			jobs.TellChanged(cmd.Context(), c, a.App())
		}
		return a.Show("init", made)
	})
}

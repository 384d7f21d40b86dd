// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/cmd/mirrord/cli"
	"mirrord/job"
)

func TokenCommand(a *cli.CLI) *cobra.Command {
	cmd := a.Command("token", nil, nil)
	cmd.AddCommand(tokenAddCommand(a), tokenListCommand(a), tokenRemoveCommand(a))
	return cmd
}

func tokenAddCommand(a *cli.CLI) *cobra.Command {
	r, expires := jobs.TokenRequest{Role: "read"}, "0"
	return a.Command("token-add", cli.Flags{
		"hook":    &r.Hook,
		"role":    &r.Role,
		"expires": &expires,
	}, func(cmd *cobra.Command, args []string) error {
		r.Name = args[0]
		lasts, err := job.ParseDuration(expires)
		if err != nil {
			return env.Usagef("--expires: %w", err)
		}
		r.Expires = lasts
		t, err := jobs.AddToken(a.App(), r)
		if err != nil {
			return err
		}
		return a.Show("secret", t)
	})
}

func tokenListCommand(a *cli.CLI) *cobra.Command {
	return a.Command("token-list", nil, func(*cobra.Command, []string) error {
		all, err := jobs.Tokens(a.App())
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(append([]jobs.TokenInfo{}, all...))
		}
		return cli.SayTable(a, "tokens", all, "CREATED")
	})
}

func tokenRemoveCommand(a *cli.CLI) *cobra.Command {
	return a.Command("token-remove", nil, func(_ *cobra.Command, args []string) error {
		return jobs.RemoveToken(a.App(), args[0])
	})
}

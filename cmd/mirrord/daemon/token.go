// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/cmd/mirrord/cli"
	"mirrord/job"
)

func TokenCommand(a *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use: "token",
		Long: `Make, list and remove tokens with which programs of other machines use the API of the daemon, and keys with which
they sign calls that start a run.

The API is on the listener of the console: mirrord daemon --console. Guide: docs/api.md.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(tokenAddCommand(a), tokenListCommand(a), tokenRemoveCommand(a))
	return cmd
}

func tokenAddCommand(a *cli.CLI) *cobra.Command {
	var r jobs.TokenRequest
	var expires string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a token, or a key that signs calls",
		Long: `Make a token of the API and print it. It is shown once: only its digest is stored.

--hook makes a key instead, for a service that calls POST /v1/hook/JOB when the site has changed, by the rules of the
Standard Webhooks. Several keys may sign calls for a job, so that they can be replaced. A key is stored as it is, in
mirror.db of the state directory, which only its owner may read.`,
		Example: `  mirrord console token add grafana
  mirrord console token add deploy --role operate --expires 90d
  mirrord console token add forge --hook docs`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
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
			if a.JSON {
				return a.PrintJSON(t)
			}
			a.Printf("%s\n", t.Secret)
			return nil
		},
	}
	cmd.Flags().StringVar(&r.Role, "role", "read", "`ROLE` of the token: read, order or operate")
	cmd.Flags().StringVar(&r.Hook, "hook", "", "make a key that signs calls for this `JOB`")
	cmd.Flags().StringVar(&expires, "expires", "0", "`TIME` after which it is refused, such as 90d; 0: never")
	cmd.MarkFlagsMutuallyExclusive("role", "hook")
	return cmd
}

func tokenListCommand(a *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List tokens, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := jobs.Tokens(a.App())
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(append([]jobs.TokenInfo{}, all...))
			}
			if len(all) == 0 {
				a.Printf("no tokens; mirrord console token add NAME makes one\n")
				return nil
			}
			rows := cli.Table{{"NAME", "MAY", "CREATED", "EXPIRES"}}
			for _, t := range all {
				may, until := t.Role, "never"
				if t.Hook != "" {
					may = "sign calls for " + t.Hook
				}
				if !t.Expires.IsZero() {
					until = t.Expires.Format(time.DateOnly)
				}
				rows = append(rows, []string{t.Name, may, t.Created.Format(time.DateOnly), until})
			}
			return rows.Write(a, []string{"CREATED"})
		},
	}
}

func tokenRemoveCommand(a *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a token: the daemon refuses it from then on",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return jobs.RemoveToken(a.App(), args[0])
		},
	}
}

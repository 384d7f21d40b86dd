// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
)

// HealthCommand is for containers and supervisors that have no curl: it asks what /healthz says.
func HealthCommand(a *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Check the daemon",
		Long: `Ask the daemon that owns the state directory whether its scheduler is alive, as GET /healthz does.

It exits with 0 when the daemon answers that it is, and with 1 when no daemon runs or it does not answer within five seconds.
It says nothing about single jobs: see mirrord status.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.App().Client()
			if err != nil {
				return err
			}
			if c == nil {
				return errors.New("no daemon runs on this state directory; start one with mirrord daemon")
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), 5*time.Second, env.ErrSilent)
			defer cancel()
			if err := c.Health(ctx); err != nil {
				return err
			}
			a.Printf("ok\n")
			return nil
		},
	}
}

// ReloadCommand lets the daemon read its files again.
func ReloadCommand(a *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "reload",
		Long: `Let the daemon read the jobs directory and its settings again, and print what changed. It does so by itself soon after a change, and on SIGHUP; this command is for
those who want to see the result. Jobs in which nothing changed are not touched; a run under way ends as it began. Jobs whose last run met a problem that only an operator can solve (a host name, a secret,
permissions) run again, as after a restart of the daemon. Exit code 1 when a file is refused.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.App().Commander(cmd.Context())
			if err == nil && c == nil {
				err = errors.New("no daemon runs on this state directory; mirrord check validates job files")
			}
			if err != nil {
				return err
			}
			re, err := c.Reload(cmd.Context())
			if err != nil {
				return cli.ClientError(err)
			}
			if a.JSON {
				err = a.PrintJSON(re)
			} else {
				cli.PrintReloaded(a, re)
			}
			// a daemon of an older version names the changes only
			refused := func(ch control.Change) bool { return ch.Kind == string(scheduler.Refused) }
			if err == nil && (len(re.Refused) > 0 || slices.ContainsFunc(re.Changes, refused)) {
				err = &env.Error{}
			}
			return err
		},
	}
}

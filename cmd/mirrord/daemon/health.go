// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
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

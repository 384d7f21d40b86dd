// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
)

// healthCommand is for containers and supervisors that have no curl: it asks what /healthz says.
func healthCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Check the daemon",
		Long: `Ask the daemon that owns the state directory whether its scheduler is alive, as GET /healthz does.

It exits with 0 when the daemon answers that it is, and with 1 when no daemon runs or it does not answer within five seconds.
It says nothing about single jobs: see mirrord status.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.app().Client()
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
			a.printf("ok\n")
			return nil
		},
	}
}

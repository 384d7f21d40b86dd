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
	"mirrord/scheduler/status"
)

// HealthCommand is for containers and supervisors that have no curl: it asks what /healthz says.
func HealthCommand(a *cli.CLI) *cobra.Command {
	return a.Command("health", nil, func(cmd *cobra.Command, _ []string) error {
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
	})
}

// ReloadCommand lets the daemon read its files again.
func ReloadCommand(a *cli.CLI) *cobra.Command {
	return a.Command("reload", nil, func(cmd *cobra.Command, _ []string) error {
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
			err = cli.PrintReloaded(a, re)
		}
		// a daemon of an older version names the changes only
		refused := func(ch status.Change) bool { return ch.Kind == scheduler.Refused }
		if err == nil && (len(re.Refused) > 0 || slices.ContainsFunc(re.Changes, refused)) {
			err = &env.Error{}
		}
		return err
	})
}

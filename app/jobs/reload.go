// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"context"

	"mirrord/app/env"
	"mirrord/scheduler/control"
)

// TellChanged lets a daemon read changes that were made without it; a node of a cluster copies them to the
// depot. The daemon also looks from time to time. nil is no daemon.
func TellChanged(ctx context.Context, c *control.Client, a *env.App) {
	if err := Reloaded(ctx, c); err != nil {
		a.Log.Debug("the daemon was not told of a change", "err", err)
	}
}

// Reloaded lets a daemon read the jobs directory; nil is no daemon.
func Reloaded(ctx context.Context, c *control.Client) error {
	if c == nil {
		return nil
	}
	_, err := c.Reload(ctx)
	return err
}

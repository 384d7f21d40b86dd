// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"context"

	"mirrord/app/env"
	"mirrord/scheduler/control"
)

// TellChanged lets a daemon look at what was changed beside it, which one of a cluster brings to the depot.
// It looks from time to time anyway. nil is no daemon.
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

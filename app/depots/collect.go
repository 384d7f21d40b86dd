// SPDX-License-Identifier: Apache-2.0

package depots

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mirrord/app/env"
	"mirrord/cluster/depot"
	"mirrord/internal/timed"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
)

// DepotCollector collects the depot of a cluster from time to time, on one of its nodes, as mirrord cluster
// gc does. When it was last collected the depot says itself, also by hand.
type DepotCollector struct {
	Depot *depot.Depot
	Owner home.Owner    // of the cluster: one node at a time collects
	Every time.Duration // from one collection to the next; 0 or less: never
	Log   *slog.Logger
}

// depotLease is what a node leases that collects. No site has that name.
const depotLease = "~depot"

// Follow collects until ctx ends.
func (c *DepotCollector) Follow(ctx context.Context) {
	if c.Every <= 0 {
		return
	}
	for timed.Wait(ctx, min(c.Every, env.CollectRetry)) == nil {
		err := c.Look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.Log.Warn("the depot is not collected; tried again each hour", "err", err)
		}
	}
}

// Look collects if it is time to, and no other node does.
func (c *DepotCollector) Look(ctx context.Context) error {
	if due, err := c.due(ctx); err != nil || !due {
		return err
	}
	l, err := c.Owner.Acquire(depotLease)
	if errors.Is(err, disk.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(c.collect(ctx, l), l.Release())
}

// due reports whether the last collection is long ago.
func (c *DepotCollector) due(ctx context.Context) (bool, error) {
	last, err := depot.Collected(ctx, c.Depot)
	if err != nil {
		return false, fmt.Errorf("when the depot was last collected: %w", err)
	}
	return c.Depot.Now().Sub(last) >= c.Every, nil
}

// collect collects as long as the lease lasts.
func (c *DepotCollector) collect(ctx context.Context, l home.Lease) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-l.Lost():
			stop(db.ErrLeaseLost)
		case <-ctx.Done():
		}
	}()
	due, err := c.due(ctx) // another node may have been faster
	if err != nil || !due {
		return err
	}
	out, err := c.Depot.Collect(ctx, false)
	if errors.Is(err, depot.ErrTooSoon) {
		return nil
	}
	if err != nil {
		return err
	}
	c.Log.Info("the depot was collected", "objects", out.Total, "removed", out.Removed, "freed", out.Freed,
		"unused", out.Condemned)
	return nil
}

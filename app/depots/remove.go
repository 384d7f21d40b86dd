// SPDX-License-Identifier: Apache-2.0

package depots

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"mirrord/app/env"
	"mirrord/cluster/depot"
	"mirrord/cluster/objects"
	"mirrord/scheduler/control"
)

// RemovedFromDepot is what RemoveFromDepot did.
type RemovedFromDepot struct {
	Depot   string          `json:"depot"`
	Cluster string          `json:"cluster"`
	Removed []depot.Pointer `json:"removed"` // as they were
}

// RemoveFromDepot removes mirrors of which there is no job from a depot. sure is called with them before; its
// error ends the work. In the depot of a cluster only a machine whose daemon is a node
// of it may remove: it knows the jobs of all nodes.
func RemoveFromDepot(
	ctx context.Context, a *env.App, r DepotRequest, sure func([]depot.Pointer) error,
) (*RemovedFromDepot, error) {
	names, err := validJobs(r.Jobs)
	if err != nil {
		return nil, err
	}
	d, counted, done, err := reach(ctx, a, r.Depot, r.Keepers, false)
	defer done()
	if err == nil && !d.AtKeepers() {
		err = objects.CheckConditions(ctx, counted, "")
	}
	if err != nil {
		return nil, err
	}
	out := &RemovedFromDepot{Depot: counted.String(), Cluster: d.Cluster, Removed: []depot.Pointer{}}
	c, err := nodeOf(ctx, a, d)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		p, err := depot.Look(ctx, d, name)
		if errors.Is(err, depot.ErrUnknown) && !errors.Is(err, depot.ErrRemoved) {
			err = env.Usagef("%w", err)
		} else if err == nil {
			err = notWanted(ctx, a, c, name)
		}
		if err != nil {
			return nil, err
		}
		out.Removed = append(out.Removed, *p)
	}
	if err := sure(out.Removed); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := depot.Remove(ctx, d, name, nil); err != nil {
			return nil, fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return out, nil
}

// nodeOf returns a client of the daemon here when the nodes of a cluster use the depot; nil when none does.
func nodeOf(ctx context.Context, a *env.App, d *depot.Depot) (*control.Client, error) {
	used, err := depot.IsUsed(ctx, d)
	if err != nil || !used {
		return nil, err
	}
	c, err := a.Commander(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := a.State()
	if err != nil {
		return nil, err
	}
	if c == nil || !depot.HasMet(d, dir) {
		return nil, env.Usagef(
			"%s is the depot of a cluster: give the command on a machine whose daemon runs as a "+
				"node of it", d.Store)
	}
	return c, nil
}

// notWanted is an error when there is a job. c knows those of the nodes of a cluster, some of which may have
// copies of a mirror; when it is nil a mirror that is here counts as a job: push would bring it.
func notWanted(ctx context.Context, a *env.App, c *control.Client, name string) error {
	dir, err := a.State()
	if err != nil {
		return err
	}
	here := a.JobFile(name)
	if !env.Exists(here) && c == nil {
		here = filepath.Join(dir, "sites", name)
	}
	if env.Exists(here) {
		return env.Usagef("%s: it is still here (%s): mirrord remove %s comes first", name, here, name)
	}
	if c == nil {
		return nil
	}
	j, err := c.Job(ctx, name)
	switch {
	case errors.Is(err, control.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return env.Usagef(
		"%s: it is a job of the cluster (node %s): mirrord remove %s there removes it from the depot "+
			"too", name, j.Node, name)
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mirrord/app/daemon"
	"mirrord/app/depots"
	"mirrord/app/env"
	"mirrord/app/nodes"
	"mirrord/cluster/depot"
	"mirrord/cluster/engine"
	"mirrord/cluster/objects"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/timed"
	"mirrord/internal/version"
	"mirrord/store"
)

// Membership is a daemon's part in a cluster.
type Membership struct {
	*engine.Engine
	Jobs        *nodes.ClusterJobs
	SharedFacts *engine.Facts
	keeper      interface{ Close() } // nil: not a keeper
	Depot       *depot.Depot         // nil: sites stay where they are
	gc          time.Duration        // of the depot; 0: never
	robots      *engine.Robots
}

// openDepot opens the depot of the cluster, and says where its sites lie.
func (f *NodeFlags) openDepot(ctx context.Context, a *cli.CLI, x *env.App) (*depot.Depot, string, error) {
	address := depotAddress(a, f.depot)
	if address == "" {
		return nil, "the disks of its nodes", nil
	}
	var d *depot.Depot
	err := whenThere(ctx, x, func() (err error) {
		d, err = depots.OpenDepot(ctx, x, address, f.onDemand)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return d, modeOf(d), nil
}

// whenThere calls f until the depot is there and not another cluster's. A keeper of this process continues
// meanwhile.
func whenThere(ctx context.Context, x *env.App, f func() error) error {
	for {
		err := f()
		why := ""
		switch {
		case errors.Is(err, depot.ErrForeign):
			why = "the depot is another cluster's"
		case errors.Is(err, objects.ErrUnavailable):
			why = "the depot does not answer"
		default:
			return err
		}
		x.Log.Error("this node waits: "+why, "err", err)
		if err := timed.Wait(ctx, adoptedWithin); err != nil {
			return err
		}
	}
}

// modeOf returns the mode of a cluster whose sites lie in a depot.
func modeOf(d *depot.Depot) string { return "depot " + d.Cluster }

// On reports whether the daemon is to be part of a cluster.
func (f *NodeFlags) On(a *cli.CLI) bool {
	env, _ := a.LookupEnv(EnvCluster)
	return len(f.Servers) > 0 || env != "" || f.Keeper.listen != ""
}

// Join starts the keeper of this process, if it is to have one, and reaches the cluster.
func (f *NodeFlags) Join(
	ctx context.Context, a *cli.CLI, x *env.App, st *store.State, slots int,
) (*Membership, error) {
	o, err := f.engineOptions(a)
	if err != nil {
		return nil, err
	}
	if f.keepers != 1 && f.keepers != 3 && f.keepers != 5 {
		return nil, env.Usagef("--keepers %d: 1, 3 or 5, because most of them must agree", f.keepers)
	}
	if o.Node = f.name; o.Node == "" {
		if o.Node, err = os.Hostname(); err != nil {
			return nil, env.Usagef("--node: %w", err)
		}
	}
	n := &Membership{gc: f.depotGC}
	if f.Keeper.listen != "" {
		if host, _, err := net.SplitHostPort(f.Keeper.listen); err != nil {
			return nil, env.Usagef("--keeper: %w", err)
		} else if ip := net.ParseIP(host); o.Secret == "" && (ip == nil || !ip.IsLoopback()) {
			return nil, env.Usagef("--keeper %s: any host that reaches it could take sites; set --cluster-secret",
				f.Keeper.listen)
		}
		if (f.Keeper.cert == "") != (f.Keeper.key == "") {
			return nil, env.Usagef("--keeper-cert and --keeper-key: both or none")
		}
		k, err := openKeeper(f, o, filepath.Join(st.Dir, "keeper"), x.Log)
		if err != nil {
			return nil, err
		}
		n.keeper = k
		if len(o.Servers) == 0 {
			if o.Servers = []string{"nats://" + f.Keeper.listen}; f.Keeper.cert != "" {
				o.Servers[0] = "tls://" + f.Keeper.listen
			}
		}
	}
	o.Replicas, o.Slots, o.Version, o.Log = int(f.keepers), slots, version.Number, x.Log
	o.Floor = st.LastToken
	if n.Depot, o.Mode, err = f.openDepot(ctx, a, x); err != nil {
		n.Release()
		return nil, err
	}
	if o.Homes = n.Depot == nil; o.Homes && f.Follow {
		n.Release()
		return nil, env.Usagef("--follow: the mirrors of other nodes come from a depot: set --depot")
	}
	x.Log.Info("joining the cluster", "node", o.Node, "keepers", strings.Join(o.Servers, ","))
	if n.Engine, err = engine.Open(ctx, o); err == nil {
		err = n.useDepot(ctx, x)
	}
	if err == nil {
		n.SharedFacts, err = n.Facts(ctx)
	}
	if err == nil && n.Depot != nil {
		n.Depot.Keep(n.SharedFacts)
	}
	if err == nil {
		n.robots, err = engine.OpenRobots(ctx, n.Engine)
	}
	if err != nil {
		n.Release()
		return nil, err
	}
	n.Jobs = &nodes.ClusterJobs{
		App:    x,
		Facts:  n.SharedFacts,
		Node:   o.Node,
		Source: f.source,
	}
	return n, nil
}

// useDepot waits until the depot is this cluster's: no lease counts beyond the keepers, so that nodes of two
// clusters would visit the same hosts.
func (n *Membership) useDepot(ctx context.Context, x *env.App) error {
	if n.Depot == nil {
		return nil
	}
	return whenThere(ctx, x, func() error {
		id, err := engine.Identify(ctx, n.Engine)
		if err == nil {
			err = n.Depot.UseFor(ctx, id, false)
		}
		return err
	})
}

// adoptedWithin is when a node sees at the latest that the depot is there, and its cluster's.
const adoptedWithin = 10 * time.Second

// KeepDepot collects the depot from time to time, and copies what changed in it if the node follows the
// others, until ctx ends.
func (n *Membership) KeepDepot(ctx context.Context, d *daemon.Daemon, follow bool, log *slog.Logger) {
	if n.Depot == nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	if follow {
		wg.Go(func() { nodes.FollowDepot(ctx, d, n.Depot) })
	}
	c := &depots.DepotCollector{
		Depot: n.Depot,
		Owner: n,
		Every: n.gc,
		Log:   log,
	}
	c.Follow(ctx)
}

// Take makes the node's leases count for an application, and takes part in the cluster until stop is called,
// which waits.
func (n *Membership) Take(x *env.App) (stop func()) {
	x.Owner, x.Robots = n.Engine, n.robots
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { n.Run(ctx) })
	wg.Go(func() { engine.SweepFacts(ctx, n.Engine, n.SharedFacts) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// Release leaves the cluster.
func (n *Membership) Release() {
	if n.Engine != nil {
		n.Engine.Close()
	}
	if n.keeper != nil {
		n.keeper.Close()
	}
}

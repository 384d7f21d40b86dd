// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/depots"
	"mirrord/app/env"
	"mirrord/cluster/engine"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
	"mirrord/internal/regular"
)

// Command has the commands of many machines: what they share, and what copies mirrors from one to
// another.
func Command(a *cli.CLI) *cobra.Command {
	cmd := a.Command("cluster", nil, nil)
	cmd.AddCommand(
		clusterStatusCommand(a), clusterDrainCommand(a), clusterRemoveCommand(a), clusterAdoptCommand(a),
		clusterKeepersCommand(a), clusterJobsCommand(a),
		clusterPushCommand(a), clusterPullCommand(a), clusterDepotCommand(a), clusterCollectCommand(a),
	)
	return cmd
}

// clusterFlags say which cluster is meant.
type clusterFlags struct {
	Servers []string
	secret  string // file
	ca      string // file

	patience time.Duration // of a command; 0: reachWithin
}

// The environment says what the flags leave out.
const (
	EnvCluster = "MIRRORD_CLUSTER"
	EnvSecret  = "MIRRORD_CLUSTER_SECRET_FILE"
	EnvCA      = "MIRRORD_CLUSTER_CA_FILE"
)

// with returns the flags beside others of a command.
func (f *clusterFlags) with(others cli.Flags) cli.Flags {
	out := cli.Flags{"cluster": &f.Servers, "cluster-secret": &f.secret, "cluster-ca": &f.ca}
	maps.Copy(out, others)
	return out
}

// engineOptions reads what all commands need to reach the cluster.
func (f *clusterFlags) engineOptions(a *cli.CLI) (o engine.Options, err error) {
	o.Servers = f.Servers
	if env, ok := a.LookupEnv(EnvCluster); ok && env != "" && len(o.Servers) == 0 {
		o.Servers = strings.Split(env, ",")
	}
	for _, s := range o.Servers {
		if !strings.HasPrefix(s, "nats://") && !strings.HasPrefix(s, "tls://") {
			return o, env.Usagef("--cluster %s: an address such as nats://keeper1:4222", s)
		}
	}
	ca, _ := a.LookupEnv(EnvCA)
	if o.CA = cmp.Or(f.ca, ca); o.CA != "" {
		if _, err := regular.ReadSmall(o.CA); err != nil {
			return o, env.Usagef("--cluster-ca: %w", err)
		}
	}
	environ, _ := a.LookupEnv(EnvSecret)
	if file := cmp.Or(f.secret, environ); file != "" {
		text, err := regular.ReadSmall(file)
		if err != nil {
			return o, env.Usagef("--cluster-secret: %w", err)
		}
		if o.Secret = strings.TrimSpace(string(text)); len(o.Secret) < 16 {
			return o, env.Usagef("--cluster-secret: %s has fewer than 16 characters", file)
		}
	}
	return o, nil
}

// reachWithin is how long a command waits for the keepers.
const reachWithin = 10 * time.Second

// withCluster calls f with a connection to the cluster.
func (f *clusterFlags) withCluster(
	ctx context.Context, a *cli.CLI, do func(context.Context, *engine.Engine) error,
) error {
	o, err := f.engineOptions(a)
	if err != nil {
		return err
	}
	if len(o.Servers) == 0 {
		return env.Usagef("which cluster? Set --cluster or $%s", EnvCluster)
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(f.patience, reachWithin))
	defer cancel()
	o.Log = a.Log()
	e, err := engine.Open(ctx, o)
	if err != nil {
		return err
	}
	defer e.Close()
	return Unheard(ctx, do(ctx, e))
}

// Unheard says what it means that a question to the keepers had no answer while ctx lasted.
func Unheard(ctx context.Context, err error) error {
	late := ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded)
	if !late && !engine.NoMajority(err) {
		return err
	}
	return fmt.Errorf("%w: the keepers do not answer: most of them are away, or they choose a leader; "+
		"try again in half a minute", err)
}

// command makes a command that asks the keepers.
func (f *clusterFlags) command(
	a *cli.CLI, name string, flags cli.Flags,
	do func(ctx context.Context, e *engine.Engine, args []string) error,
) *cobra.Command {
	return a.Command(name, f.with(flags), func(cmd *cobra.Command, args []string) error {
		return f.withCluster(cmd.Context(), a, func(ctx context.Context, e *engine.Engine) error {
			return do(ctx, e, args)
		})
	})
}

func clusterStatusCommand(a *cli.CLI) *cobra.Command {
	var f clusterFlags
	return f.command(a, "cluster-status", nil, func(ctx context.Context, e *engine.Engine, _ []string) error {
		s, err := lookAtCluster(ctx, e)
		if err != nil {
			return err
		}
		return a.Show("cluster", s)
	})
}

func clusterDrainCommand(a *cli.CLI) *cobra.Command {
	var f clusterFlags
	var off bool
	flags := cli.Flags{"off": &off}
	return f.command(a, "drain", flags, func(ctx context.Context, e *engine.Engine, args []string) error {
		if err := e.Drain(ctx, args[0], off); err != nil || off {
			return err
		}
		return warnOfStranger(ctx, a, e, args[0])
	})
}

func clusterRemoveCommand(a *cli.CLI) *cobra.Command {
	var f clusterFlags
	return f.command(a, "cluster-remove", nil, func(ctx context.Context, e *engine.Engine, args []string) error {
		n, err := e.Remove(ctx, args[0])
		if err == nil {
			err = forgetNode(ctx, e, args[0])
		}
		if err == nil {
			a.Printf("%s is forgotten; it was the home of %s\n", args[0], count.Of(n, "host"))
		}
		return err
	})
}

// copiedWithin is how long a command waits until what the cluster keeps is copied.
const copiedWithin = 2 * time.Minute

func clusterKeepersCommand(a *cli.CLI) *cobra.Command {
	f := clusterFlags{patience: copiedWithin}
	cmd := f.command(a, "keepers", nil, func(ctx context.Context, e *engine.Engine, args []string) error {
		n, err := strconv.Atoi(args[0])
		if err == nil {
			err = engine.SetKeepers(ctx, e, n)
		}
		if err == nil {
			a.Printf("%s everything\n", count.Of(n, "keeper has", "keepers have"))
		}
		return err
	})
	cmd.Args = cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)
	cmd.ValidArgs = []string{"3", "5"}
	return cmd
}

func clusterAdoptCommand(a *cli.CLI) *cobra.Command {
	var f clusterFlags
	var address string
	flags := cli.Flags{"depot": &address}
	return f.command(a, "adopt", flags, func(ctx context.Context, e *engine.Engine, _ []string) error {
		d, err := depots.OpenDepot(ctx, a.App(), depotAddress(a, address), false)
		if err != nil {
			return err
		}
		id, err := engine.Identify(ctx, e)
		if err == nil {
			err = d.UseFor(ctx, id, true)
		}
		if err == nil {
			err = engine.SetMode(ctx, e, modeOf(d))
		}
		if err == nil {
			a.Printf("%s is this cluster's\n", d.Store)
		}
		return err
	})
}

// DefaultNodeFlags are the flags of a node of which nothing is said.
func DefaultNodeFlags() NodeFlags { return NodeFlags{keepers: 1, depotGC: 7 * 24 * time.Hour} }

// NodeFlags are the flags of a daemon that is a node of a cluster.
type NodeFlags struct {
	clusterFlags
	name    string
	source  bool   // its job files are the cluster's
	Follow  bool   // it has the mirrors of other nodes too, to read
	depot   string // address; "": each site stays on one node
	keepers int64
	// check-outs leave in the depot what only older versions need
	onDemand bool
	depotGC  time.Duration // between collections
	Keeper   keeperFlags
}

// keeperFlags say that the daemon keeps what the cluster shares.
type keeperFlags struct {
	listen, routes string
	Peers          []string
	cert, key      string // files
}

// Flags are the flags by name.
func (f *NodeFlags) Flags() cli.Flags {
	return f.with(cli.Flags{
		"node":            &f.name,
		"depot":           &f.depot,
		"depot-gc":        (*cli.Span)(&f.depotGC),
		"depot-on-demand": &f.onDemand,
		"jobs-source":     &f.source,
		"follow":          &f.Follow,
		"keepers":         &f.keepers,
		"keeper":          &f.Keeper.listen,
		"keeper-routes":   &f.Keeper.routes,
		"join":            &f.Keeper.Peers,
		"keeper-cert":     &f.Keeper.cert,
		"keeper-key":      &f.Keeper.key,
	})
}

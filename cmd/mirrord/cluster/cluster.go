// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Machines that share jobs; depots: off-site copies",
		Long: `Look after machines that share their jobs (mirrord daemon --cluster). Keep mirrors in a depot, which is a bucket of
an S3 server or a directory, and bring them to other machines.

Guide: docs/cluster.md.`,
	}
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

func (f *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.Servers, "cluster", nil, "`URLS` (docs/cluster.md)")
	cmd.Flags().StringVar(&f.secret, "cluster-secret", "", "`FILE` with its secret")
	cmd.Flags().StringVar(&f.ca, "cluster-ca", "", "`FILE`: who signs for its keepers")
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

func clusterStatusCommand(a *cli.CLI) *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show keepers and nodes",
		Long: "Show the keepers and the nodes of a cluster, how many hosts each node has, and whose job files " +
			"differ.",
		Example: "  mirrord cluster status --cluster nats://keeper1:4222",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.withCluster(cmd.Context(), a, func(ctx context.Context, e *engine.Engine) error {
				s, err := lookAtCluster(ctx, e)
				if err != nil {
					return err
				}
				return printCluster(a, s)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func printCluster(a *cli.CLI, s *ClusterState) error {
	if a.JSON {
		return a.PrintJSON(s)
	}
	for _, k := range s.Keepers {
		how := "follows"
		switch {
		case k.Leader:
			how = "leads"
		case k.Away:
			how = "is away or behind"
		}
		a.Printf("keeper %s %s\n", k.Name, how)
	}
	for _, n := range s.Nodes {
		what := []string{count.Of(n.Hosts, "host")}
		if n.Homes > 0 {
			what = append(what, fmt.Sprintf("home of %d", n.Homes))
		}
		if n.Drained {
			what = append(what, "drained")
		}
		if n.Differs {
			what = append(what, "other job files than most nodes")
		}
		if n.Away {
			what = append(what, "away: its sites wait")
		} else {
			what = append(what, count.Of(n.Slots, "run")+" at a time", "since "+n.Since.Format(time.RFC3339),
				n.Version)
		}
		a.Printf("node %s: %s\n", n.Name, strings.Join(what, ", "))
	}
	s.printJobFiles(a)
	return nil
}

func clusterDrainCommand(a *cli.CLI) *cobra.Command {
	var f clusterFlags
	var off bool
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Let a node take no further sites",
		Long: `Let a node take no further sites. Runs under way continue to their end; then other nodes have its sites. Sites that lie only on its own disk
wait until the node is drained no more.`,
		Example: "  mirrord cluster drain w2\n  mirrord cluster drain w2 --off",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withCluster(cmd.Context(), a, func(ctx context.Context, e *engine.Engine) error {
				if err := e.Drain(ctx, args[0], off); err != nil || off {
					return err
				}
				return warnOfStranger(ctx, a, e, args[0])
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&off, "off", false, "let it take sites again")
	return cmd
}

func clusterRemoveCommand(a *cli.CLI) *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "remove NODE",
		Short: "Forget a node that is gone for good",
		Long: `Forget a node that is gone for good: the sites that lay on its disk belong to other nodes, which mirror them again. A node whose daemon runs is
not removed.`,
		Example: "  mirrord cluster remove w2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withCluster(cmd.Context(), a, func(ctx context.Context, e *engine.Engine) error {
				n, err := e.Remove(ctx, args[0])
				if err == nil {
					err = forgetNode(ctx, e, args[0])
				}
				if err == nil {
					a.Printf("%s is forgotten; it was the home of %s\n", args[0], count.Of(n, "host"))
				}
				return err
			})
		},
	}
	f.add(cmd)
	return cmd
}

// copiedWithin is how long a command waits until what the cluster keeps is copied.
const copiedWithin = 2 * time.Minute

func clusterKeepersCommand(a *cli.CLI) *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "keepers 3|5",
		Short: "Let what the nodes share lie on more keepers, or fewer",
		Long: `Let what the nodes share lie on three or five keepers. New keepers are started before, with the addresses of all in --join; this command
copies to them. It returns when all have everything.`,
		Example:   "  mirrord cluster keepers 5",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"3", "5"},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.patience = copiedWithin
			return f.withCluster(cmd.Context(), a, func(ctx context.Context, e *engine.Engine) error {
				n, err := strconv.Atoi(args[0])
				if err == nil {
					err = engine.SetKeepers(ctx, e, n)
				}
				if err == nil {
					a.Printf("%s everything\n", count.Of(n, "keeper has", "keepers have"))
				}
				return err
			})
		},
	}
	f.add(cmd)
	return cmd
}

func clusterAdoptCommand(a *cli.CLI) *cobra.Command {
	var f clusterFlags
	var address string
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Take over a depot",
		Long: `Let this cluster use another depot than before: that of a cluster whose keepers are gone for good, or one that was made
again after it was emptied (mirrord cluster push --again). Nodes, which refuse such a depot, then continue. Nodes
of the other cluster must no longer run: they would request the same hosts.`,
		Example: "  mirrord cluster adopt --cluster nats://keeper1:4222 --depot s3://mirrors",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.withCluster(cmd.Context(), a, func(ctx context.Context, e *engine.Engine) error {
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
		},
	}
	f.add(cmd)
	depotFlag(cmd, &address)
	return cmd
}

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

func (f *NodeFlags) Add(cmd *cobra.Command) {
	f.clusterFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.name, "node", "", "its `NAME` there")
	fl.StringVar(&f.depot, "depot", "", "`ADDRESS` of its sites between runs")
	fl.BoolVar(&f.onDemand, "depot-on-demand", false, "bring older versions when read")
	cli.DurationFlag(cmd, &f.depotGC, "depot-gc", "`TIME` from gc to gc of it; 0: never")
	fl.BoolVar(&f.source, "jobs-source", false, "its job files are the cluster's")
	fl.BoolVar(&f.Follow, "follow", false, "have all mirrors of the depot, to read")
	fl.Int64Var(&f.keepers, "keepers", f.keepers, "how many keepers it has")
	fl.StringVar(&f.Keeper.listen, "keeper", "", "be a keeper at `ADDRESS`")
	fl.StringVar(&f.Keeper.routes, "keeper-routes", "", "`ADDRESS` for others")
	fl.StringSliceVar(&f.Keeper.Peers, "join", nil, "`ADDRESSES` of theirs")
	fl.StringVar(&f.Keeper.cert, "keeper-cert", "", "`FILE` of its certificate")
	fl.StringVar(&f.Keeper.key, "keeper-key", "", "`FILE` of its key")
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"mirrord/cmd/mirrord/cli"
)

// DefaultNodeFlags are the flags of a node of which nothing is said.
func DefaultNodeFlags() NodeFlags { return NodeFlags{keepers: 1, depotGC: 7 * 24 * time.Hour} }

// Settings are the keys of daemon.toml about a cluster. Their flags stay: what nodes start with differs.
func (n *NodeFlags) Settings() []cli.DaemonKey {
	row := func(flag, name, typ, example, doc string, field any) cli.DaemonKey {
		s := cli.NewDaemonKey(flag, name, typ, example, doc, field)
		s.Stays = true
		return s
	}
	return []cli.DaemonKey{
		row("cluster", "cluster.servers", "list of URLs", `["nats://a:4222"]`, "The keepers of the cluster.", &n.Servers),
		row("cluster-secret", "cluster.secret_file", "path", `"/etc/mirrord/secret"`, "File with the cluster's secret.",
			&n.secret),
		row("cluster-ca", "cluster.ca_file", "path", `"/etc/mirrord/ca.pem"`, "Who signs for its keepers.", &n.ca),
		row("node", "cluster.node", "name", `"a"`, "Name of this machine there.", &n.name),
		row("jobs-source", "cluster.jobs_source", "true or false", "true", "The job files here are the cluster's.",
			&n.source),
		row("follow", "cluster.follow", "true or false", "true", "Have all mirrors of the depot, to read.",
			&n.Follow),
		row("depot", "cluster.depot", "address", `"s3://bucket/prefix"`, "Where sites are between runs.", &n.depot),
		row("depot-on-demand", "cluster.depot_on_demand", "true or false", "true",
			"Fetch older versions when read.", &n.onDemand),
		row("depot-gc", "cluster.depot_gc", "duration", `"14d"`, "Time between two collections of it. 0: never.",
			&n.depotGC),
		row("keepers", "cluster.keepers", "number", "3", "How many keepers the cluster has.", &n.keepers),
		row("keeper", "cluster.keeper", "address", `"10.0.0.1:4222"`, "Be a keeper at this address.", &n.Keeper.listen),
		row("keeper-routes", "cluster.keeper_routes", "address", `"10.0.0.1:6222"`, "Address for other keepers.",
			&n.Keeper.routes),
		row("join", "cluster.join", "list of addresses", `["10.0.0.2:6222"]`, "Such addresses of others.",
			&n.Keeper.Peers),
		row("keeper-cert", "cluster.keeper_cert", "path", `"/etc/mirrord/cert.pem"`, "Its certificate.", &n.Keeper.cert),
		row("keeper-key", "cluster.keeper_key", "path", `"/etc/mirrord/key.pem"`, "The key of that.", &n.Keeper.key),
	}
}

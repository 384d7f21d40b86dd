// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package cluster

import (
	"log/slog"

	"mirrord/app/env"
	"mirrord/cluster/engine"
	"mirrord/cluster/keeper"
)

// openKeeper starts a keeper in this process.
func openKeeper(f *NodeFlags, o engine.Options, dir string, log *slog.Logger) (*keeper.Server, error) {
	k, err := keeper.Start(keeper.Options{
		Name:   o.Node,
		Dir:    dir,
		Listen: f.Keeper.listen,
		Routes: f.Keeper.routes,
		Peers:  f.Keeper.Peers,
		Secret: o.Secret,
		TLS:    keeper.Certificates{Cert: f.Keeper.cert, Key: f.Keeper.key, CA: o.CA},
		Log:    log,
	})
	if err != nil {
		return nil, env.Usagef("--keeper %s: %w", f.Keeper.listen, err)
	}
	return k, nil
}

// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"log/slog"

	"mirrord/app/env"
	"mirrord/cluster/engine"
	"mirrord/cluster/keeper"
)

// openKeeper starts a keeper in this process.
func openKeeper(f *nodeFlags, o engine.Options, dir string, log *slog.Logger) (*keeper.Server, error) {
	k, err := keeper.Start(keeper.Options{
		Name:   o.Node,
		Dir:    dir,
		Listen: f.keeper.listen,
		Routes: f.keeper.routes,
		Peers:  f.keeper.peers,
		Secret: o.Secret,
		TLS:    keeper.Certificates{Cert: f.keeper.cert, Key: f.keeper.key, CA: o.CA},
		Log:    log,
	})
	if err != nil {
		return nil, env.Usagef("--keeper %s: %w", f.keeper.listen, err)
	}
	return k, nil
}

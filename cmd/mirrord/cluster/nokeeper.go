// SPDX-License-Identifier: Apache-2.0

//go:build !keeper

package cluster

import (
	"log/slog"

	"mirrord/app/env"
	"mirrord/cluster/engine"
)

// openKeeper says that this program has no keeper.
func openKeeper(*NodeFlags, engine.Options, string, *slog.Logger) (interface{ Close() }, error) {
	return nil, env.Usagef("--keeper: this build of mirrord has no keeper; build it with make TAGS=keeper, " +
		"or run nats-server 2.12 or later with JetStream and name it with --cluster")
}

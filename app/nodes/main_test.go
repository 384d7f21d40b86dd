// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"log/slog"
	"net/http"
	"os"
	"testing"

	"mirrord/app/nodes"
	"mirrord/app/ops"
	"mirrord/scheduler/control"
)

func TestMain(m *testing.M) {
	nodes.CallsOf = func(d control.API) http.Handler {
		return ops.NewServer(ops.Host{Daemon: d}, slog.New(slog.DiscardHandler))
	}
	os.Exit(m.Run())
}

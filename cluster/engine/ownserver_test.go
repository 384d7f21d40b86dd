// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"mirrord/cluster/engine"
	"mirrord/testing/poll"
)

// A NATS server with the configuration of docs/cluster.md keeps a cluster, and refuses clients that do not
// know the secret.
func TestOwnServer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "\n```\nserver_name: keeper\n")
	block, _, ok := strings.Cut(block, "```\n")
	_, secret, _ := strings.Cut(block, "token: \"")
	secret, _, _ = strings.Cut(secret, "\"")
	if !ok || len(secret) < 16 {
		t.Fatalf("no configuration with a secret: %s", block)
	}
	address := freePort(t)
	config := strings.NewReplacer("\"10.0.0.1:4222\"", strconv.Quote(address),
		"\"/var/lib/nats\"", strconv.Quote(t.TempDir())).Replace("server_name: keeper\n" + block)
	var o server.Options
	if err := o.ProcessConfigString(config); err != nil {
		t.Fatal(err)
	}
	o.NoSigs, o.NoLog = true, true
	srv, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	}()
	if !srv.ReadyForConnections(time.Minute) || !srv.JetStreamEnabled() || !o.SyncAlways {
		t.Fatalf("it does not keep: %s", config)
	}
	with := keepers(t, 1)
	with.Servers, with.Keeper, with.Node, with.Secret = []string{"nats://" + address}, nil, "a", secret
	e := node(t, with)
	e.Want(wanted(3), nil, "")
	poll.Until(t, "the node has its share", func() bool { return len(e.Shared()) == 3 })
	for _, wrong := range []string{"", "another secret of its own"} {
		with.Secret = wrong
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		e, err := engine.Open(ctx, with)
		if cancel(); err == nil {
			e.Close()
			t.Errorf("secret %q: not refused", wrong)
		} else if !strings.Contains(err.Error(), "another secret than --cluster-secret") {
			t.Errorf("secret %q: %v", wrong, err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"mirrord/cluster/engine"
	"mirrord/cluster/keeper"
	"mirrord/testing/poll"
)

// A node whose sites are to lie elsewhere than those of its cluster waits, until the cluster's do so too.
func TestMode(t *testing.T) {
	o := keepers(t, 1)
	o.Node, o.Mode = "a", "depot one"
	a := node(t, o)
	o.Node, o.Mode = "b", "depot two"
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := engine.Open(ctx, o); !errors.Is(err, engine.ErrMode) {
		t.Errorf("%v", err)
	}
	if err := engine.SetMode(t.Context(), a, "depot two"); err != nil {
		t.Fatal(err)
	}
	node(t, o)
}

// A keeper by itself is started again with two others, which is a new cluster. Two more join while a node
// works; then the first two are gone, and nothing is lost. More than there are is refused.
func TestMoreKeepers(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("keepers take seconds to choose a leader: set MIRRORD_LONG=1")
	}
	var listen, routes []string
	for range 5 {
		listen, routes = append(listen, freePort(t)), append(routes, freePort(t))
	}
	var log keeper.Options
	o := keepersWith(t, 1, func(k *keeper.Options) { log = *k }) // not used but for what all have
	o.Keeper, o.Replicas, o.Node, o.Term.TTL = nil, 1, "a", 30*time.Second
	var all []*keeper.Server
	first := t.TempDir()
	start := func(n int) {
		t.Helper()
		for i := len(all); i < n; i++ {
			with := keeper.Options{
				Name:   fmt.Sprintf("m%d", i),
				Dir:    t.TempDir(),
				Listen: listen[i],
				Secret: o.Secret,
				Log:    log.Log,
			}
			if i == 0 {
				with.Dir = first
			}
			if n > 1 {
				with.Routes, with.Peers = routes[i], routes[:n]
			}
			k, err := keeper.Start(with)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, k)
			t.Cleanup(k.Close)
		}
	}
	for _, l := range listen {
		o.Servers = append(o.Servers, "nats://"+l)
	}
	open := func() *engine.Engine {
		t.Helper()
		e := node(t, o)
		e.Want(wanted(20), nil, "")
		poll.Until(t, "it has all hosts", func() bool { return len(e.Shared()) == 20 })
		return e
	}
	identify := func(e *engine.Engine) string {
		t.Helper()
		id, err := engine.Identify(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	start(1)
	alone, stop := kill(t, o)
	poll.Until(t, "the only keeper knows the node", func() bool { return alone.Me() == "a" })
	before := identify(alone)
	stop()
	all[0].Close()
	all = nil
	o.Replicas = 3
	start(3)
	e := open()
	one := identify(e)
	if one == before {
		t.Error("three keepers have what one had")
	}
	set := func(n int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		return engine.SetKeepers(ctx, e, n)
	}
	if err := set(5); err == nil {
		t.Error("five keepers, of which three are there")
	}
	start(5)
	poll.Until(t, "all keepers have the data", func() bool {
		err := set(5)
		return err == nil
	})
	if s, err := e.Look(t.Context()); err != nil || len(s.Keepers) != 5 || len(e.Shared()) != 20 {
		t.Fatalf("%+v, %v", s, err)
	}
	for i := range 2 {
		all[i].Close()
		poll.Until(t, "it continues without the first ones", func() bool {
			short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			id, err := engine.Identify(short, e)
			return err == nil && id == one && len(e.Shared()) == 20
		})
	}
}

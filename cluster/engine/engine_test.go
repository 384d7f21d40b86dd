// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"mirrord/cluster/engine"
	"mirrord/cluster/keeper"
	"mirrord/cluster/lease"
	"mirrord/store"
	"mirrord/store/home"
	"mirrord/store/shared"
	"mirrord/testing/storetest"
)

// keepers starts a number of keepers in this process and returns how nodes reach them.
func keepers(t testing.TB, n int) engine.Options { return keepersWith(t, n, nil) }

// keepersWith is keepers, each changed before it starts; change may be nil.
func keepersWith(t testing.TB, n int, change func(*keeper.Options)) engine.Options {
	t.Helper()
	o := engine.Options{
		Secret:   "xyzzy",
		Replicas: n,
		Slots:    4,
		Term:     lease.Term{TTL: 3 * time.Second, Gap: 100 * time.Millisecond},
		Log:      slog.New(slog.DiscardHandler),
	}
	if testing.Verbose() {
		o.Log = slog.Default()
	}
	var listen, routes []string
	for range n {
		listen, routes = append(listen, freePort(t)), append(routes, freePort(t))
	}
	for i := range n {
		k := keeper.Options{
			Name:   fmt.Sprintf("k%d", i),
			Dir:    t.TempDir(),
			Secret: o.Secret,
			Log:    o.Log,
		}
		if n > 1 {
			k.Listen, k.Routes, k.Peers = listen[i], routes[i], routes
			o.Servers = append(o.Servers, "nats://"+listen[i])
		}
		if change != nil {
			change(&k)
		}
		started, err := keeper.Start(k)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(started.Close)
		if n == 1 {
			o.Keeper = started
		}
	}
	return o
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// node joins a cluster until the test ends.
func node(t testing.TB, o engine.Options) *engine.Engine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e, err := engine.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		e.Run(run)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		e.Close()
	})
	return e
}

func testOwner(t *testing.T, o engine.Options) {
	storetest.TestOwner(t, func(t *testing.T) storetest.Ownership {
		again := func(t *testing.T) *engine.Engine {
			other := o
			other.Node = rand.Text()
			return node(t, other)
		}
		e := again(t)
		return storetest.Ownership{
			Owner: e,
			Again: func(t *testing.T) home.Owner { return again(t) },
			Lose: func(t *testing.T, _ string) {
				if err := e.Lose(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
			State: func(t *testing.T) *store.State {
				st, err := store.OpenState(t.TempDir(), store.Options{Owner: e})
				if err != nil {
					t.Fatal(err)
				}
				return st
			},
		}
	})
}

func testShared(t *testing.T, o engine.Options) {
	n := 0
	storetest.TestShared(t, func(t *testing.T) (shared.KeyValues, func(*testing.T) shared.KeyValues) {
		n++
		first := fmt.Sprintf("%d ", n) // kinds of their own for each test
		open := func(t *testing.T) shared.KeyValues {
			other := o
			other.Node = rand.Text()
			e, err := engine.Open(t.Context(), other)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(e.Close)
			f, err := e.Facts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return kinds{f, first}
		}
		return open(t), open
	})
}

// kinds puts something before the kinds of facts.
type kinds struct {
	shared.KeyValues
	first string
}

func (k kinds) Change(kind, key string, change func([]byte) ([]byte, error)) error {
	return k.KeyValues.Change(k.first+kind, key, change)
}

func (k kinds) All(kind string) (map[string][]byte, error) { return k.KeyValues.All(k.first + kind) }

func TestSharedOneKeeper(t *testing.T) { testShared(t, keepers(t, 1)) }

func TestSharedThreeKeepers(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("three keepers take seconds to choose a leader: set MIRRORD_LONG=1")
	}
	testShared(t, keepers(t, 3))
}

// A watch reports the present values, and each change.
func TestWatchFacts(t *testing.T) {
	o := keepers(t, 1)
	o.Node = "a"
	e := node(t, o)
	f, err := e.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := make(chan struct{}, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Watch(ctx, func() { calls <- struct{}{} }, "a", "b")
	}()
	<-calls
	for i := range 3 {
		err := f.Change("b", "x", func([]byte) ([]byte, error) { return fmt.Append(nil, i), nil })
		if err != nil {
			t.Fatal(err)
		}
		<-calls
	}
	if v, err := f.Get(ctx, "b", "x"); string(v) != "2" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	cancel()
	<-done
}

func TestOwnerOneKeeper(t *testing.T) { testOwner(t, keepers(t, 1)) }

func TestOwnerThreeKeepers(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("three keepers take seconds to choose a leader: set MIRRORD_LONG=1")
	}
	testOwner(t, keepers(t, 3))
}

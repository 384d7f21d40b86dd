// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"mirrord/cluster/engine"
	"mirrord/cluster/keeper"
	"mirrord/store/disk"
	"mirrord/testing/badnet"
	"mirrord/testing/poll"
)

// A node that cannot reach the keepers, or that they do not reach, requests nothing before another one has
// its hosts, and takes part again when the network is back.
func TestCutOff(t *testing.T) {
	for _, tc := range []struct {
		name     string
		up, down bool
	}{{"both", false, false}, {"to the keeper", false, true}, {"from the keeper", true, false}} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.up != tc.down && os.Getenv("MIRRORD_LONG") == "" {
				t.Skip("it takes five seconds until a connection is given up: set MIRRORD_LONG=1")
			}
			t.Parallel()
			address := freePort(t)
			o := keepersWith(t, 1, func(k *keeper.Options) { k.Listen = address })
			o.Term.TTL = 1200 * time.Millisecond
			wire := badnet.Open(t, address)
			named := func(name, server string) *engine.Engine {
				with := o
				with.Node, with.Keeper, with.Servers = name, nil, []string{"nats://" + server}
				e := node(t, with)
				e.Want(wanted(6), nil, "")
				return e
			}
			a, b := named("a", wire.Address), named("b", address)
			poll.Until(t, "both have hosts", func() bool {
				n := len(a.Shared())
				return n > 0 && n+len(b.Shared()) == 6
			})
			hosts := slices.Collect(maps.Keys(a.Shared()))
			wire.Pass(tc.up, tc.down)
			poll.Until(t, "the other node may request all hosts", func() bool {
				all := true
				for _, host := range hosts {
					his := b.Turn(host, polite, time.Now()).IsZero()
					if his && a.Turn(host, polite, time.Now()).IsZero() {
						t.Fatalf("two nodes request %s", host)
					}
					all = all && his
				}
				return all
			})
			wire.Pass(true, true)
			poll.Until(t, "the node takes part again", func() bool { return len(a.Shared()) > 0 })
		})
	}
}

// A node that is connected to a keeper which does not reach the others turns to another one.
func TestKeeperCutOff(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it takes seconds until a keeper is given up: set MIRRORD_LONG=1")
	}
	var with keeper.Options
	o := keepersWith(t, 1, func(k *keeper.Options) {
		k.Listen = freePort(t)
		with = *k
	})
	lonely := keeper.Options{
		Name:   "lonely",
		Dir:    t.TempDir(),
		Listen: freePort(t),
		Routes: freePort(t),
		Secret: o.Secret,
		Log:    with.Log,
	}
	lonely.Peers = []string{lonely.Routes, freePort(t), freePort(t)}
	k, err := keeper.Start(lonely)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	wire := badnet.Open(t, with.Listen)
	o.Keeper, o.Node, o.Servers = nil, "a", []string{"nats://" + wire.Address, "nats://" + lonely.Listen}
	a := node(t, o)
	a.Want(wanted(3), nil, "")
	has := func() bool { return len(a.Shared()) == 3 }
	poll.Until(t, "it has its share", has)
	wire.Pass(false, false)
	poll.Until(t, "it has nothing", func() bool { return len(a.Shared()) == 0 })
	wire.Pass(true, true)
	poll.Until(t, "it has its share again", has)
}

// What the client of the keepers has to say goes to the log.
func TestKeepersInLog(t *testing.T) {
	o := keepers(t, 1)
	var said bytes.Buffer
	o.Log, o.Node = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})), "a"
	e, err := engine.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.Connection().ErrorHandler()(e.Connection(), nil, nats.ErrConsumerNotActive)
	if !strings.Contains(said.String(), nats.ErrConsumerNotActive.Error()) {
		t.Errorf("%q", &said)
	}
}

// A keeper with another secret does not part a node from the others.
func TestKeeperOfAnotherSecret(t *testing.T) {
	t.Parallel()
	k := keeper.Options{Name: "k", Dir: t.TempDir(), Secret: "xyzzy"}
	k.Listen = freePort(t)
	other := ""
	o := keepersWith(t, 1, func(own *keeper.Options) {
		own.Listen, own.Secret, k.Log = freePort(t), "another", own.Log
		other = own.Listen
	})
	o.Keeper, o.Servers, o.Node = nil, []string{"nats://" + k.Listen, "nats://" + other}, "a"
	s, err := keeper.Start(k)
	if err != nil {
		t.Fatal(err)
	}
	a := node(t, o)
	poll.Until(t, "it takes part", a.Acting)
	s.Close()
	// it has tried the other one, in vain
	poll.Until(t, "its session is over", func() bool { return !a.Acting() })
	if s, err = keeper.Start(k); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	poll.Until(t, "it takes part again", a.Acting)
}

// When the only keeper stops and starts, nodes continue; when it starts with an empty disk they do as soon
// as one has created what it lacks.
func TestKeeperStarts(t *testing.T) {
	t.Parallel()
	k := keeper.Options{Name: "k", Dir: t.TempDir(), Secret: "xyzzy"}
	k.Listen = freePort(t)
	o := keepersWith(t, 1, func(own *keeper.Options) { own.Listen, k.Log = freePort(t), own.Log })
	o.Keeper, o.Servers, o.Term.TTL = nil, []string{"nats://" + k.Listen}, 1500*time.Millisecond
	start := func() *keeper.Server {
		t.Helper()
		s, err := keeper.Start(k)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := start()
	o.Node = "a"
	a := node(t, o)
	a.Want(wanted(3), nil, "")
	all := func() bool { return len(a.Shared()) == 3 }
	poll.Until(t, "it has its share", all)
	one, err := engine.Identify(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	before, err := a.Acquire("site0")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = start()
	poll.Until(t, "it continues", func() bool {
		id, err := engine.Identify(t.Context(), a)
		return err == nil && id == one && all()
	})
	select {
	case <-before.Lost():
		t.Log("the session did not outlive the keeper")
	default:
	}
	s.Close()
	poll.Until(t, "it has nothing", func() bool { return len(a.Shared()) == 0 })
	<-before.Lost()
	if err := before.Release(); err != nil {
		t.Error(err)
	}
	k.Dir = t.TempDir()
	s = start()
	defer s.Close()
	o.Node = "b"
	b := node(t, o)
	b.Want(wanted(3), nil, "")
	poll.Until(t, "both run on", func() bool {
		return len(a.Shared()) > 0 &&
			len(a.Shared())+len(b.Shared()) == 3
	})
	if id, err := engine.Identify(t.Context(), a); err != nil || id == one {
		t.Errorf("it counts as the same cluster: %v", err)
	}
}

// While no keeper answers, a node leases the sites of hosts that it has.
func TestAcquireWithoutKeepers(t *testing.T) {
	t.Parallel()
	k := keeper.Options{Name: "k", Dir: t.TempDir(), Secret: "xyzzy"}
	k.Listen = freePort(t)
	o := keepersWith(t, 1, func(own *keeper.Options) { own.Listen, k.Log = freePort(t), own.Log })
	o.Keeper, o.Servers, o.Node = nil, []string{"nats://" + k.Listen}, "a"
	o.Term.TTL = time.Minute
	s, err := keeper.Start(k)
	if err != nil {
		t.Fatal(err)
	}
	a := node(t, o)
	a.Want(wanted(3), nil, "")
	poll.Until(t, "it has its share", func() bool { return len(a.Shared()) == 3 })
	one, err := a.Acquire("site0")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := a.Acquire("site0"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("it is leased: %v", err)
	}
	last := one.Token()
	for range 3 {
		if err := one.Release(); err != nil {
			t.Error(err)
		}
		if one, err = a.Acquire("site0"); err != nil {
			t.Fatal(err)
		}
		if one.Token() <= last {
			t.Errorf("token %d after %d", one.Token(), last)
		}
		last = one.Token()
	}
	if other, err := a.Acquire("site1"); err != nil || other.Release() != nil {
		t.Errorf("another site that is its own: %v", err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"mirrord/fetch/reach"
	"mirrord/testing/badserver"
)

// namesOf is a cache of what a name server says.
func namesOf(d *badserver.DNS) *nameCache {
	return newNameCache(&net.Resolver{PreferGo: true, Dial: d.Connect})
}

// A name below localhost is the machine itself, and no name server is asked (RFC 6761 §6.3).
func TestBelowLocalhost(t *testing.T) {
	d := badserver.StartDNS(t)
	names := namesOf(d)
	for _, name := range []string{"samba.localhost", "a.b.localhost", "Samba.LOCALHOST"} {
		d.Name(name, badserver.DNSAnswer{Addrs: "192.0.2.1"})
		addrs, err := names.Lookup(t.Context(), name)
		if err != nil || len(addrs) == 0 {
			t.Errorf("%s: %v, %v", name, addrs, err)
		}
		for _, a := range addrs {
			if !a.Unmap().IsLoopback() {
				t.Errorf("%s has the address %v", name, a)
			}
		}
		if n := d.Asked(name); n > 0 {
			t.Errorf("%s: %d questions", name, n)
		}
	}
}

// onlyNames is a network with a cache of names whose connections go to one server.
type onlyNames struct {
	*nameCache
	server string
	fails  func(netip.AddrPort) error
}

func (o onlyNames) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	if o.fails != nil {
		if err := o.fails(to); err != nil {
			return nil, err
		}
	}
	return new(net.Dialer).DialContext(ctx, "tcp", o.server)
}

// Many connections ask for a name once, and the guard judges the answer at each.
func TestNamesThroughGuard(t *testing.T) {
	s, d := badserver.Start(t), badserver.StartDNS(t)
	network := onlyNames{nameCache: namesOf(d), server: s.Addr}
	known := new(memoryNames)
	g := NewGuard(Options{Network: network, Names: known, Reach: reach.Policy{All: true}})
	dial := func(name string) error {
		conn, err := g.Dial(t.Context(), "tcp", name+":80")
		if err == nil {
			conn.Close()
		}
		return err
	}
	d.Name("often.test", badserver.DNSAnswer{Addrs: "192.0.2.1"})
	for range 20 {
		if err := dial("often.test"); err != nil {
			t.Fatal(err)
		}
	}
	if n := d.Asked("often.test"); n != 1 {
		t.Errorf("20 connections: %d questions", n)
	}

	// a name that moves inside between two connections
	d.Name("moves.test", badserver.DNSAnswer{Addrs: "93.184.216.34"})
	if err := dial("moves.test"); err != nil {
		t.Fatal(err)
	}
	d.Name("moves.test", badserver.DNSAnswer{Addrs: "10.0.0.1"})
	network.unreachable(netip.MustParseAddr("93.184.216.34")) // as after a minute
	for range 2 {
		if err := dial("moves.test"); !errors.Is(err, ErrForbiddenAddress) {
			t.Errorf("a name that moved inside: %v", err)
		}
	}

	// an answer that holds is judged by the present knowledge
	d.Name("inside.test", badserver.DNSAnswer{Addrs: "10.0.0.1"})
	if err := dial("inside.test"); err != nil {
		t.Fatal(err)
	}
	if err := known.KeepPublic("inside.test"); err != nil {
		t.Fatal(err)
	}
	if err := dial("inside.test"); !errors.Is(err, ErrForbiddenAddress) {
		t.Errorf("a name that was public, by another job: %v", err)
	}
	if n := d.Asked("inside.test"); n != 1 {
		t.Errorf("%d questions", n)
	}
}

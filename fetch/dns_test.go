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

// namesOf is the machine's network with a name server.
func namesOf(d *badserver.DNS) system {
	return system{&net.Resolver{PreferGo: true, Dial: d.Connect}}
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

// onlyNames is a network with a name server whose connections go to one server.
type onlyNames struct {
	system
	server string
}

func (o onlyNames) Connect(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", o.server)
}

// The guard judges the answer of the resolver at each connection.
func TestNamesThroughGuard(t *testing.T) {
	s, d := badserver.Start(t), badserver.StartDNS(t)
	known := new(memoryNames)
	g := NewGuard(Options{
		Network: onlyNames{system: namesOf(d), server: s.Addr},
		Names:   known,
		Reach:   reach.Policy{All: true},
	})
	dial := func(name string) error {
		conn, err := g.Dial(t.Context(), "tcp", name+":80")
		if err == nil {
			conn.Close()
		}
		return err
	}

	// a name that moves inside between two connections
	d.Name("moves.test", badserver.DNSAnswer{Addrs: "93.184.216.34"})
	if err := dial("moves.test"); err != nil {
		t.Fatal(err)
	}
	d.Name("moves.test", badserver.DNSAnswer{Addrs: "10.0.0.1"})
	for range 2 {
		if err := dial("moves.test"); !errors.Is(err, ErrForbiddenAddress) {
			t.Errorf("a name that moved inside: %v", err)
		}
	}

	// an answer is judged by the present knowledge
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
}

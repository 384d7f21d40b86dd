// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"mirrord/fetch/reach"
	"mirrord/testing/badserver"
)

// A name below localhost is the machine itself, and no name server is asked (RFC 6761 §6.3).
func TestBelowLocalhost(t *testing.T) {
	d := badserver.StartDNS(t)
	r := tapped{connect: d.Connect}
	for _, name := range []string{"samba.localhost", "a.b.localhost", "Samba.LOCALHOST"} {
		d.Name(name, badserver.DNSAnswer{Addrs: "192.0.2.1", TTL: 300})
		addrs, _, err := r.lookup(t.Context(), name)
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

// What package net makes of a name server's answers, and how long they hold.
func TestLifetimeOfAnswers(t *testing.T) {
	d := badserver.StartDNS(t)
	r := tapped{connect: d.Connect}
	const v4, both = "192.0.2.1", "192.0.2.1 2001:db8::1"
	aliased := badserver.DNSAnswer{
		Addrs:    v4,
		TTL:      300,
		Alias:    "cdn.test",
		AliasTTL: 20,
	}
	for i, tt := range []struct {
		what   string
		says   badserver.DNSAnswer
		want   int // addresses
		life   time.Duration
		absent bool
		asked  int // questions for IPv4; 0: not counted
	}{
		{"an address", badserver.DNSAnswer{Addrs: v4, TTL: 300}, 1, 300 * time.Second, false, 1},
		{"both families", badserver.DNSAnswer{Addrs: both, TTL: 60}, 2, time.Minute, false, 1},
		{"not for long", badserver.DNSAnswer{Addrs: both}, 2, 0, false, 1},
		{"a negative number of seconds", badserver.DNSAnswer{Addrs: v4, TTL: 1<<31 + 7}, 1, 0, false, 1},
		{"an alias that ends first", aliased, 1, 20 * time.Second, false, 1},
		{"no IPv6, for 5 s", badserver.DNSAnswer{Addrs: v4, TTL: 300, Absent: 5}, 1, 300 * time.Second, false, 1},
		{"truncated", badserver.DNSAnswer{Addrs: both, TTL: 90, Cut: true}, 2, 90 * time.Second, false, 2},
		{"a forged packet first", badserver.DNSAnswer{Addrs: both, TTL: 90, Forged: true}, 2, 90 * time.Second,
			false, 1},
		{"one family fails", badserver.DNSAnswer{Addrs: both, TTL: 90, No6: true}, 1, 0, false, 1},
		{"the server fails", badserver.DNSAnswer{Addrs: v4, TTL: 90, Fails: true}, 0, 0, false, 0},
		{"no such name", badserver.DNSAnswer{None: true, Absent: 40}, 0, 40 * time.Second, true, 0},
		{"no such name, for a time unknown", badserver.DNSAnswer{None: true}, 0, 0, true, 0},
		{"a name without addresses", badserver.DNSAnswer{Absent: 50}, 0, 50 * time.Second, true, 0},
	} {
		name := fmt.Sprintf("n%d.test", i)
		d.Name(name, tt.says)
		addrs, life, err := r.lookup(t.Context(), name)
		if len(addrs) != tt.want || life != tt.life || notFound(err) != tt.absent || (err == nil) != (tt.want > 0) {
			t.Errorf("%s: %v for %v, %v", tt.what, addrs, life, err)
		}
		if n := d.Asked(name); n != tt.asked && tt.asked > 0 {
			t.Errorf("%s: %d questions", tt.what, n)
		}
	}
	if addrs, life, err := r.lookup(t.Context(), "localhost"); err != nil || len(addrs) == 0 || life != 0 {
		t.Errorf("localhost, which a file knows: %v for %v, %v", addrs, life, err)
	}
	if n := d.Asked("localhost"); n != 0 {
		t.Errorf("a server was asked for localhost %d times", n)
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
	network := onlyNames{nameCache: newNameCache(tapped{connect: d.Connect}.lookup, time.Now), server: s.Addr}
	known := new(memoryNames)
	g := NewGuard(Options{Network: network, Names: known, Reach: reach.Policy{All: true}})
	dial := func(name string) error {
		conn, err := g.Dial(t.Context(), "tcp", name+":80")
		if err == nil {
			conn.Close()
		}
		return err
	}
	d.Name("often.test", badserver.DNSAnswer{Addrs: "192.0.2.1", TTL: 3600})
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
	d.Name("moves.test", badserver.DNSAnswer{Addrs: "10.0.0.1", TTL: 3600})
	for range 2 {
		if err := dial("moves.test"); !errors.Is(err, ErrForbiddenAddress) {
			t.Errorf("a name that moved inside: %v", err)
		}
	}

	// an answer that holds is judged by the present knowledge
	d.Name("inside.test", badserver.DNSAnswer{Addrs: "10.0.0.1", TTL: 3600})
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

// A client that was given an origin ahead has its name when it connects.
func TestAheadOfConnection(t *testing.T) {
	d := badserver.StartDNS(t)
	d.Name("soon.test", badserver.DNSAnswer{Addrs: "192.0.2.1", TTL: 3600})
	names := newNameCache(tapped{connect: d.Connect}.lookup, time.Now)
	c, err := New(Options{Network: onlyNames{nameCache: names}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Ahead("http://soon.test:8080")
	if addrs, err := names.Lookup(t.Context(), "soon.test"); err != nil || len(addrs) != 1 {
		t.Errorf("%v, %v", addrs, err)
	}
	if n := d.Asked("soon.test"); n != 1 {
		t.Errorf("%d questions", n)
	}
	behind, err := New(Options{Proxy: "http://proxy.test:3128", Network: onlyNames{nameCache: names}})
	if err != nil {
		t.Fatal(err)
	}
	behind.Ahead("http://far.test")
	names.mu.Lock()
	defer names.mu.Unlock()
	if names.names["far.test"] != nil {
		t.Error("a name that is the proxy's to resolve was looked up")
	}
}

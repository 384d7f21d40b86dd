// SPDX-License-Identifier: Apache-2.0

package mirrortest

import (
	"context"
	"net"
	"net/http/httptest"
	"net/netip"
	"testing"

	"mirrord/fetch/reach"
	"mirrord/testing/badserver"
)

// FakeNetwork is an internet of two servers for World.Network: all public addresses are one, all private
// addresses the other. Names change their addresses as it pleases the test. It is safe for concurrent use.
type FakeNetwork struct {
	Inside *Web // what a mirror may not reach; it answers everything with SECRET

	badserver.Names
	outside string
	inside  string
}

// StartNetwork serves both sides until the test ends. Each request has a connection, and so a lookup, of its
// own.
func StartNetwork(t testing.TB, outside *Web) *FakeNetwork {
	t.Helper()
	n := &FakeNetwork{Inside: NewWeb()}
	start := func(w *Web) string {
		s := httptest.NewUnstartedServer(w)
		s.Config.SetKeepAlivesEnabled(false)
		s.Start()
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	n.outside, n.inside = start(outside), start(n.Inside)
	n.Inside.Set("*", HTML("inside", "<p>SECRET</p>"))
	return n
}

// Connect is that of fetch.Network.
func (n *FakeNetwork) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	server := n.outside
	if class, _ := reach.Classify(to.Addr()); class != reach.Public {
		server = n.inside
	}
	return new(net.Dialer).DialContext(ctx, "tcp", server)
}

// OneServer is a network in which each name has the same public address, and each connection goes to the
// server at At, an address with its port.
type OneServer struct{ At string }

// Lookup is that of fetch.Network.
func (OneServer) Lookup(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

// Connect is that of fetch.Network.
func (n OneServer) Connect(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", n.At)
}

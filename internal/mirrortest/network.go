// SPDX-License-Identifier: Apache-2.0

package mirrortest

import (
	"context"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"mirrord/reach"
)

// Network is an internet of two servers for World.Network: whatever is at a public address is one, whatever is at a private address the other.
// Names change their addresses as it pleases the test. It is safe for concurrent use.
type Network struct {
	Inside *Web // what a mirror may not reach; it answers everything with SECRET

	mu      sync.Mutex
	answers map[string][]string
	outside string
	inside  string
}

// StartNetwork serves both sides until the test ends. Each request has a connection, and so a lookup, of its own.
func StartNetwork(t testing.TB, outside *Web) *Network {
	t.Helper()
	n := &Network{Inside: NewWeb(), answers: map[string][]string{}}
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

// Name makes a name answer these lists of addresses, with spaces between, in turn; the last one stays.
func (n *Network) Name(name string, answers ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[name] = answers
}

// Lookup is that of fetch.Network.
func (n *Network) Lookup(_ context.Context, name string) (out []netip.Addr, _ error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.answers[name]
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if len(all) > 1 {
		n.answers[name] = all[1:]
	}
	for s := range strings.FieldsSeq(all[0]) {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// Connect is that of fetch.Network.
func (n *Network) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	server := n.outside
	if class, _ := reach.Classify(to.Addr()); class != reach.Public {
		server = n.inside
	}
	return new(net.Dialer).DialContext(ctx, "tcp", server)
}

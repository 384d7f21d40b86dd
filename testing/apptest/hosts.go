// SPDX-License-Identifier: Apache-2.0

package apptest

import (
	"context"
	"net"
	"net/netip"
)

// NamedHosts is a network in which names have the addresses of a map, and one server answers at all of them.
type NamedHosts struct {
	Addrs  map[string]string
	Server string
}

func (n NamedHosts) Lookup(_ context.Context, name string) ([]netip.Addr, error) {
	if a, ok := n.Addrs[name]; ok {
		return []netip.Addr{netip.MustParseAddr(a)}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (n NamedHosts) Connect(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", n.Server)
}

// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the addresses of reverse proxies that are believed to say who their clients are.
type Proxies []netip.Prefix

// ParseProxies reads an address or a prefix.
func ParseProxies(s string) (Proxies, error) {
	prefix, err := netip.ParsePrefix(s)
	if addr, aerr := netip.ParseAddr(s); aerr == nil {
		prefix, err = addr.Prefix(addr.BitLen())
	}
	if err != nil {
		return nil, fmt.Errorf("%q is no address and no prefix; want one such as 10.0.0.5 or 10.0.0.0/24", s)
	}
	return Proxies{prefix.Masked()}, nil
}

// Trust reports whether the address of a client is that of a proxy.
func (p Proxies) Trust(remote string) bool {
	addr, ok := addrOf(remote)
	return ok && slices.ContainsFunc(p, func(x netip.Prefix) bool { return x.Contains(addr) })
}

// Client is the key of who makes a request, as that of [Client]: behind a proxy it is whom that names last.
func (p Proxies) Client(r *http.Request) string { return Client(p.from(r)) }

// Single is that key, or "" when many may come from the address: it is that of this machine or of a proxy.
func (p Proxies) Single(r *http.Request) string { return p.Peer(p.from(r)) }

// Peer is the key of who has an address, with or without a port; "" when that may be many.
func (p Proxies) Peer(remote string) string {
	if addr, ok := addrOf(remote); !ok || addr.IsLoopback() || p.Trust(remote) {
		return ""
	}
	return Client(remote)
}

func (p Proxies) from(r *http.Request) string {
	if p.Trust(r.RemoteAddr) {
		all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if last := strings.TrimSpace(all[len(all)-1]); last != "" {
			return last
		}
	}
	return r.RemoteAddr
}

// addrOf reads an address, with or without a port.
func addrOf(remote string) (netip.Addr, bool) {
	ap, err := netip.ParseAddrPort(remote)
	addr := ap.Addr()
	if err != nil {
		addr, err = netip.ParseAddr(strings.Trim(remote, "[]"))
	}
	return addr.Unmap().WithZone(""), err == nil
}

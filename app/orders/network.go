// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"mirrord/fetch"
)

// outside is a network that never connects to the networks of this machine, not even at addresses that are
// public. Private addresses are refused by package reach.
type outside struct {
	fetch.Network
	own []netip.Prefix
}

// Connect refuses an address of the machine's own networks.
func (n outside) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	for _, p := range n.own {
		if p.Contains(to.Addr().Unmap()) {
			return nil, fmt.Errorf("%w: %s is in the network of the mirror host", fetch.ErrForbiddenAddress, to.Addr())
		}
	}
	return n.Network.Connect(ctx, to)
}

// OwnNetworks are the networks that the interfaces of this machine are in.
func OwnNetworks() ([]netip.Prefix, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("the networks of this machine: %w", err)
	}
	var out []netip.Prefix
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Bits() > 0 {
			out = append(out, p.Masked())
		}
	}
	return out, nil
}

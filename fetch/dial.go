// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// system is the machine's own resolver and network.
type system struct{ *nameCache }

// System returns the machine's own resolver and network. It remembers the addresses of names for a minute, so
// that frequent connections keep one.
func System() Network { return system{newNameCache(new(net.Resolver))} }

func (s system) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{KeepAlive: 15 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", to.String())
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		s.unreachable(to.Addr())
	}
	return conn, err
}

// Happy Eyeballs (RFC 8305): the families in turn, the next address when one has failed or not answered for a
// while.
const (
	stagger      = 250 * time.Millisecond
	maxAddresses = 16 // of one name
)

// inTurn orders addresses so that the families alternate, beginning with that of the first, and keeps the
// order within each.
func inTurn(addrs []netip.AddrPort) []netip.AddrPort {
	var first, other []netip.AddrPort
	for _, a := range addrs {
		if a.Addr().Is4() == addrs[0].Addr().Is4() {
			first = append(first, a)
		} else {
			other = append(other, a)
		}
	}
	out := make([]netip.AddrPort, 0, len(addrs))
	for i := range max(len(first), len(other)) {
		if i < len(first) {
			out = append(out, first[i])
		}
		if i < len(other) {
			out = append(out, other[i])
		}
	}
	return out[:min(len(out), maxAddresses)]
}

// race connects to the first address that answers. The error is that of the first address.
func race(
	ctx context.Context, addrs []netip.AddrPort, connect func(context.Context, netip.AddrPort) (net.Conn, error),
) (net.Conn, error) {
	addrs = inTurn(addrs)
	if len(addrs) == 1 {
		return connect(ctx, addrs[0])
	}
	type result struct {
		conn net.Conn
		err  error
		n    int
	}
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan result, len(addrs)) // all of them: no sender blocks
	begun, ended := 0, 0
	defer func() { // who comes second is not needed
		cancel()
		for ; ended < begun; ended++ {
			if r := <-results; r.conn != nil {
				r.conn.Close()
			}
		}
	}()
	timer := time.NewTimer(stagger)
	defer timer.Stop()
	var failure result
	failure.n = len(addrs)
	for ended < len(addrs) {
		if n := begun; n < len(addrs) {
			begun++
			go func() {
				conn, err := connect(ctx, addrs[n])
				results <- result{conn, err, n}
			}()
			timer.Reset(stagger)
		}
		select {
		case r := <-results:
			ended++
			if r.err == nil {
				return r.conn, nil
			}
			if r.n < failure.n {
				failure = r
			}
		case <-timer.C:
		}
	}
	return nil, failure.err
}

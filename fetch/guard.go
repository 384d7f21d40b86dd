// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"mirrord/fetch/reach"
	"mirrord/site"
)

// Names remembers which host names were ever at public addresses. Names are as [reach.Name] writes them. It
// is safe for concurrent use.
type Names interface {
	WasPublic(name string) (bool, error)
	KeepPublic(name string) error // again for the same name is harmless
}

// Network resolves names and connects. It is safe for concurrent use. Tests use one whose answers change.
type Network interface {
	Lookup(ctx context.Context, name string) ([]netip.Addr, error)
	Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// Guard connects to where a policy lets it. It resolves a name itself, judges each address, and connects to
// no other than those, so that a name which changes between check and use gains nothing. Behind a proxy the
// target's address is not known here: then [Guard.Check] judges the target by its name alone, connections go
// to the proxy, and it is the proxy that has to refuse names which are private only by their address. It is
// safe for concurrent use.
type Guard struct {
	policy  reach.Policy
	proxied bool
	names   Names
	network Network
	timeout time.Duration
	log     *slog.Logger
}

// NewGuard returns the guard of exchanges under o. Of o it uses Reach, Names, Network, Proxy, ConnectTimeout
// and Log.
func NewGuard(o Options) *Guard { return newGuard(o.withDefaults()) }

func newGuard(o Options) *Guard {
	return &Guard{
		policy:  o.Reach,
		proxied: o.Proxy != "",
		names:   o.Names,
		network: o.Network,
		timeout: o.ConnectTimeout,
		log:     o.Log,
	}
}

// Check judges the origin of a URL that a proxy will connect to, as far as its name tells. Without a proxy it
// says nothing: Dial does.
func (g *Guard) Check(u site.URL) error {
	if !g.proxied {
		return nil
	}
	return forbidden(g.policy.Decide(reach.Target{Endpoint: endpointOf(u)}))
}

func endpointOf(u site.URL) reach.Endpoint {
	return reach.Endpoint{Host: reach.Name(u.Hostname()), Port: u.Port()}
}

func forbidden(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrForbiddenAddress, err)
}

// Dial connects to host:port, as net/http wants it. A refusal is ErrForbiddenAddress with a [*reach.Refusal].
func (g *Guard) Dial(ctx context.Context, _, hostport string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q is no number", port)
	}
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	e := reach.Endpoint{Host: reach.Name(host), Port: uint16(n)}
	addrs, err := g.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	good, err := g.judge(e, addrs)
	if err != nil {
		return nil, err
	}
	return race(ctx, good, g.network.Connect)
}

// Would reports whether a connection for a URL would be refused now, without making one: nil,
// a refusal as of Dial, or why the name cannot be resolved.
func (g *Guard) Would(ctx context.Context, u site.URL) error {
	if g.proxied {
		return g.Check(u)
	}
	e := endpointOf(u)
	addrs, err := g.lookup(ctx, e.Host)
	if err == nil {
		_, _, err = g.choose(e, addrs)
	}
	return err
}

// lookup returns the addresses of a host, in the order in which they are to be tried.
func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	addrs, err := g.network.Lookup(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return addrs, err
}

// judge returns those of a host's addresses that may be connected to, or why none may, and remembers the name
// when it is public.
func (g *Guard) judge(e reach.Endpoint, addrs []netip.Addr) ([]netip.AddrPort, error) {
	good, public, err := g.choose(e, addrs)
	if err == nil && public {
		if err := g.names.KeepPublic(e.Host); err != nil {
			g.log.Warn("that a name is public is not kept", "host", e.Host, "err", err)
		}
	}
	return good, err
}

// choose is judge without a memory of its own; public says that the host is a name and its whole answer
// public. A name that is public and private at the same time, as in networks with global IPv6 and private
// IPv4, is judged address by address.
func (g *Guard) choose(e reach.Endpoint, addrs []netip.Addr) (good []netip.AddrPort, public bool, err error) {
	policy := &g.policy
	if g.proxied { // this is the way to the proxy, which the job names
		policy = &reach.Policy{All: true}
	}
	private, was := 0, false
	for _, ip := range addrs {
		if class, _ := reach.Classify(ip); class != reach.Public {
			private++
		}
	}
	_, literal := netip.ParseAddr(e.Host)
	named := literal != nil && !g.proxied
	if named && private > 0 {
		if was, err = g.names.WasPublic(e.Host); err != nil {
			return nil, false, fmt.Errorf("%w: whether %s was public before is not known: %w", ErrForbiddenAddress,
				e.Host, err)
		}
	}
	var refused error // of the first address
	for _, ip := range addrs {
		if err := policy.Decide(reach.Target{Endpoint: e, Addr: ip, WasPublic: was}); err != nil {
			if refused == nil {
				refused = err
			}
			continue
		}
		good = append(good, netip.AddrPortFrom(ip.Unmap(), e.Port))
	}
	if len(good) == 0 {
		return nil, false, forbidden(refused)
	}
	return good, named && private == 0, nil
}

// memoryNames is Names without a disk. The zero value remembers nothing yet.
type memoryNames struct {
	mu     sync.Mutex
	public map[string]bool
}

func (m *memoryNames) WasPublic(name string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.public[name], nil
}

func (m *memoryNames) KeepPublic(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.public == nil {
		m.public = map[string]bool{}
	}
	m.public[name] = true
	return nil
}

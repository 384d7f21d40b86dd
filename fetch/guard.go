package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// guard decides which addresses may be connected to. It looks at the address after DNS, at the moment of the connect call, so
// a name that changes its mind between check and use gains nothing. Behind a proxy the target's address is not known here: then
// only literal addresses and localhost names are refused, and the proxy has to guard the rest.
type guard struct {
	allowAll bool
	proxied  bool
	hosts    map[string]bool // "host" or "host:port", lower case, IPv6 without brackets when without port
	checked  net.Dialer
	open     net.Dialer
}

func newGuard(o Options) *guard {
	g := &guard{allowAll: o.AllowPrivate, proxied: o.Proxy != "", hosts: make(map[string]bool, len(o.AllowHosts))}
	for _, h := range o.AllowHosts {
		h = strings.ToLower(h)
		if strings.HasPrefix(h, "[") && strings.HasSuffix(h, "]") {
			h = h[1 : len(h)-1]
		}
		g.hosts[h] = true
	}
	g.open = net.Dialer{Timeout: o.ConnectTimeout, KeepAlive: 15 * time.Second}
	g.checked = g.open
	g.checked.Control = func(_, address string, _ syscall.RawConn) error { return checkAddress(address) }
	return g
}

// trusts reports whether host:port may be at any address.
func (g *guard) trusts(hostport string) bool {
	if g.allowAll || g.hosts[hostport] {
		return true
	}
	host, _, err := net.SplitHostPort(hostport)
	return err == nil && g.hosts[strings.ToLower(host)]
}

func (g *guard) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if g.proxied || g.trusts(addr) {
		return g.open.DialContext(ctx, network, addr)
	}
	return g.checked.DialContext(ctx, network, addr)
}

// checkTarget judges the target of a request that a proxy will connect to, as far as its name tells.
func (g *guard) checkTarget(hostport string) error {
	if !g.proxied || g.trusts(hostport) {
		return nil
	}
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761 §6.3
		return fmt.Errorf("%w: %s is this machine", ErrForbiddenAddress, host)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return checkIP(ip)
	}
	return nil
}

func checkAddress(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", ErrForbiddenAddress, address)
	}
	return checkIP(ap.Addr())
}

func checkIP(ip netip.Addr) error {
	if kind := special(ip); kind != "" {
		return fmt.Errorf("%w: %s is a %s address", ErrForbiddenAddress, ip, kind)
	}
	return nil
}

type block struct {
	prefix netip.Prefix
	kind   string
}

// The IANA special-purpose registries (RFC 6890) less what is globally reachable, and the metadata services of clouds that
// answer on other addresses.
var blocks = [...]block{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-internal"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud metadata"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "special-purpose"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local translation"},
	{netip.MustParsePrefix("100::/63"), "discard"}, // and the dummy prefix beside it, RFC 9780
	{netip.MustParsePrefix("2001::/32"), "Teredo"},
	{netip.MustParsePrefix("2001:2::/48"), "benchmarking"},
	{netip.MustParsePrefix("2001:10::/28"), "ORCHID"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
	{netip.MustParsePrefix("5f00::/16"), "segment-routing"},
	{netip.MustParsePrefix("fc00::/7"), "private"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixToFour  = netip.MustParsePrefix("2002::/16")    // RFC 3056
	compatible = netip.MustParsePrefix("::/96")        // RFC 4291 §2.5.5.1
)

// special names the kind of address that a mirror refuses, or "" for one that is reachable by everybody. An IPv4 address that is
// carried inside an IPv6 one (mapped, compatible, NAT64, 6to4, ISATAP) is judged as itself.
func special(ip netip.Addr) string {
	if !ip.IsValid() {
		return "invalid"
	}
	ip = ip.WithZone("").Unmap()
	for i := range blocks {
		if blocks[i].prefix.Contains(ip) {
			return blocks[i].kind
		}
	}
	if ip.Is4() {
		return ""
	}
	b := ip.As16()
	switch {
	case nat64.Contains(ip), compatible.Contains(ip):
		return special(netip.AddrFrom4([4]byte(b[12:16])))
	case sixToFour.Contains(ip):
		return special(netip.AddrFrom4([4]byte(b[2:6])))
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP, RFC 5214 §6.1
		return special(netip.AddrFrom4([4]byte(b[12:16])))
	}
	return ""
}

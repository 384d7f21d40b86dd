// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"net/netip"
	"slices"
)

// Class is what an address means to a mirror.
type Class uint8

// The classes.
const (
	Public   Class = iota // reachable by everybody
	Private               // of this machine or of the network around it, or of no use to anybody
	Metadata              // hands the credentials of a cloud machine to any client
)

type block struct {
	prefix netip.Prefix
	kind   string
}

// The IANA special-purpose registries (RFC 6890) without those that are globally reachable.
var special = [...]block{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-internal"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
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
	{localNAT64, "local translation"},
	{netip.MustParsePrefix("100::/63"), "discard"}, // and the dummy prefix beside it, RFC 9780
	{teredo, "Teredo"},
	{netip.MustParsePrefix("2001:2::/48"), "benchmarking"},
	{netip.MustParsePrefix("2001:10::/28"), "ORCHID"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
	{netip.MustParsePrefix("5f00::/16"), "segment-routing"},
	{netip.MustParsePrefix("fc00::/7"), "unique-local"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// The metadata services of clouds, by address. Most clouds answer at the first.
var metadata = [...]netip.Prefix{
	netip.MustParsePrefix("169.254.169.254/32"),
	netip.MustParsePrefix("169.254.170.0/24"),       // Amazon ECS tasks (.2) and EKS pods (.23)
	netip.MustParsePrefix("169.254.42.42/32"),       // Scaleway
	netip.MustParsePrefix("169.254.0.23/32"),        // Tencent
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba
	netip.MustParsePrefix("100.96.0.96/32"),         // Volcano Engine
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure, globally routable by its number
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle
	netip.MustParsePrefix("fd00:ec2::/32"),          // Amazon: ::254 machines, ::23 pods
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle
	netip.MustParsePrefix("fe80::a9fe:a9fe/128"),    // OpenStack
}

// metadataNames are the names of those services. By a name alone a proxy is kept from them.
var metadataNames = [...]string{
	"metadata.google.internal", "metadata.goog", "instance-data.ec2.internal", "metadata.azure.internal",
	"metadata.tencentyun.com",
	"metadata.platformequinix.com", "metadata.packet.net",
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")   // RFC 6052
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
	sixToFour  = netip.MustParsePrefix("2002::/16")      // RFC 3056
	compatible = netip.MustParsePrefix("::/96")          // RFC 4291 §2.5.5.1
	teredo     = netip.MustParsePrefix("2001::/32")      // RFC 4380
)

// Classify returns the class of an address and what the registries call it ("" when it is public). An IPv4
// address that an IPv6 one carries (mapped, compatible, NAT64, 6to4, ISATAP) is judged as itself.
func Classify(ip netip.Addr) (class Class, kind string) {
	if !ip.IsValid() {
		return Private, "invalid"
	}
	ip = ip.WithZone("").Unmap()
	for _, c := range carried(ip) {
		if within(metadata[:], c) {
			return Metadata, "cloud metadata"
		}
	}
	if kind := specialKind(ip); kind != "" {
		return Private, kind
	}
	if kind := specialKind(plain(ip)); kind != "" {
		return Private, kind
	}
	return Public, ""
}

func within(prefixes []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}

func specialKind(ip netip.Addr) string {
	for i := range special {
		if special[i].prefix.Contains(ip) {
			return special[i].kind
		}
	}
	return ""
}

// plain returns the IPv4 address that an IPv6 one stands for by a public agreement, or the address itself.
func plain(ip netip.Addr) netip.Addr {
	ip = ip.WithZone("").Unmap()
	if ip.Is4() || ip.IsUnspecified() || ip.IsLoopback() {
		return ip
	}
	b := ip.As16()
	switch {
	case nat64.Contains(ip), compatible.Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP, RFC 5214 §6.1
		return netip.AddrFrom4([4]byte(b[12:16]))
	}
	return ip
}

// carried returns an address and every IPv4 address that may come out of it behind a translator.
func carried(ip netip.Addr) []netip.Addr {
	out := []netip.Addr{ip, plain(ip)}
	b := ip.As16()
	switch {
	case localNAT64.Contains(ip):
		// RFC 6052 §2.2: which of these lengths the network uses, only the network knows
		out = append(out, netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}),
			netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}),
			netip.AddrFrom4([4]byte(b[9:13])), netip.AddrFrom4([4]byte(b[12:16])))
	case teredo.Contains(ip):
		out = append(out, netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	return out
}

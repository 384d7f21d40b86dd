// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"net/netip"
	"strings"
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
// 100::/63 has the dummy prefix of RFC 9780 too.
var special = blocks(`
0.0.0.0/8 unspecified
10.0.0.0/8 private
100.64.0.0/10 carrier-internal
127.0.0.0/8 loopback
169.254.0.0/16 link-local
172.16.0.0/12 private
192.0.0.0/24 special-purpose
192.0.2.0/24 documentation
192.168.0.0/16 private
198.18.0.0/15 benchmarking
198.51.100.0/24 documentation
203.0.113.0/24 documentation
224.0.0.0/4 multicast
240.0.0.0/4 reserved
::/128 unspecified
::1/128 loopback
64:ff9b:1::/48 local translation
100::/63 discard
2001::/32 Teredo
2001:2::/48 benchmarking
2001:10::/28 ORCHID
2001:db8::/32 documentation
3fff::/20 documentation
5f00::/16 segment-routing
fc00::/7 unique-local
fe80::/10 link-local
fec0::/10 site-local
ff00::/8 multicast`)

// The metadata services of clouds, by address. Most clouds answer at the first.
var metadata = blocks(`
169.254.169.254/32 most
169.254.170.0/24 Amazon ECS tasks (.2) and EKS pods (.23)
169.254.42.42/32 Scaleway
169.254.0.23/32 Tencent
100.100.100.200/32 Alibaba
100.96.0.96/32 Volcano Engine
168.63.129.16/32 Azure, globally routable by its number
192.0.0.192/32 Oracle
fd00:ec2::/32 Amazon: ::254 machines, ::23 pods
fd20:ce::254/128 Google
fd00:42::42/128 Scaleway
fd00:c1::a9fe:a9fe/128 Oracle
fe80::a9fe:a9fe/128 OpenStack`)

// blocks reads lines of a prefix and what it is.
func blocks(list string) (out []block) {
	for line := range strings.Lines(strings.TrimSpace(list)) {
		prefix, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		out = append(out, block{netip.MustParsePrefix(prefix), kind})
	}
	return out
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
		if kindIn(metadata, c) != "" {
			return Metadata, "cloud metadata"
		}
	}
	if kind := kindIn(special, ip); kind != "" {
		return Private, kind
	}
	if kind := kindIn(special, plain(ip)); kind != "" {
		return Private, kind
	}
	return Public, ""
}

// kindIn returns what the first block with an address is, "" without one.
func kindIn(blocks []block, ip netip.Addr) string {
	for _, b := range blocks {
		if b.prefix.Contains(ip) {
			return b.kind
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

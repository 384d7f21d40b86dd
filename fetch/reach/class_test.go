// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"net/netip"
	"testing"
)

func TestClassify(t *testing.T) {
	refused := []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1",
		"127.9.9.9", "168.63.129.16",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.168.1.1", "198.19.0.1", "224.0.0.1",
		"239.255.255.255",
		"255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::10.0.0.1",
		"64:ff9b::7f00:1",
		"64:ff9b:1::1", "2002:7f00:1::1", "2002:a00:1::", "2002:a9fe:a9fe::1", "2001:0:1234::1", "fc00::1",
		"fd00:ec2::254", "fe80::1",
		"fe80::1%eth0", "::1%lo", "fec0::1", "ff02::1", "2001:db8::1",
		"100::1", "100:0:0:1::1", "2001:2::1", "2001:10::1", "5f00::1", "2a00:1450::5efe:192.168.0.1",
		"2a00:1450::200:5efe:10.0.0.1",
	}
	for _, s := range refused {
		if kindOf(s) == "" {
			t.Errorf("%s is let through", s)
		}
	}
	for _, s := range []string{
		"1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1",
		"172.15.0.1", "172.32.0.1",
		"192.167.1.1", "192.169.0.1", "223.255.255.255", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808",
		"2001:20::1", "2001:4:112::1", "2002:808:808::1", "2a00:1450::1",
	} {
		if kind := kindOf(s); kind != "" {
			t.Errorf("%s is refused as %s", s, kind)
		}
	}
	if c, _ := Classify(netip.Addr{}); c == Public {
		t.Error("no address is let through")
	}
}

func kindOf(s string) string {
	_, kind := Classify(netip.MustParseAddr(s))
	return kind
}

// The metadata services, in every form of their addresses.
func TestMetadata(t *testing.T) {
	for _, s := range []string{
		"169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "169.254.170.2", "fd00:ec2::254",
		"fd00:ec2::23", "fd20:ce::254", "fe80::a9fe:a9fe", "fe80::a9fe:a9fe%eth0",
		"::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b::168.63.129.16",
		"2002:a9fe:a9fe::1", "2002:6464:64c8::", "2a00:1450::5efe:169.254.169.254",
		"64:ff9b:1::a9fe:a9fe", "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1::a9:fea9:fe00:0", "2001:0:1:1:1:1:5601:5601",
	} {
		if c, kind := Classify(netip.MustParseAddr(s)); c != Metadata {
			t.Errorf("%s is %d, %s", s, c, kind)
		}
	}
	for _, s := range []string{
		"169.254.1.1", "169.254.169.253", "100.100.100.201", "168.63.129.17", "fd00:ec3::254", "10.0.0.1",
		"2001:4860::a9fe:a9fe",
	} {
		if c, _ := Classify(netip.MustParseAddr(s)); c == Metadata {
			t.Errorf("%s is classified as a metadata service", s)
		}
	}
}

func FuzzClassify(f *testing.F) {
	for _, s := range []string{
		"\x7f\x00\x00\x01", "\x00d\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x01",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ip, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		class, kind := Classify(ip)
		plain := ip.Unmap()
		if class == Public && (plain.IsLoopback() || plain.IsPrivate() || plain.IsLinkLocalUnicast() ||
			plain.IsMulticast() || plain.IsUnspecified()) {
			t.Errorf("%v is let through", ip)
		}
		if _, mapped := Classify(netip.AddrFrom16(ip.As16())); ip.Is4() && mapped != kind {
			t.Errorf("%v: mapped is judged otherwise", ip)
		}
	})
}

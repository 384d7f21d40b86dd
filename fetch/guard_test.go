package fetch

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"mirrord/internal/badserver"
)

func TestSpecialAddresses(t *testing.T) {
	refused := []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.9.9.9", "168.63.129.16",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.168.1.1", "198.19.0.1", "224.0.0.1", "239.255.255.255",
		"255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::7f00:1",
		"64:ff9b:1::1", "2002:7f00:1::1", "2002:a00:1::", "2002:a9fe:a9fe::1", "2001:0:1234::1", "fc00::1", "fd00:ec2::254", "fe80::1",
		"fe80::1%eth0", "::1%lo", "fec0::1", "ff02::1", "2001:db8::1",
		"100::1", "100:0:0:1::1", "2001:2::1", "2001:10::1", "5f00::1", "2a00:1450::5efe:192.168.0.1", "2a00:1450::200:5efe:10.0.0.1",
	}
	for _, s := range refused {
		if special(netip.MustParseAddr(s)) == "" {
			t.Errorf("%s is let through", s)
		}
	}
	for _, s := range []string{
		"1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1", "172.15.0.1", "172.32.0.1",
		"192.167.1.1", "192.169.0.1", "223.255.255.255", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2001:20::1", "2001:4:112::1", "2002:808:808::1", "2a00:1450::1",
	} {
		if kind := special(netip.MustParseAddr(s)); kind != "" {
			t.Errorf("%s is refused as %s", s, kind)
		}
	}
	if special(netip.Addr{}) == "" {
		t.Error("no address is let through")
	}
}

func TestGuardAtConnect(t *testing.T) {
	s := badserver.Start(t)
	port := s.Addr[strings.LastIndexByte(s.Addr, ':'):]
	tests := []struct {
		name  string
		o     Options
		url   string
		allow bool
	}{
		{"refused by default", Options{}, s.URL + "/ok", false},
		{"name that resolves to loopback", Options{}, "http://localhost" + port + "/ok", false},
		{"allowed for all", Options{AllowPrivate: true}, s.URL + "/ok", true},
		{"the job names the host", Options{AllowHosts: []string{"127.0.0.1"}}, s.URL + "/ok", true},
		{"the job names the host in capitals", Options{AllowHosts: []string{"LOCALHOST"}}, "http://localhost" + port + "/ok", true},
		{"the job names host and port", Options{AllowHosts: []string{s.Addr}}, s.URL + "/ok", true},
		{"the job names another port", Options{AllowHosts: []string{"127.0.0.1:1"}}, s.URL + "/ok", false},
		{"the job names another host", Options{AllowHosts: []string{"localhost"}}, s.URL + "/ok", false},
		{"decimal address", Options{}, "http://2130706433" + port + "/ok", false},
		{"mapped address", Options{}, "http://[::ffff:127.0.0.1]" + port + "/ok", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.Log())
			tt.o.Retries = -1
			_, err := newClient(t, tt.o).Do(context.Background(), Request{URL: mustURL(t, tt.url)}, nil)
			if tt.allow && err != nil || !tt.allow && !errors.Is(err, ErrForbiddenAddress) {
				t.Errorf("got %v", err)
			}
			if !tt.allow && len(s.Log()) != before {
				t.Error("the server was asked")
			}
			if Transient(err) {
				t.Error("would be retried")
			}
		})
	}
}

// A redirect to a private address is only a Location; asking for it meets the guard.
func TestGuardOnRedirectTarget(t *testing.T) {
	s := badserver.Start(t)
	c := newClient(t, Options{AllowHosts: []string{"127.0.0.1"}, Retries: -1})
	res, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/redirect-private")}, nil)
	if err != nil || res.Location.IsZero() {
		t.Fatal(err)
	}
	if _, err = c.Do(context.Background(), Request{URL: res.Location}, nil); !errors.Is(err, ErrForbiddenAddress) {
		t.Errorf("got %v", err)
	}
}

func FuzzSpecial(f *testing.F) {
	for _, s := range []string{"\x7f\x00\x00\x01", "\x00d\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x01"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ip, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		kind := special(ip)
		plain := ip.Unmap()
		if kind == "" && (plain.IsLoopback() || plain.IsPrivate() || plain.IsLinkLocalUnicast() || plain.IsMulticast() || plain.IsUnspecified()) {
			t.Errorf("%v is let through", ip)
		}
		if ip.Is4() && special(netip.AddrFrom16(ip.As16())) != kind {
			t.Errorf("%v: mapped is judged otherwise", ip)
		}
	})
}

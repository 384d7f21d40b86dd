// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestMotives(t *testing.T) {
	one := []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	near := []netip.Addr{netip.MustParseAddr("192.0.2.7")}
	far := []netip.Addr{netip.MustParseAddr("198.51.100.1")}
	for _, tc := range []struct {
		e    PairEvidence
		want string
	}{
		{PairEvidence{Host1: "a.test", Host2: "b.test", Level: Level1}, "[]"},
		{PairEvidence{Host1: "a.test", Host2: "b.test", Alias: true}, "[one host by two names]"},
		{PairEvidence{
			Host1: "www.example.org", Host2: "www.exmaple.org", Level: Mismatch,
		}, "[typo of a host name]"},
		{PairEvidence{
			Host1: "s7f3a91b2.shop.example.com", Host2: "s01c4e77d.shop.example.com", Level: Level2,
		}, "[session names]"},
		{PairEvidence{
			Host1: "s7f3a91b2.shop.example.com", Host2: "s01c4e77d.shop.example.com", Level: Mismatch,
		}, "[]"},
		{PairEvidence{
			Host1: "www1.example.com:8080", Host2: "www12.example.com:8080", Level: Level1,
		}, "[several servers]"},
		{PairEvidence{Host1: "fr.example.org", Host2: "de.example.org", Level: Level5}, "[language]"},
		{PairEvidence{Host1: "ftp.fr.example.org", Host2: "ftp.de.example.org", Level: Level1}, "[country]"},
		{PairEvidence{
			Host1:     "www.acme.org",
			Host2:     "acme.hoster.com",
			Level:     Level2,
			Addresses: [2][]netip.Addr{one, one},
		}, "[virtual host same address]"},
		{PairEvidence{
			Host1:     "a.example.org",
			Host2:     "b.example.com",
			Level:     Level2,
			Addresses: [2][]netip.Addr{one, near},
		}, "[same network]"},
		{PairEvidence{
			Host1:     "a.example.org",
			Host2:     "b.example.com",
			Level:     Level2,
			Addresses: [2][]netip.Addr{one, far},
		}, "[]"},
	} {
		if got := fmt.Sprint(tc.e.Motives()); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.e, got, tc.want)
		}
	}
}

func TestTypos(t *testing.T) {
	for _, tc := range []struct {
		one, two string
		want     bool
	}{
		{"www.example.org", "www.exmaple.org", true}, {"www.example.org", "wwwexample.org", true},
		{"www.example.org", "www.examle.org", true}, {"www.example.org", "www.examplle.org", true},
		{"www.example.org", "ww.example.org", true}, {"www.example.org:81", "www.wxample.org:81", true},
		{"www.example.org", "example.org", false}, {"fr.example.org", "br.example.org", false},
		{"mirror1.example.org", "mirror2.example.org", false},
		{"mirror-a.example.org", "mirror-b.example.org", false},
		{"archive.example.org", "archives.example.org", false},
		{"192.0.2.1", "192.0.2.11", false}, {"example.org", "example.com", false},
		{"a.example.org", "a.example.org", false}, {"", "", false}, {"x", "", false},
		{"www.example.org", "web.sample.org", false},
	} {
		for range 2 {
			if got := IsTypo(tc.one, tc.two); got != tc.want {
				t.Errorf("%s, %s: %v", tc.one, tc.two, got)
			}
			tc.one, tc.two = tc.two, tc.one
		}
	}
}

func TestStudyTables(t *testing.T) {
	var results []StudyResult
	for i := range 25 {
		r := StudyResult{"a.example.org", fmt.Sprintf("h%d.example.com", i), Level1}
		switch {
		case i == 3:
			r.Level = DNSFailure
		case i%5 == 4:
			r.Level = Mismatch
		case i == 6:
			r.Host1, r.Level = "192.0.2.1:80", Level4
		}
		results = append(results, r)
	}
	got := fmt.Sprintf("%+v", Tables(results))
	const want = "{Levels:[{Level:1 Pairs:18 Share:0.72} {Level:4 Pairs:1 Share:0.04} " +
		"{Level:mismatch Pairs:5 Share:0.2} {Level:DNS failure Pairs:1 Share:0.04}] " +
		"Domains:[{Domain1:com Domain2:org Pairs:18 Share:0.9473684210526315} " +
		"{Domain1:address Domain2:com Pairs:1 Share:0.05263157894736842}] " +
		"Ranks:[{Rank:10 Known:9 Mirrors:7 Precision:0.7777777777777778} " +
		"{Rank:20 Known:19 Mirrors:15 Precision:0.7894736842105263} " +
		"{Rank:25 Known:24 Mirrors:19 Precision:0.7916666666666666}]}"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := fmt.Sprint(Tables(nil)); got != "{[] [] []}" {
		t.Errorf("of nothing: %s", got)
	}
	many := Tables(make([]StudyResult, 120_000)).Ranks
	if len(many) != 14 || many[12].Rank != 100_000 || many[13].Precision != 0 {
		t.Errorf("of many: %+v", many)
	}
	for l := NoInformation; l <= Level5; l++ {
		if ParseLevel(l.String()) != l {
			t.Errorf("level %v", l)
		}
	}
}

// An address that many hosts have is that of a hoster, and says nothing.
func TestAddressPairs(t *testing.T) {
	addresses := map[string][]netip.Addr{}
	on := func(addr string, hosts ...string) {
		for _, h := range hosts {
			addresses[h] = append(addresses[h], netip.MustParseAddr(addr))
		}
	}
	on("192.0.2.1", "a", "b", "c")
	on("::ffff:192.0.2.2", "b", "d")
	on("192.0.2.2", "b")
	on("192.0.2.3", "a", "e", "f", "g", "h")
	if got := fmt.Sprint(AddressPairs(addresses, 4)); got != "[[b d] [a b] [a c] [b c]]" {
		t.Errorf("got %s", got)
	}
}

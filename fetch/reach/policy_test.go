// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	const ok = RefusalReason(99)
	policies := map[string]Policy{
		"none": {},
		"all":  {All: true},
		"job": {URLs: []Endpoint{
			{"10.0.0.5", 8080}, {"localhost", 80}, {"intranet", 80}, {"[::1]", 81}, {"wiki.corp.example", 80},
			{"[fd00::1]", 80}, {"0.0.0.0", 8000},
		}},
		"range": {Rules: rules(t, "10.0.0.0/8:80,443", "[fd00::/16]:443", "127.0.0.1")},
		"host":  {Rules: rules(t, "wiki.corp.example:80", "localhost:8080")},
	}
	tests := []struct {
		policy string
		host   string
		port   uint16
		addr   string // "" is behind a proxy
		past   bool
		want   RefusalReason
	}{
		{"none", "www.example.org", 80, "93.184.216.34", false, ok},
		{"none", "www.example.org", 80, "2606:2800:220:1::1", true, ok},
		{"none", "www.example.org", 80, "10.0.0.5", false, NotAllowed},
		{"none", "www.example.org", 80, "127.0.0.1", false, NotAllowed},
		{"none", "www.example.org", 80, "169.254.1.1", false, NotAllowed},
		{"none", "www.example.org", 80, "0.0.0.0", false, NotAllowed},
		{"none", "www.example.org", 80, "::", false, NotAllowed},
		{"none", "www.example.org", 80, "::1", false, NotAllowed},
		{"none", "www.example.org", 80, "::ffff:10.0.0.1", false, NotAllowed},
		{"none", "www.example.org", 80, "64:ff9b::a00:1", false, NotAllowed},
		{"none", "www.example.org", 80, "64:ff9b::808:808", false, ok},
		{"none", "www.example.org", 80, "2002:a00:1::1", false, NotAllowed},
		{"none", "www.example.org", 80, "2002:808:808::1", false, ok},
		{"none", "www.example.org", 80, "fd12::1", false, NotAllowed},
		{"none", "www.example.org", 80, "fe80::1%eth0", false, NotAllowed},
		{"none", "localhost", 80, "127.0.0.1", false, NotAllowed},
		{"none", "localhost.", 80, "", false, NotAllowed},
		{"none", "a.localhost", 80, "", false, NotAllowed},
		{"none", "intranet", 80, "", false, NotAllowed},
		{"none", "www.example.org.", 80, "", false, ok},

		{"job", "10.0.0.5", 8080, "10.0.0.5", false, ok},
		{"job", "10.0.0.5", 80, "10.0.0.5", false, NotAllowed},
		{"job", "10.0.0.6", 8080, "10.0.0.6", false, NotAllowed},
		{"job", "[::ffff:10.0.0.5]", 8080, "::ffff:10.0.0.5", false, ok},
		{"job", "evil.example", 8080, "10.0.0.5", false, NotAllowed}, // the address is the job's, the name is not
		{"job", "LOCALHOST.", 80, "127.0.0.1", false, ok},
		{"job", "localhost", 80, "::1", false, ok},
		{"job", "localhost", 80, "10.0.0.1", false, NotAllowed},
		{"job", "localhost", 8500, "127.0.0.1", false, NotAllowed},
		{"job", "127.0.0.1", 80, "127.0.0.1", false, NotAllowed},
		{"job", "::1", 81, "::1", false, ok},
		{"job", "::1", 80, "::1", false, NotAllowed},
		{"job", "intranet", 80, "192.168.1.1", false, ok},
		{"job", "Intranet.", 80, "192.168.1.1", false, ok},
		{"job", "intranet", 443, "192.168.1.1", false, NotAllowed},
		{"job", "intranet", 80, "192.168.1.1", true, MovedInside},
		{"job", "intranet", 80, "169.254.169.254", false, NeverReached},
		{"job", "intranet", 80, "", false, ok},
		{"job", "fd00::1", 80, "fd00::1", false, ok},
		{"job", "0.0.0.0", 8000, "0.0.0.0", false, ok},
		// a name with a dot is not private by itself
		{"job", "wiki.corp.example", 80, "10.0.0.7", false, NotAllowed},
		{"job", "wiki.corp.example", 80, "93.184.216.34", false, ok},

		{"range", "any.example", 443, "10.1.2.3", false, ok},
		{"range", "any.example", 443, "::ffff:10.1.2.3", false, ok},
		{"range", "any.example", 443, "64:ff9b::a01:203", false, ok},
		{"range", "any.example", 8080, "10.1.2.3", false, NotAllowed},
		{"range", "any.example", 443, "192.168.1.1", false, NotAllowed},
		{"range", "any.example", 443, "fd00::9", false, ok},
		{"range", "any.example", 443, "fd01::9", false, NotAllowed},
		{"range", "any.example", 443, "10.1.2.3", true, MovedInside},
		{"range", "any.example", 9, "127.0.0.1", false, ok},
		{"range", "any.example", 9, "127.0.0.2", false, NotAllowed},
		{"range", "10.1.1.1", 80, "", false, ok},

		{"host", "wiki.corp.example", 80, "10.0.0.7", false, ok},
		{"host", "WIKI.corp.example.", 80, "fd00::7", false, ok},
		{"host", "wiki.corp.example", 443, "10.0.0.7", false, NotAllowed},
		{"host", "x.wiki.corp.example", 80, "10.0.0.7", false, NotAllowed},
		{"host", "wiki.corp.example", 80, "10.0.0.7", true, MovedInside},
		{"host", "wiki.corp.example", 80, "169.254.169.254", false, NeverReached},
		{"host", "localhost", 8080, "127.0.0.1", false, ok},

		{"all", "any.example", 1, "127.0.0.1", false, ok},
		{"all", "any.example", 1, "127.0.0.1", true, MovedInside},
		{"all", "127.0.0.1", 1, "127.0.0.1", true, ok}, // an address has no past
		{"all", "any.example", 80, "169.254.169.254", false, NeverReached},
		{"all", "any.example", 80, "fd00:ec2::254", false, NeverReached},
		{"all", "any.example", 80, "100.100.100.200", false, NeverReached},
		{"all", "any.example", 80, "::ffff:169.254.169.254", false, NeverReached},
		{"all", "any.example", 80, "64:ff9b::a9fe:a9fe", false, NeverReached},
		{"all", "metadata.google.internal", 80, "10.0.0.1", false, NeverReached},
		{"all", "Metadata.Google.Internal.", 80, "", false, NeverReached},
		{"all", "169.254.169.254", 80, "", false, NeverReached},
		{"all", "169.254.1.1", 80, "169.254.1.1", false, ok},
	}
	for _, tt := range tests {
		target := Target{Endpoint: Endpoint{tt.host, tt.port}, WasPublic: tt.past}
		if tt.addr != "" {
			target.Addr = netip.MustParseAddr(tt.addr)
		}
		p, got := policies[tt.policy], ok
		var r *Refusal
		if err := p.Decide(target); errors.As(err, &r) {
			got = r.Why
		} else if err != nil {
			t.Fatal(err)
		}
		if got != tt.want {
			t.Errorf("%s: %s:%d at %q, public before: %v: %d, want %d (%v)", tt.policy, tt.host, tt.port, tt.addr,
				tt.past, got, tt.want, r)
		}
	}
}

func rules(t *testing.T, texts ...string) (out []Rule) {
	t.Helper()
	for _, s := range texts {
		r, err := ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// The refusal of a host of the job says which line to add to which file, that of a host which only a page
// links to does not.
func TestRefusalSays(t *testing.T) {
	inside := netip.MustParseAddr("10.0.0.7")
	job := Policy{URLs: []Endpoint{{"wiki.corp.example", 80}}, File: "jobs.d/wiki.toml"}
	for _, tt := range []struct {
		name   string
		policy Policy
		target Target
		want   string
	}{
		{"a line", job, Target{Endpoint{"wiki.corp.example", 80}, inside, false},
			`wiki.corp.example at 10.0.0.7 is a private address; add allow_private = ["wiki.corp.example:80"] to the table [polite] of jobs.d/wiki.toml`},
		{"another port of the host", job, Target{
			Endpoint{"wiki.corp.example", 443}, netip.MustParseAddr("fd00::7"), false,
		},
			`wiki.corp.example at fd00::7 is a unique-local address; if the job needs that port, add allow_private = ["wiki.corp.example:443"] to the table [polite] of jobs.d/wiki.toml`},
		{"a list", Policy{
			URLs:  job.URLs,
			File:  job.File,
			Rules: rules(t, "10.1.0.0/16:443,80", "[fd00::1]:8080"),
		}, Target{Endpoint{"wiki.corp.example", 80}, inside, false},
			`wiki.corp.example at 10.0.0.7 is a private address; change allow_private of the table [polite] in jobs.d/wiki.toml to ["10.1.0.0/16:80,443", "[fd00::1]:8080", "wiki.corp.example:80"]`},
		{"no file", Policy{URLs: job.URLs}, Target{Endpoint{"wiki.corp.example", 80}, inside, false},
			`wiki.corp.example at 10.0.0.7 is a private address; use --set 'polite.allow_private=["wiki.corp.example:80"]'`},
		{"moved inside", job, Target{Endpoint{"wiki.corp.example", 80}, inside, true},
			`wiki.corp.example at 10.0.0.7 is a private address; add allow_private = ["wiki.corp.example:80"] to the table [polite] of jobs.d/wiki.toml, and run mirrord forget --address wiki.corp.example: it was public before`},
		{"moved inside, allowed", Policy{All: true}, Target{Endpoint{"wiki.corp.example", 80}, inside, true},
			`wiki.corp.example at 10.0.0.7 is a private address now, but the name was public before; if it has moved inside for good, run mirrord forget --address wiki.corp.example`},
		{"a link", job, Target{
			Endpoint{"printer.corp.example", 80}, inside, false,
		}, `printer.corp.example at 10.0.0.7 is a private address that the job does not allow`},
		{"an address", job, Target{
			Endpoint{"0.0.0.0", 80}, netip.Addr{}, false,
		}, `0.0.0.0 is an unspecified address that the job does not allow`},
		{"metadata", job, Target{Endpoint{"wiki.corp.example", 80}, netip.MustParseAddr("169.254.169.254"), false},
			`wiki.corp.example at 169.254.169.254 is the metadata service of a cloud, which is never reached`},
	} {
		if err := tt.policy.Decide(tt.target); err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.name, err, tt.want)
		}
	}
}

func TestParseRule(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.0/8:80,443": "10.0.0.0/8:80,443", "10.0.0.0/8": "10.0.0.0/8",
		" 10.0.0.7:443, 80,443 ": "10.0.0.7:80,443", "10.0.0.7/32": "10.0.0.7", "fd00::/8": "fd00::/8",
		"fd00::/8:443": "[fd00::/8]:443", "[fd00::/8]:443": "[fd00::/8]:443", "[fd00::1]:80": "[fd00::1]:80",
		"fd00::1": "fd00::1", "::ffff:10.0.0.1": "10.0.0.1", "[::1]": "::1",
		"Host:8080": "host:8080", "wiki.corp.example.": "wiki.corp.example", "wiki_1.corp": "wiki_1.corp",
		"0.0.0.0/0": "0.0.0.0/0", "xn--bcher-kva.example:80": "xn--bcher-kva.example:80",
	} {
		r, err := ParseRule(in)
		if err != nil || r.String() != want {
			t.Errorf("%q: %q, %v, want %q", in, r, err, want)
			continue
		}
		if again, err := ParseRule(r.String()); err != nil || again.String() != want {
			t.Errorf("%q reads back as %q, %v", want, again, err)
		}
	}
	for in, want := range map[string]string{
		"": "neither", "http://host:8080/x": `write "host:8080"`, "*.corp.example:80": "neither",
		"host:": "no port", "host:0": "not a port", "host:70000": "not a port", "host:80-90": "not a port",
		"10.0.0.5/8": "write 10.0.0.0/8", "10.0.0.0/33": "range", "::ffff:10.0.0.0/104": "range",
		"[fd00::1": "bracket", "[fd00::1]80": "bracket", "169.254.169.254": "never",
		"169.254.169.254:80": "never", "[fd00:ec2::254]:80": "never", "metadata.google.internal:80": "never",
		"bücher.example:80": "neither", "a b:80": "neither", "10.0.0.0/8:": "no port",
	} {
		if r, err := ParseRule(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want an error with %q", in, r, err, want)
		}
	}
}

// The text of any rule parses to the same rule.
func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8:80,443", "[fd00::/8]:443", "host:8080", "::1", "[::1%eth0]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err != nil {
			return
		}
		again, err := ParseRule(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q becomes %q, then %q: %v", s, r, again, err)
		}
	})
}

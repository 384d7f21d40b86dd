// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mirrord/fetch/reach"
	"mirrord/site"
	"mirrord/testing/badserver"
)

// named is the policy of a job with these URLs.
func named(urls ...string) (p reach.Policy) {
	for _, s := range urls {
		u, err := url.Parse(s)
		if err != nil {
			panic(err)
		}
		port := uint64(80)
		if u.Port() != "" {
			port, _ = strconv.ParseUint(u.Port(), 10, 16)
		}
		p.URLs = append(p.URLs, reach.Endpoint{Host: u.Hostname(), Port: uint16(port)})
	}
	return p
}

// allowing is the policy of a job with this in polite.allow_private.
func allowing(t testing.TB, rules ...string) (p reach.Policy) {
	t.Helper()
	for _, s := range rules {
		r, err := reach.ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		p.Rules = append(p.Rules, r)
	}
	return p
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
		{"allowed for all", Options{Reach: reach.Policy{All: true}}, s.URL + "/ok", true},
		{"the job names host and port", Options{Reach: named(s.URL)}, s.URL + "/ok", true},
		{"written in another way", Options{Reach: named(s.URL)}, "http://[::ffff:127.0.0.1]" + port + "/ok", true},
		{"the job names localhost", Options{Reach: named("http://LOCALHOST" + port)},
			"http://localhost" + port + "/ok", true},
		{"the job names another port", Options{Reach: named("http://127.0.0.1:1")}, s.URL + "/ok", false},
		{"the job names another host", Options{Reach: named("http://localhost" + port)}, s.URL + "/ok", false},
		{"a range", Options{Reach: allowing(t, "127.0.0.0/8"+port)}, s.URL + "/ok", true},
		{"a range at other ports", Options{Reach: allowing(t, "127.0.0.0/8:1")}, s.URL + "/ok", false},
		{"a host", Options{Reach: allowing(t, "localhost"+port)}, "http://localhost" + port + "/ok", true},
		{"decimal address", Options{}, "http://2130706433" + port + "/ok", false},
		{"mapped address", Options{}, "http://[::ffff:127.0.0.1]" + port + "/ok", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.Log())
			tt.o.Retries = -1
			_, err := newClient(t, tt.o).Do(context.Background(), Request{URL: mustURL(t, tt.url)}, nil)
			if (tt.allow && err != nil) || (!tt.allow && !errors.Is(err, ErrForbiddenAddress)) {
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
	c := newClient(t, Options{Reach: named(s.URL), Retries: -1})
	res, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/redirect-private")}, nil)
	if err != nil || res.Location.IsZero() {
		t.Fatal(err)
	}
	if _, err = c.Do(context.Background(), Request{URL: res.Location}, nil); !errors.Is(err,
		ErrForbiddenAddress) {
		t.Errorf("got %v", err)
	}
}

// shifty is a network whose names change their addresses. All connections end at one server, regardless of
// their address.
type shifty struct {
	badserver.Names
	server string

	mu      sync.Mutex
	dialled []string
}

func (n *shifty) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	n.dialled = append(n.dialled, to.Addr().String())
	n.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, "tcp", n.server)
}

func (n *shifty) reached() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.dialled
	n.dialled = nil
	return out
}

// A name that changes its address between two requests leads nowhere that the policy does not allow, and one
// that was public stays so.
func TestGuardRebinding(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	const public4, public6 = "93.184.216.34", "2606:2800:220:1::1"
	tests := []struct {
		name    string
		policy  reach.Policy
		answers []string // of the lookups of the requests, in turn
		want    []string // where each connection goes; "" is a refusal
		why     reach.RefusalReason
	}{
		{"to loopback", reach.Policy{}, []string{public4, "127.0.0.1"}, []string{public4, ""}, reach.NotAllowed},
		{"to loopback, IPv6", reach.Policy{}, []string{public6, "::1"}, []string{public6, ""}, reach.NotAllowed},
		{"to a private address that the job allows", allowing(t, "10.0.0.0/8"), []string{public4, "10.0.0.1"},
			[]string{public4, ""}, reach.MovedInside},
		{"to a unique-local address that the job allows", allowing(t, "fd00::/8"), []string{public6, "fd00::1"},
			[]string{public6, ""}, reach.MovedInside},
		{"where everything is allowed", reach.Policy{All: true}, []string{public4, "127.0.0.1", "::1", public6},
			[]string{public4, "", "", public6}, reach.MovedInside},
		{"by a name that the job allows", allowing(t, "site.test:80"), []string{public4, "127.0.0.1"},
			[]string{public4, ""}, reach.MovedInside},
		{"the job names the host", named("http://site.test/"), []string{"127.0.0.1", public4, "::1"},
			[]string{"", public4, ""}, reach.NotAllowed},
		{"to a metadata service", reach.Policy{All: true},
			[]string{"169.254.169.254", "fd00:ec2::254", "::ffff:100.100.100.200", "64:ff9b::a9fe:a9fe",
				"2002:a9fe:a9fe::1"}, []string{"", "", "", "", ""}, reach.NeverReached},
		{"private from the beginning", allowing(t, "10.0.0.0/8"), []string{"10.0.0.1", public4, "10.0.0.1"},
			[]string{"10.0.0.1", public4, ""}, reach.MovedInside},
		{"both families at once", reach.Policy{}, []string{public4 + " ::1", "127.0.0.1 " + public6},
			[]string{public4, public6}, 0},
		{"private IPv4 beside global IPv6", allowing(t, "10.0.0.0/8"), []string{"10.0.0.1 " + public6, "10.0.0.1"},
			[]string{"10.0.0.1", "10.0.0.1"}, 0},
		{"public, then both", reach.Policy{All: true}, []string{public4, "10.0.0.1 " + public6},
			[]string{public4, public6}, 0},
		{"mapped", reach.Policy{}, []string{"::ffff:127.0.0.1", "::ffff:" + public4}, []string{"", public4},
			reach.NotAllowed},
		{"NAT64", reach.Policy{}, []string{"64:ff9b::7f00:1", "64:ff9b::5db8:d822"},
			[]string{"", "64:ff9b::5db8:d822"}, reach.NotAllowed},
		{"this network", reach.Policy{}, []string{"0.0.0.0", "::"}, []string{"", ""}, reach.NotAllowed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := &shifty{server: srv.Listener.Addr().String()}
			n.Name("site.test", tt.answers...)
			names := new(memoryNames)
			for i, want := range tt.want {
				c := newClient(t, Options{
					Reach:   tt.policy,
					Names:   names,
					Network: n,
					Retries: -1,
				}) // each a run of its own
				host := "site.test"
				_, err := c.Do(context.Background(), Request{URL: mustURL(t, "http://"+host+"/")}, nil)
				c.Close()
				got := strings.Join(n.reached(), " ")
				var r *reach.Refusal
				if got != want || (want != "") != (err == nil) ||
					(want == "" && (!errors.Is(err, ErrForbiddenAddress) || !errors.As(err, &r) || r.Why != tt.why)) {
					t.Errorf("request %d went to %q, want %q: %v", i+1, got, want, err)
				}
			}
		})
	}
}

// Names are remembered as they are compared: the trailing dot and the case make no other name.
func TestGuardRemembersNames(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	n := &shifty{server: srv.Listener.Addr().String()}
	n.Name("Site.TEST.", "93.184.216.34")
	n.Name("site.test", "10.0.0.1")
	g := NewGuard(Options{Reach: reach.Policy{All: true}, Network: n})
	conn, err := g.Dial(t.Context(), "tcp", "Site.TEST.:80")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, err := g.Dial(t.Context(), "tcp", "site.test:80"); !errors.Is(err, ErrForbiddenAddress) ||
		!strings.Contains(err.Error(), "mirrord forget --address site.test") {
		t.Errorf("%v", err)
	}
}

// broken is a memory that cannot be read or written.
type broken struct{}

func (broken) WasPublic(string) (bool, error) { return false, errors.New("disk gone") }
func (broken) KeepPublic(string) error        { return errors.New("disk gone") }

// Without a memory public addresses are reached, private ones of names are not.
func TestGuardWithoutMemory(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	n := &shifty{server: srv.Listener.Addr().String()}
	n.Name("a.test", "93.184.216.34")
	n.Name("b.test", "10.0.0.1")
	g := NewGuard(Options{Reach: reach.Policy{All: true}, Network: n, Names: broken{}})
	for addr, good := range map[string]bool{"a.test:80": true, "b.test:80": false, "10.0.0.1:80": true} {
		conn, err := g.Dial(t.Context(), "tcp", addr)
		if conn != nil {
			conn.Close()
		}
		if good != (err == nil) || (!good && !errors.Is(err, ErrForbiddenAddress)) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// A proxy resolves names itself: names that are private are refused here, and connections to the proxy
// are allowed at any address.
func TestGuardBehindProxy(t *testing.T) {
	for _, tt := range []struct {
		policy reach.Policy
		origin string
		good   bool
	}{
		{reach.Policy{}, "http://www.example.org", true},
		{reach.Policy{}, "http://intranet", false},
		{reach.Policy{}, "https://127.0.0.1:8443", false},
		{reach.Policy{}, "http://localhost", false},
		{reach.Policy{}, "http://[fd00::1]", false},
		{reach.Policy{All: true}, "http://metadata.google.internal", false},
		{reach.Policy{All: true}, "http://[fd00:ec2::254]", false},
		{reach.Policy{All: true}, "http://intranet:8080", true},
		{named("http://intranet:8080"), "http://intranet:8080", true},
		{named("http://intranet:8080"), "https://intranet", false},
		{allowing(t, "intranet:443"), "https://intranet", true},
		{allowing(t, "10.0.0.0/8:443"), "https://10.1.1.1", true},
	} {
		g := NewGuard(Options{Reach: tt.policy, Proxy: "http://10.0.0.9:3128"})
		u, _, err := site.Parse(tt.origin)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Check(u); tt.good != (err == nil) ||
			(!tt.good && !errors.Is(err, ErrForbiddenAddress)) {
			t.Errorf("%s with %+v: %v", tt.origin, tt.policy, err)
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	n := &shifty{server: srv.Listener.Addr().String()}
	n.Name("proxy", "10.0.0.9")
	n.Name("cloud", "169.254.169.254")
	g := NewGuard(Options{Proxy: "http://proxy:3128", Network: n})
	conn, err := g.Dial(t.Context(), "tcp", "proxy:3128")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, err := g.Dial(t.Context(), "tcp", "cloud:80"); !errors.Is(err, ErrForbiddenAddress) {
		t.Errorf("a metadata service as proxy: %v", err)
	}
}

// The families take turns, and the first that answers wins.
func TestInTurn(t *testing.T) {
	var in []netip.AddrPort
	for _, s := range []string{
		"[2001:db8::1]:80", "[2001:db8::2]:80", "[2001:db8::3]:80", "192.0.2.1:80", "192.0.2.2:80",
	} {
		in = append(in, netip.MustParseAddrPort(s))
	}
	want := "[[2001:db8::1]:80 192.0.2.1:80 [2001:db8::2]:80 192.0.2.2:80 [2001:db8::3]:80]"
	if got := fmt.Sprint(inTurn(in)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := inTurn(slices.Repeat(in, 10)); len(got) != maxAddresses {
		t.Errorf("%d addresses", len(got))
	}
}

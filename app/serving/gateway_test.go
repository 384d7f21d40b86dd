// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/replicas"
	"mirrord/serve"
	"mirrord/store/shared"
	"mirrord/testing/apptest"
)

// A gateway uses what a test of late found: whole places, of others the paths that are equal; and nothing of
// a test that is old, not sure, or of one host by two names.
func TestGatewaySites(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	const base = "http://one.test/"
	reg := &replicas.Registry{Made: now, Mirrors: []replicas.RegistryMirror{{Job: "one",
		Prefixes: []string{base}}}}
	var pairs []shared.PairRecord
	for i, change := range []func(p *shared.PairRecord){
		func(p *shared.PairRecord) { p.Level, p.Equal = "1", true },
		func(p *shared.PairRecord) { p.Level, p.Equal, p.Tested = "1", true, now.Add(-31*24*time.Hour) },
		func(p *shared.PairRecord) {},
		func(p *shared.PairRecord) { p.Tested = now.Add(-31 * 24 * time.Hour) },
		func(p *shared.PairRecord) { p.Confident = false },
		func(p *shared.PairRecord) { p.Alias = true },
		func(p *shared.PairRecord) { p.RootOnly = true },
		func(p *shared.PairRecord) { p.SamePaths = nil },
		func(p *shared.PairRecord) { p.Level = "5" },
		func(p *shared.PairRecord) { p.Level, p.Mirrors = "mismatch", false },
	} {
		p := shared.PairRecord{
			Base1:     base,
			Base2:     fmt.Sprintf("http://%d.test/", i),
			Tested:    now.Add(-time.Hour),
			Level:     "4",
			Mirrors:   true,
			Confident: true,
			SamePaths: []string{"/same.html"},
		}
		change(&p)
		pairs = append(pairs, p)
	}
	reg.Link(pairs)
	got := gatewaySites(reg)[0].Same
	want := []serve.GatewayPlace{
		{Of: base, At: "http://0.test/"},
		{Of: base, At: "http://2.test/", Only: []string{"/same.html"}},
	}
	if !slices.EqualFunc(got, want, func(a, b serve.GatewayPlace) bool {
		return a.Of == b.Of && a.At == b.At && slices.Equal(a.Only, b.Only)
	}) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// publicNames are names that a server remembers to be public.
type publicNames struct{}

func (publicNames) WasPublic(string) (bool, error) { return true, nil }

func (publicNames) KeepPublic(string) error { return nil }

// A place that was public when it was tested and has an address in our network since gets no request there,
// regardless of the registry.
func TestGatewayReachesNothingInside(t *testing.T) {
	var reached atomic.Int64
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inner.Close()
	a := apptest.TestApp(t.TempDir())
	hosts := apptest.NamedHosts{Addrs: map[string]string{}, Server: inner.Listener.Addr().String()}
	a.Network = hosts
	forward, done, err := Forwarding(a, publicNames{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	get := func(url string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := forward.Transport("one").RoundTrip(req)
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	for _, addr := range []string{
		"127.0.0.1", "10.1.2.3", "192.168.1.1", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.1", "0.0.0.0",
	} {
		hosts.Addrs["eq.example.org"] = netip.MustParseAddr(addr).String()
		if err := get("http://eq.example.org/x"); err == nil || reached.Load() > 0 {
			t.Errorf("%s: %v, %d requests", addr, err, reached.Load())
		}
	}
	hosts.Addrs["eq.example.org"] = "93.184.216.34"
	if err := get("http://eq.example.org/x"); err != nil || reached.Load() != 1 {
		t.Errorf("a public address: %v, %d requests", err, reached.Load())
	}
}

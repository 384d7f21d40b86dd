// SPDX-License-Identifier: Apache-2.0

package runs_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/job"
	"mirrord/testing/apptest"
)

// An error that prevents a first get is one line with the remedy and leaves nothing behind; an entry
// point that redirects to a near place is followed, one that redirects to another host is named with the
// command to type.
func TestGetThatCannotBegin(t *testing.T) {
	page := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<title>x</title><p>here"))
		case "/login":
			w.WriteHeader(http.StatusUnauthorized)
		case "/empty":
			w.Header().Set("Content-Type", "text/html")
		default:
			http.NotFound(w, r)
		}
	}
	there := httptest.NewServer(http.HandlerFunc(page))
	defer there.Close()
	far := strings.Replace(there.URL, "127.0.0.1", "localhost", 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/near":
			http.Redirect(w, r, there.URL+"/", http.StatusFound)
		case "/far":
			http.Redirect(w, r, far+"/", http.StatusFound)
		default:
			page(w, r)
		}
	}))
	defer srv.Close()
	banned := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write([]byte("User-agent: *\nDisallow: /\n"))
	}))
	defer banned.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(page))
	defer secure.Close()
	silent := httptest.NewServer(http.HandlerFunc(page))
	silent.Close()
	for _, c := range []struct{ url, want, warns string }{
		{silent.URL + "/", "the host does not answer (connection refused); look at its spelling", ""},
		{srv.URL + "/none", "the site has no such page; look", ""},
		{srv.URL + "/login", "the site wants a login (status 401); --set auth.user", ""},
		{srv.URL + "/empty", "the site answers with an empty page; look", ""},
		{banned.URL + "/", "its robots.txt forbids that; ask its owner", ""},
		{secure.URL + "/", "its certificate is not accepted; --set tls.ca_file", ""},
		{srv.URL + "/far", "mirrord get " + far + "/", ""},
		{srv.URL + "/near", "", "redirects to " + there.URL + "/, which is mirrored"},
	} {
		dir := t.TempDir()
		var warned []string
		a := apptest.TestApp("")
		a.Warn = func(line string) { warned = append(warned, line) }
		j := job.Default(c.url)
		j.Name, j.Polite.Delay = job.NameFor(j.Seeds()[0]), 0
		out := filepath.Join(dir, "out")
		_, err := runs.Get(t.Context(), a, runs.GetRequest{Job: j, Out: out})
		entries, rerr := os.ReadDir(dir)
		if rerr != nil {
			t.Fatal(rerr)
		}
		if c.want == "" {
			if err != nil || len(entries) != 2 || !strings.Contains(strings.Join(warned, "\n"), c.warns) {
				t.Errorf("%s: %v, %d entries, warned %q", c.url, err, len(entries), warned)
			}
			continue
		}
		known, ok := errors.AsType[*env.Error](err)
		if !ok || known.Kind != env.Failed || !known.Whole || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.url, err, c.want)
		}
		if len(entries) != 0 || len(warned) != 0 {
			t.Errorf("%s: left %v, warned %q", c.url, entries, warned)
		}
	}
}

// What an earlier run has fetched is never removed by one that cannot begin.
func TestGetThatCannotGoOnKeepsItsWork(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, ".out.mirrord")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	j := job.Default(srv.URL + "/none")
	j.Name, j.Polite.Delay = "x", 0
	if _, err := runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: j, Out: filepath.Join(dir,
		"out")}); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(work); err != nil {
		t.Error(err)
	}
}

// privateNames is a network in which every name has a private address.
type privateNames struct{}

func (privateNames) Lookup(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
}

func (privateNames) Connect(context.Context, netip.AddrPort) (net.Conn, error) {
	return nil, errors.New("connected to a private address")
}

// A host that may not be reached is one line too, with what allows it.
func TestGetOfAPrivateAddress(t *testing.T) {
	dir := t.TempDir()
	a := apptest.TestApp("")
	a.Network = privateNames{}
	j := job.Default("http://wiki.corp.example/")
	j.Name, j.Polite.Delay = "x", 0
	_, err := runs.Get(t.Context(), a, runs.GetRequest{Job: j, Out: filepath.Join(dir, "out")})
	const want = "http://wiki.corp.example/: wiki.corp.example at 10.0.0.7 is a private address; " +
		"use --set 'polite.allow_private=[\"wiki.corp.example:80\"]'"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if left := apptest.EntriesOf(t, dir); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

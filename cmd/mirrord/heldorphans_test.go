// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/cmd/mirrord/cli"
)

// Pages that nothing links to now are shown as removed while they wait, and accept removes just that.
func TestHeldOrphansAreShown(t *testing.T) {
	t.Parallel()
	var links atomic.Int64
	links.Store(20)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			fmt.Fprintf(rw, "<title>%d</title>", links.Load())
			for i := range links.Load() {
				fmt.Fprintf(rw, "<a href=docs/p%d.html>%d</a> ", i, i)
			}
			return
		}
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		fmt.Fprintf(rw, "<title>%s</title>", r.URL.Path)
	}))
	t.Cleanup(srv.Close)
	jobs, state := jobsFor(t, srv.URL+"/"), t.TempDir()
	do := func(code int, want string, args ...string) {
		t.Helper()
		got, out, errs := runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
		if (got != code) || !strings.Contains(out+errs, want) {
			t.Fatalf("%v: exit code %d, want %d with %q\n%s%s", args, got, code, want, out, errs)
		}
	}
	const lost = "0 added, 1 changed, 15 removed; "
	do(cli.ExitOK, "version 1 published", "run-now", "demo")
	later := filepath.Join(jobs, "later.toml")
	if err := os.WriteFile(later, []byte(fmt.Sprintf("url = %q\n", srv.URL+"/later/")), 0o644); err != nil {
		t.Fatal(err)
	}
	do(cli.ExitError, "later has not run yet: mirrord run-now later ", "status", "later", "--versions")
	links.Store(5)
	do(cli.ExitSuspicious, "15 of 21 resources are no longer linked", "run-now", "demo", "--full")
	do(cli.ExitOK, "demo: held for review: "+lost, "diff", "demo")
	do(cli.ExitSuspicious, "15 of 21 resources are no longer linked", "run-now", "demo")
	do(cli.ExitOK, "demo: held for review: "+lost, "diff", "demo", "--held")
	do(cli.ExitOK, "\nPages that link to what comes or goes get other links", "diff", "demo", "--held")
	do(cli.ExitOK, "15", "diff", "demo", "docs/", "--held")
	do(cli.ExitOK, lost, "accept", "demo")
	do(cli.ExitOK, "demo: from version 1 to 2: "+lost, "diff", "demo")
	links.Store(0) // what was accepted is no part of what waits next
	do(cli.ExitSuspicious, "5 of 6 resources are no longer linked", "run-now", "demo", "--full")
	do(cli.ExitOK, "demo: held for review: 0 added, 1 changed, 5 removed; ", "diff", "demo")
	links.Store(5)
	do(cli.ExitOK, "", "run-now", "demo", "--full")
	do(cli.ExitError, "nothing is held for review", "diff", "demo", "--held")
}

// A run that is held back because its entry points are gone looks at no links. What accept publishes then is
// what it shows: pages that lost their last link leave in a later run, which judges them.
func TestAcceptDropsWhatItShows(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		hub := r.URL.Path == "/a/hub.html"
		if (r.URL.Path == "/robots.txt") || (gone.Load() && strings.HasSuffix(r.URL.Path, "/")) {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>%s</title><a href=/a/hub.html>hub</a>", r.URL.Path)
		for i := range 6 {
			if hub && !gone.Load() {
				fmt.Fprintf(rw, "<a href=p%d.html>%d</a> ", i, i)
			}
		}
	}))
	t.Cleanup(srv.Close)
	jobs, state := jobsFor(t, srv.URL+"/a/"), t.TempDir()
	const job = "url = [%q, %q]\npolite = { delay = \"0s\", factor = 0 }\n"
	text := fmt.Sprintf(job, srv.URL+"/a/", srv.URL+"/b/")
	if err := os.WriteFile(filepath.Join(jobs, "demo.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	do := func(code int, want string, args ...string) {
		t.Helper()
		got, out, errs := runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
		if (got != code) || !strings.Contains(out+errs, want) {
			t.Fatalf("%v: exit code %d, want %d with %q\n%s%s", args, got, code, want, out, errs)
		}
	}
	do(cli.ExitOK, "version 1 published", "run-now", "demo")
	gone.Store(true)
	do(cli.ExitSuspicious, "the entry point "+srv.URL+"/a/: failed (status 404", "run-now", "demo", "--full")
	do(cli.ExitOK, "0 added, 1 changed, 0 removed; ", "diff", "demo", "--held")
	do(cli.ExitOK, "0 added, 1 changed, 0 removed\n", "accept", "demo")
}

// While a run is held, explain says that the published version still has a page that the site has not.
func TestExplainWhileHeld(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if (r.URL.Path == "/robots.txt") || (gone.Load() && r.URL.Path != "/") {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>%s</title>", r.URL.Path)
		for i := range 6 {
			fmt.Fprintf(rw, "<a href=/p%d.html>%d</a> ", i, i)
		}
	}))
	t.Cleanup(srv.Close)
	jobs, state := jobsFor(t, srv.URL+"/"), t.TempDir()
	do := func(code int, args ...string) string {
		t.Helper()
		got, out, errs := runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
		if got != code {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, got, code, out, errs)
		}
		return out
	}
	do(cli.ExitOK, "run-now", "demo")
	gone.Store(true)
	do(cli.ExitOK, "run-now", "demo", "--full") // the first sight
	do(cli.ExitSuspicious, "run-now", "demo", "--full")
	const has = "not mirrored: gone, status 404; version 1, which stays published, has it\n"
	if out := do(cli.ExitOK, "explain", "demo", srv.URL+"/p3.html"); !strings.Contains(out, has) {
		t.Errorf("held: %s", out)
	}
	do(cli.ExitOK, "accept", "demo")
	if out := do(cli.ExitOK, "explain", "demo", srv.URL+"/p3.html"); strings.Contains(out, "has it") {
		t.Errorf("accepted: %s", out)
	}
}

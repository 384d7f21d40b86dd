// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/cmd/mirrord/cli"
)

// A site that loses most of its pages and gains one: accept --keep publishes what came, and later runs keep
// what went, until accept lets it go. The daemon does it as the command does.
func TestAcceptKeep(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if (r.URL.Path == "/robots.txt") || ((r.URL.Path == "/new.html") != gone.Load() && r.URL.Path != "/") {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>%s</title><a href=/new.html>new</a>", r.URL.Path)
		for i := range 6 {
			fmt.Fprintf(rw, "<a href=/p%d.html>%d</a> ", i, i)
		}
	}))
	t.Cleanup(srv.Close)
	d := startDaemon(t, jobsFor(t, srv.URL+"/"), t.TempDir())
	d.do(cli.ExitOK, "version 1 published", "run-now", "demo")
	gone.Store(true)
	d.do(cli.ExitOK, "", "run-now", "demo", "--full") // the first sight
	d.do(cli.ExitSuspicious, "accept demo, with --keep to keep what it lost", "run-now", "demo", "--full")
	d.do(cli.ExitOK, "complete but for 1 accepted as missing", "accept", "demo", "--keep", "--yes")
	d.do(cli.ExitOK, `"kept": 6`, "status", "demo", "--json")
	d.do(cli.ExitOK, "kept although the site answers with status 404", "status", "demo")
	d.do(cli.ExitOK, "complete but for 1 accepted as missing", "run-now", "demo", "--full")
	var asked bytes.Buffer
	e := cli.Environ{
		Stdin:     strings.NewReader("n\n"),
		Stderr:    &asked,
		Asks:      true,
		LookupEnv: vars(),
	}
	err := (&cli.CLI{Environ: e, JobsFlag: d.jobs, StateFlag: d.state}).ConfirmAccept("demo", false, false, true)
	if err == nil || !strings.Contains(asked.String(), "6 files that the site no longer has will be removed") {
		t.Errorf("%v: %s", err, asked.String())
	}
	d.do(cli.ExitOK, "0 added, 2 changed, 6 removed", "accept", "demo", "--yes")
	d.do(cli.ExitError, "nothing is held for review", "accept", "demo", "--yes")
}

// What the site lost, and pages reached through that alone, stay: both are in the version that accept
// --keep publishes, and in those of later runs. Where the lost pages are few enough for each rule alone, and
// too many together, the run has let those without links go already.
func TestAcceptKeepsChain(t *testing.T) {
	t.Parallel()
	for _, pages := range []int{7, 6} {
		var gone atomic.Bool
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			n := 0
			_, err := fmt.Sscanf(r.URL.Path, "/p%d.html", &n)
			if (err != nil && r.URL.Path != "/") || (gone.Load() && n == 2) {
				http.NotFound(rw, r)
				return
			}
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(rw, "<title>%d</title>", n)
			if n < pages-1 {
				fmt.Fprintf(rw, "<a href=/p%d.html>next</a>", n+1)
			}
		}))
		t.Cleanup(srv.Close)
		d := startDaemon(t, jobsFor(t, srv.URL+"/"), t.TempDir())
		all := fmt.Sprintf("mirror: %d files", pages)
		d.do(cli.ExitOK, all, "run-now", "demo")
		gone.Store(true)
		d.do(cli.ExitOK, "", "run-now", "demo") // the first sight
		d.do(cli.ExitSuspicious, "with --keep to keep what it lost", "run-now", "demo")
		d.do(cli.ExitSuspicious, "", "run-now", "demo")
		d.do(cli.ExitOK, all, "accept", "demo", "--keep", "--yes")
		d.do(cli.ExitOK, all, "run-now", "demo", "--full")
		d.do(cli.ExitOK, all, "run-now", "demo")
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/mirror"
	"mirrord/scheduler/status"
)

// brokenSite is a site of 20 pages, of which every other one fails as long as broken says so: so many of
// them.
func brokenSite(t *testing.T, broken *atomic.Int64) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		var n int64
		switch _, err := fmt.Sscanf(r.URL.Path, "/p%d.html", &n); {
		case r.URL.Path == "/":
			for i := range 20 {
				fmt.Fprintf(rw, "<a href=p%d.html>%d</a> ", i, i)
			}
		case err != nil:
			http.NotFound(rw, r)
		case (n%2 == 1 && n < 2*broken.Load()) || (n%2 == 0 && n < 2*(broken.Load()-10)):
			rw.WriteHeader(500)
		default:
			fmt.Fprintf(rw, "<title>%d</title>page %d", n, n)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

// A run with new gaps publishes and exits with 6; status lists missing resources; accept makes them known,
// and from then on runs exit with 0 until something new is missing.
func TestGapsExitCode(t *testing.T) {
	t.Parallel()
	var broken atomic.Int64
	broken.Store(6)
	srv := brokenSite(t, &broken)
	jobs, state := jobsFor(t, srv.URL+"/"), t.TempDir()
	do := func(code int, want string, args ...string) string {
		t.Helper()
		got, out, errs := runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
		if (got != code) || !strings.Contains(out+errs, want) {
			t.Fatalf("%v: exit code %d, want %d with %q\n%s%s", args, got, code, want, out, errs)
		}
		return out
	}
	quick := []string{"--set", "limits.retries=0", "--full"}
	again := func(code int, want string) {
		t.Helper()
		do(code, want, append([]string{"run-now", "demo"}, quick...)...)
	}
	again(cli.ExitGaps, "demo: some resources are missing, version 1 published")
	do(cli.ExitOK, "demo: missing: 1 new (since ", "status", "demo")
	do(cli.ExitOK, "missing: "+srv.URL+" (6 URLs, such as "+srv.URL+"/p1.html), since ", "status", "demo")
	do(cli.ExitOK, "fix: nothing, each run tries again; to accept missing resources: mirrord accept demo",
		"status", "demo")
	var list []status.Job
	if err := json.Unmarshal([]byte(do(cli.ExitOK, "", "status", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	isListed := (len(list) == 1) && (list[0].Health == status.Gaps) && (list[0].Last.Gaps == 1)
	if !isListed || (list[0].Failures != 0) {
		t.Errorf("%+v", list)
	}
	do(cli.ExitOK, "complete but for 1 accepted as missing (since ", "accept", "demo")
	do(cli.ExitError, "nothing is held for review", "accept", "demo")
	again(cli.ExitOK, "complete but for 1 accepted as missing (since ")
	do(cli.ExitOK, "demo: ok but for 1 accepted as missing (since ", "status", "demo")
	broken.Store(10)
	again(cli.ExitGaps, "could not be had")
	broken.Store(0)
	again(cli.ExitOK, "demo: complete, version 2 published")
}

// A first version of less than half waits for accept; a get is complete with gaps, and says so.
func TestGapsOfGet(t *testing.T) {
	t.Parallel()
	var broken atomic.Int64
	broken.Store(8)
	srv := brokenSite(t, &broken)
	out := filepath.Join(t.TempDir(), "site")
	args := []string{"get", srv.URL + "/", "-o", out, "--set", "polite.delay=0s", "--set", "polite.factor=0",
		"--set", "limits.retries=0"}
	code, said, errs := runArgs(t, nil, args...)
	if (code != cli.ExitGaps) || !strings.Contains(said, "open: "+filepath.Join(out, "index.html")) {
		t.Errorf("exit code %d: %s%s", code, said, errs)
	}
	if _, err := os.Stat(filepath.Join(out, "p0.html")); err != nil {
		t.Error(err)
	}

	broken.Store(13)
	args[3] = filepath.Join(t.TempDir(), "half.phm")
	code, said, errs = runArgs(t, nil, append(args, "--json")...)
	var sum mirror.Summary
	if err := json.Unmarshal([]byte(said), &sum); (err != nil) || (code != cli.ExitPartial) || !sum.Gaps.Hold {
		t.Errorf("exit code %d, %v: %s%s", code, err, said, errs)
	}
	code, said, errs = runArgs(t, nil, append(args, "--accept")...)
	if (code != cli.ExitOK) || !strings.Contains(said, "complete but for ") {
		t.Errorf("exit code %d: %s%s", code, said, errs)
	}
	if _, err := os.Stat(args[3]); err != nil {
		t.Error(err)
	}
}

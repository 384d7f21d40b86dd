// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
)

// A job is renamed and removed beside a daemon: not during a run, and what the daemon knows of the job
// goes with the name.
func TestDaemonRenameRemove(t *testing.T) {
	site := demosite.New()
	gate, asked := make(chan struct{}), make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-gate
		site.ServeHTTP(w, r)
	}))
	defer srv.Close()
	jobs, state := jobsFor(t, srv.URL+"/about/"), t.TempDir()
	d := startDaemon(t, jobs, state)
	d.do(cli.ExitOK, "demo: started", "run-now", "demo", "--wait=false")
	<-asked
	d.do(cli.ExitLocked, "a run of demo is in progress", "rename", "demo", "other")
	d.do(cli.ExitLocked, "a run of demo is in progress", "remove", "demo", "--yes")
	close(gate)
	d.do(cli.ExitOK, "version 1 published|nothing changed|no change found", "run-now", "demo")
	d.do(cli.ExitOK, "paused", "pause", "demo")
	d.do(cli.ExitOK, "^demo is now other$", "rename", "demo", "other")
	d.do(cli.ExitOK, "other +paused|other: .*paused", "status", "other")
	d.do(cli.ExitUsage, "no such job", "run-now", "demo")
	d.do(cli.ExitOK, "resumed", "resume", "other")
	d.do(cli.ExitOK, "nothing changed|no change found", "run-now", "other")
	d.do(cli.ExitOK, "^other: removed$", "remove", "other", "--yes")
	for _, left := range []string{filepath.Join(jobs, "other.toml"), filepath.Join(state, "sites", "other")} {
		if _, err := os.Lstat(left); err == nil {
			t.Errorf("%s is left", left)
		}
	}
	d.do(cli.ExitUsage, "no such job", "status", "other")
}

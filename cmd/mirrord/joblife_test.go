// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"mirrord/internal/demosite"
)

// A job is renamed and removed beside a daemon: not while a run goes on, and what the daemon knows of the job
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
	d.do(exitOK, "demo: started", "run-now", "demo", "--wait=false")
	<-asked
	d.do(exitLocked, "a run of demo is in progress", "rename", "demo", "other")
	d.do(exitLocked, "a run of demo is in progress", "remove", "demo", "--yes")
	close(gate)
	d.do(exitOK, "version 1 published|nothing changed|no change found", "run-now", "demo")
	d.do(exitOK, "paused", "pause", "demo")
	d.do(exitOK, "^demo is now other$", "rename", "demo", "other")
	d.do(exitOK, "other +paused|other: .*paused", "status", "other")
	d.do(exitUsage, "no such job", "run-now", "demo")
	d.do(exitOK, "resumed", "resume", "other")
	d.do(exitOK, "nothing changed|no change found", "run-now", "other")
	d.do(exitOK, "^other: removed$", "remove", "other", "--yes")
	for _, left := range []string{filepath.Join(jobs, "other.toml"), filepath.Join(state, "sites", "other")} {
		if _, err := os.Lstat(left); err == nil {
			t.Errorf("%s is left", left)
		}
	}
	d.do(exitUsage, "no such job", "status", "other")
}

// A rollback beside a daemon: its status is right at once, its next run holds back what was rejected.
func TestDaemonRollback(t *testing.T) {
	site := demosite.New()
	srv := httptest.NewServer(site)
	defer srv.Close()
	d := startDaemon(t, jobsFor(t, srv.URL+"/"), t.TempDir())
	d.do(exitOK, "version 1 published", "run-now", "demo")
	site.SetVersion(2)
	d.do(exitOK, "version 2 published", "run-now", "demo", "--full")
	d.do(exitOK, "^demo: rolled back to 1, version 3 published", "rollback", "demo")
	d.do(exitOK, "(?s)^demo: ok, rolled back to 1\n.*version 3, published", "status", "demo")
	d.do(exitOK, "(?m)^demo +ok, rolled back to 1 +3 ", "status")
	d.do(exitOK, "version 3 stays published", "run-now", "demo")
	d.do(exitOK, "(?s)^demo: ok, rolled back to 1\n.*mirrord accept demo", "status", "demo")
	d.do(exitOK, "version 4 published", "accept", "demo")
	d.do(exitOK, "(?s)^demo: ok\n.*version 4, published", "status", "demo")
}

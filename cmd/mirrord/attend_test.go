// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
)

// What systemd shows of the daemon follows its state, and not only with the watchdog.
func TestStatusLineFollowsTheState(t *testing.T) {
	gate := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-gate
		http.NotFound(w, r)
	}))
	defer srv.Close()
	jobs, state := t.TempDir(), t.TempDir()
	put(t, jobs, "a.toml", fmt.Sprintf("url = %q\n", srv.URL+"/"))
	d := startDaemon(t, jobs, state)
	says := func(line string) {
		t.Helper()
		late := time.After(time.Minute)
		for {
			select {
			case said := <-d.words:
				if strings.HasPrefix(said, "STATUS="+line) {
					return
				}
			case <-late:
				t.Fatalf("nothing says %q", line)
			}
		}
	}
	d.do(cli.ExitOK, "", "run-now", "a", "--wait=false")
	says("1 job, 1 running")
	close(gate)
	says("1 job, 0 running")
	d.do(cli.ExitOK, "", "pause", "a")
	says("1 job, 0 running, 1 paused")
}

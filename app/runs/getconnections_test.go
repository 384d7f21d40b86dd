// SPDX-License-Identifier: Apache-2.0

package runs_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/runs"
	"mirrord/testing/apptest"
)

// crowd answers no page before so many of them are requested at a time.
type crowd struct {
	size int

	mu      sync.Mutex
	waiting int
	open    chan struct{}
	failed  atomic.Bool
}

func (c *crowd) wait() {
	c.mu.Lock()
	gate := c.open
	if c.waiting++; c.waiting == c.size {
		c.waiting, c.open = 0, make(chan struct{})
		close(gate)
	}
	c.mu.Unlock()
	select {
	case <-gate:
	case <-time.After(time.Minute):
		c.failed.Store(true)
	}
}

// As many connections as the job allows are used, and kept for what comes next.
func TestAllConnectionsAreUsed(t *testing.T) {
	const connections, rounds = 100, 4
	c := &crowd{size: connections, open: make(chan struct{})}
	var entry strings.Builder
	for i := range connections * rounds {
		fmt.Fprintf(&entry, "<a href=/page/%d>%d</a>", i, i)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/":
			fmt.Fprint(w, entry.String())
		case strings.HasPrefix(r.URL.Path, "/page/"):
			c.wait()
			fmt.Fprintf(w, "<title>%s</title>", r.URL.Path)
		default:
			http.NotFound(w, r)
		}
	}))
	var made atomic.Int64
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			made.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	j := apptest.GetJob(srv.URL + "/")
	j.Polite.Connections = connections
	if err := j.Set("polite.timeout", "5m"); err != nil {
		t.Fatal(err)
	}
	sum, err := runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: j,
		Out: filepath.Join(t.TempDir(), "out")})
	if err != nil || sum.Files != connections*rounds+1 {
		t.Fatalf("%v, %+v", err, sum)
	}
	if c.failed.Load() {
		t.Errorf("the site never had %d requests at a time", connections)
	}
	if n := made.Load(); n > connections+8 {
		t.Errorf("%d connections were made", n)
	}
}

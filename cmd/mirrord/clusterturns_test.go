// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lentSite is a site whose page shows images that lie on all others.
type lentSite struct {
	others []string // images

	mu    sync.Mutex
	last  time.Time
	least time.Duration     // between two requests
	by    map[string]string // what each path was requested by
}

// ServeHTTP implements http.Handler.
func (s *lentSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	node, _ := r.Context().Value(nodeKey{}).(string)
	s.mu.Lock()
	now := time.Now()
	if d := now.Sub(s.last); !s.last.IsZero() && (s.least == 0 || d < s.least) {
		s.least = d
	}
	s.last, s.by[r.URL.Path] = now, node
	s.mu.Unlock()
	switch {
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>a page</title>")
		for _, image := range s.others {
			fmt.Fprintf(w, `<img src="%s">`, image)
		}
	case strings.HasSuffix(r.URL.Path, ".svg"):
		w.Header().Set("Content-Type", "image/svg+xml")
		fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg"/>`)
	default:
		http.NotFound(w, r)
	}
}

// Images on hosts that another node has come in the same run, in turns that it lends, and no host sees two
// requests within the gap, from any node.
func TestClusterTurns(t *testing.T) {
	long(t, "a minute")
	const delay = 250 * time.Millisecond
	w := newClusterWorld(t, 0, 1, "")
	w.start("a", "b")
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) { // else the first one has all sites
		if s, err := w.status(); err == nil && len(s.Nodes) == 2 {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatal("two nodes do not come")
		}
	}
	var sites []*lentSite
	var addresses []string
	for i := range 4 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.40.%d:0", 1+i))
		if err != nil {
			t.Fatal(err)
		}
		s := &lentSite{by: map[string]string{}}
		srv := httptest.NewUnstartedServer(s)
		srv.Listener.Close()
		srv.Listener = l
		srv.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, nodeKey{}, nodeOf(c.RemoteAddr().String()))
		}
		sites, addresses = append(sites, s), append(addresses, l.Addr().String())
		defer srv.Close()
		srv.Start()
		put(t, filepath.Join(w.dir, "jobs"), fmt.Sprintf("s%d.toml", i), fmt.Sprintf("url = \"http://%s/\"\n"+
			"schedule = \"@every 1h\"\nrequisites = \"any\"\n[polite]\nallow_private = true\nconnections = 1\n"+
			"delay = \"%v\"\n", l.Addr(), delay))
	}
	for i, s := range sites {
		s.mu.Lock()
		for j, address := range addresses {
			if i != j {
				s.others = append(s.others, fmt.Sprintf("http://%s/%d.svg", address, i))
			}
		}
		s.mu.Unlock()
	}
	for _, name := range []string{"a", "b"} {
		if out, err := w.command("reload", "--state", filepath.Join(w.dir, name)); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	missing := func() (n, lent int) {
		for i, s := range sites {
			s.mu.Lock()
			own := s.by["/"]
			for j := range sites {
				by, came := s.by[fmt.Sprintf("/%d.svg", j)]
				if i != j && !came {
					n++
				}
				if came && own != "" && by != "" && own != by {
					lent++
				}
			}
			s.mu.Unlock()
		}
		return n, lent
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		n, lent := missing()
		if n == 0 {
			t.Logf("after %v; %d images in turns that were lent", time.Since(began).Round(time.Second), lent)
			if lent == 0 {
				t.Error("one node has requested everything")
			}
			break
		}
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%d images do not come", n)
		}
	}
	for i, s := range sites {
		s.mu.Lock()
		if s.least < delay {
			t.Errorf("site %d: two requests %v apart", i, s.least)
		}
		t.Logf("site %d: %v, requests at least %v apart", i, s.by, s.least)
		s.mu.Unlock()
	}
	// each node knows what the pages of the other one say, and which mirrors it has
	within := func(what string, most time.Duration, said func() string) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(time.Second) {
			s := said()
			if s == "" {
				return
			}
			if time.Since(began) > most {
				t.Errorf("%s:\n%s", what, s)
				return
			}
		}
	}
	pages := func(name string, more ...string) string {
		args := append([]string{"replicas", "--json", "--state", filepath.Join(w.dir, name), "--jobs",
			filepath.Join(w.dir, "jobs")}, more...)
		out, err := w.command(args...)
		var found struct {
			Pages   int              `json:"pages"`
			Mirrors []map[string]any `json:"mirrors"`
		}
		if err == nil {
			err = json.Unmarshal(out, &found)
		}
		if err != nil || found.Pages+len(found.Mirrors) != len(sites) {
			return fmt.Sprintf("%s %v: %v\n%s\n", name, more, err, out)
		}
		return ""
	}
	within("mirrors of the other node", time.Minute, func() string {
		return pages("a") + pages("a", "--registry") + pages("b", "--registry") + pages("b")
	})
	// and what it has found
	within("what b found, on a", 2*time.Minute+10*time.Second, func() string {
		data, err := os.ReadFile(filepath.Join(w.dir, "a", "replicas.json"))
		if err != nil || !bytes.Contains(data, []byte(`"node":"b"`)) {
			return fmt.Sprintf("%s, %v", data, err)
		}
		return ""
	})
	// b is lost, and a has forgotten its mirrors: they come from the depot with the jobs
	w.signal(os.Kill, "b")
	files, err := filepath.Glob(filepath.Join(w.dir, "a", "replicas-elsewhere", "*"))
	if err != nil || len(files) == 0 {
		t.Errorf("%v, %v", files, err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
	within("mirrors of a node that is lost", 3*time.Minute, func() string { return pages("a") })
	w.stop("a")
}

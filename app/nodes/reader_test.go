// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mirrord/app/depots"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/cluster/depot"
	"mirrord/serve"
	"mirrord/testing/apptest"
)

// A server on another machine shows the mirrors in the depot, and each new version without a restart. It
// makes no request to the site.
func TestReader(t *testing.T) {
	var word atomic.Value
	word.Store("first")
	var requests atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>x</title><p>%s", word.Load())
	}))
	defer site.Close()
	writer := apptest.TestApp(t.TempDir())
	writer.Jobs = t.TempDir()
	at := "file://" + t.TempDir()
	job := func(name string) {
		apptest.Put(t, writer.Jobs, name+".toml", fmt.Sprintf("url = %q\npolite.delay = \"0s\"\n", site.URL+"/"))
	}
	publish := func(name string) {
		t.Helper()
		if _, err := runs.RunNow(t.Context(), writer, runs.RunHere{Job: name}); err != nil {
			t.Fatal(err)
		}
		if _, err := depots.Push(t.Context(), writer, depots.DepotRequest{Depot: at,
			Jobs: []string{name}}); err != nil {
			t.Fatal(err)
		}
	}
	job("x")
	publish("x")

	here := apptest.TestApp(t.TempDir())
	st, err := here.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var mu sync.Mutex
	claimed := map[string]int{}
	r := &Reader{
		State: st,
		Open:  func(ctx context.Context) (*depot.Depot, error) { return depots.ReadDepot(ctx, here, at, false) },
		Claim: func(name string) (func(), bool) {
			mu.Lock()
			defer mu.Unlock()
			claimed[name]++
			return func() {}, name != "other"
		},
		Log: slog.New(slog.DiscardHandler),
	}
	kept := &look.KeptVersions{State: st}
	defer kept.Close()
	sites := serve.NewStore(st, kept, nil)
	defer sites.Close()
	srv, err := serve.New(serve.Options{Sites: sites, Log: here.Log})
	if err != nil {
		t.Fatal(err)
	}
	shows := func(name, want string) {
		t.Helper()
		req := httptest.NewRequest(http.MethodGet, "http://"+name+".localhost/", nil)
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, req)
		text, err := io.ReadAll(w.Body)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%d: %s, %v; want %s", w.Code, text, err, want)
		}
	}
	look := func() {
		t.Helper()
		before := requests.Load()
		if err := r.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := requests.Load() - before; n > 0 {
			t.Errorf("%d requests to the site", n)
		}
	}
	look()
	shows("x", "first")
	word.Store("second")
	publish("x")
	shows("x", "first")
	look()
	shows("x", "second")
	d, err := depots.ReadDepot(t.Context(), here, at, false)
	if err == nil {
		err = depot.Remove(t.Context(), d, "x", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	look()
	if _, err := os.Stat(filepath.Join(st.Dir, "sites", "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a mirror that was removed from the depot is still here: %v", err)
	}
	before := claimed["x"]
	look()
	look()
	if claimed["x"] > before+1 {
		t.Error("a mirror that was removed from the depot is looked for again and again")
	}
	back := depots.DepotRequest{Depot: at, Jobs: []string{"x"}, Again: true}
	if _, err := depots.Push(t.Context(), writer, back); err != nil {
		t.Fatal(err)
	}
	look()
	shows("x", "second")
	job("y") // which another job makes
	publish("y")
	look()
	shows("y", "second")
	look()
	before = claimed["x"]
	if look(); claimed["x"] != before || r.due("x", r.seen["x"].mark) {
		t.Error("what did not change is looked at each time")
	}
	job("other")
	publish("other")
	look()
	if names, err := st.Sites(); err != nil || len(names) != 2 {
		t.Errorf("%q, %v: one is not the reader's", names, err)
	}

	away := &Reader{
		State: st,
		Open: func(ctx context.Context) (*depot.Depot, error) {
			return depots.ReadDepot(ctx, here, "file://"+t.TempDir()+"/none", false)
		},
		Log: slog.New(slog.DiscardHandler),
	}
	if err := away.Look(t.Context()); err == nil {
		t.Error("no error without a depot")
	}
	shows("x", "second")
}

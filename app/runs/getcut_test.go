// SPDX-License-Identifier: Apache-2.0

package runs_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/runs"
	"mirrord/job"
	"mirrord/testing/apptest"
)

// linkedSite is a site of pages that lead to all kinds of things. cut is called when most are answered.
func linkedSite(t *testing.T, cut func()) *httptest.Server {
	const pages = 60
	var answered atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answered.Add(1) == pages {
			cut()
		}
		var n int
		switch c, _ := fmt.Sscanf(r.URL.Path, "/p%d", &n); {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/p3", http.StatusFound)
			return
		case r.URL.Path == "/" || r.URL.Path == "/index.html" || r.URL.Path == "/d/":
		case c != 1 || n >= pages:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		if n == 0 {
			fmt.Fprint(w, `<a href="/index.html">i</a> <a href="/p1">1</a> <a href="/d/">d</a>`)
			return
		}
		fmt.Fprintf(w, `<title>%d</title><a href="/">start</a> <a href=/p%d>a</a> <a href=/p%d>b</a> <a href="/moved">m</a>
<a href="/none%d">n</a> <a href="https://h.example/">h</a> <a rel=nofollow href=/p%d>x</a> <img src="/i.png">`,
			n, 2*n, 2*n+1, n%5, pages-n)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func linkedJob(url string) *job.Job {
	j := apptest.GetJob(url)
	j.Limits.MaxStale = 0
	return j
}

// A one-off mirror is what a kept one is.
func TestGetOnceAndKept(t *testing.T) {
	url := linkedSite(t, func() {}).URL + "/"
	dir := t.TempDir()
	once, kept := filepath.Join(dir, "once"), filepath.Join(dir, "kept")
	if _, err := runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: linkedJob(url),
		Out: once}); err != nil {
		t.Fatal(err)
	}
	r := runs.GetRequest{Job: linkedJob(url), Out: kept, Keep: true}
	if _, err := runs.Get(t.Context(), apptest.TestApp(filepath.Join(dir, "state")), r); err != nil {
		t.Fatal(err)
	}
	got, want := mirrorAt(t, once), mirrorAt(t, kept)
	if !maps.Equal(got, want) || len(got) < 60 {
		t.Errorf("%d files, want %d", len(got), len(want))
		for p := range want {
			if got[p] != want[p] {
				t.Errorf("%s is %q, want %q", p, got[p], want[p])
			}
		}
	}
}

// A run that is interrupted is resumed: nothing that came is requested again, the mirror is that of an
// undisturbed run, and no unfinished tree is left.
func TestGetCut(t *testing.T) {
	for name, keep := range map[string]bool{"once": false, "kept": true} {
		t.Run(name, func(t *testing.T) { getCut(t, keep) })
	}
}

func getCut(t *testing.T, keep bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	out, whole := filepath.Join(dir, "out"), filepath.Join(dir, "whole")
	state := runs.WorkOf(out)
	if keep {
		state = filepath.Join(dir, "state")
	}
	srv := linkedSite(t, cancel)
	r := runs.GetRequest{Job: linkedJob(srv.URL + "/"), Out: out, Keep: keep}
	cut, err := runs.Get(ctx, apptest.TestApp(state), r)
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	sum, err := runs.Get(t.Context(), apptest.TestApp(state), r)
	if err != nil || !sum.Resumed || sum.Files < 60 {
		t.Errorf("%v: %+v", err, sum)
	}
	if cut != nil && int(sum.Fetched+cut.Fetched) > sum.Files+5 {
		t.Errorf("%d and %d requests for %d files", cut.Fetched, sum.Fetched, sum.Files)
	}
	r = runs.GetRequest{Job: linkedJob(srv.URL + "/"), Out: whole}
	if _, err := runs.Get(t.Context(), apptest.TestApp(""), r); err != nil {
		t.Fatal(err)
	}
	if got, want := mirrorAt(t, out), mirrorAt(t, whole); !maps.Equal(got, want) {
		t.Errorf("%d files, want %d, or they differ", len(got), len(want))
	}
	err = filepath.WalkDir(state, func(p string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(p, "/next") {
			t.Errorf("%s is left", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/job"
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
	j := getJob(url)
	j.Limits.MaxStale = 0
	return j
}

// What is written through makes the mirror that a kept one is, in which nothing is.
func TestGetWritesThrough(t *testing.T) {
	url := linkedSite(t, func() {}).URL + "/"
	dir := t.TempDir()
	once, kept := filepath.Join(dir, "once"), filepath.Join(dir, "kept")
	if _, err := Get(t.Context(), testApp(""), GetRequest{Job: linkedJob(url), Out: once}); err != nil {
		t.Fatal(err)
	}
	r := GetRequest{Job: linkedJob(url), Out: kept, Keep: true}
	if _, err := Get(t.Context(), testApp(filepath.Join(dir, "state")), r); err != nil {
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

// A run that is interrupted while it writes documents through is resumed: nothing that came is requested
// again, the mirror is that of an undisturbed run, and no unfinished tree is left.
func TestGetCutWhileWritingThrough(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	srv := linkedSite(t, cancel)
	dir := t.TempDir()
	out, whole := filepath.Join(dir, "out"), filepath.Join(dir, "whole")
	r := GetRequest{Job: linkedJob(srv.URL + "/"), Out: out}
	cut, err := Get(ctx, testApp(""), r)
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	tree := filepath.Join(workOf(out), "sites", r.Job.Name, "trees", "next")
	if _, err := os.Stat(tree); err != nil {
		t.Errorf("nothing was written through: %v", err)
	}
	sum, err := Get(t.Context(), testApp(""), r)
	if err != nil || !sum.Resumed || sum.Files < 60 {
		t.Errorf("%v: %+v", err, sum)
	}
	if cut != nil && int(sum.Fetched+cut.Fetched) > sum.Files+5 {
		t.Errorf("%d and %d requests for %d files", cut.Fetched, sum.Fetched, sum.Files)
	}
	r = GetRequest{Job: linkedJob(srv.URL + "/"), Out: whole}
	if _, err := Get(t.Context(), testApp(""), r); err != nil {
		t.Fatal(err)
	}
	if got, want := mirrorAt(t, out), mirrorAt(t, whole); !maps.Equal(got, want) {
		t.Errorf("%d files, want %d, or they differ", len(got), len(want))
	}
	err = filepath.WalkDir(workOf(out), func(p string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(p, "/next") {
			t.Errorf("%s is left", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

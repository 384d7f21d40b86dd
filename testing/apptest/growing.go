// SPDX-License-Identifier: Apache-2.0

package apptest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/scheduler/control"
)

// GrowingSite is a site with pages that come, go and change from version to version.
type GrowingSite struct {
	Version     atomic.Int64
	NotModified atomic.Int64 // answers 304
	Full        atomic.Int64 // answers 200
}

func (g *GrowingSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := g.Version.Load()
	etag, body := `"1"`, ""
	switch r.URL.Path {
	case "/":
		etag, body = fmt.Sprintf(`"v%d"`, v), fmt.Sprintf("<title>Edition %d</title>", v)
		for i := range int64(3) {
			body += fmt.Sprintf("<a href=/p%d.html>%d</a>", v+i, v+i)
		}
		body += "<a href=/moved>m</a><a href=/same.html>s</a><img src=/i.png>"
	case "/same.html":
		body = "<p>It stays as it is."
	case "/moved":
		http.Redirect(w, r, fmt.Sprintf("/p%d.html", v+1), http.StatusFound)
		return
	case "/i.png":
		w.Header().Set("Content-Type", "image/png")
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		if r.Header.Get("If-Modified-Since") != "" {
			g.NotModified.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		body = "\x89PNG picture"
		etag = ""
	default:
		n := int64(-1)
		fmt.Sscanf(r.URL.Path, "/p%d.html", &n)
		if n < v || n > v+2 {
			http.NotFound(w, r)
			return
		}
		body = fmt.Sprintf("<title>Page %d</title><p>The page of number %d, and nothing else.", n, n)
	}
	if etag != "" {
		w.Header().Set("ETag", etag)
		w.Header().Set("X-Server", "growing")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.Header.Get("If-None-Match") == etag {
			g.NotModified.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	g.Full.Add(1)
	fmt.Fprint(w, body)
}

// MirrorGrowing makes versions of the site.
func MirrorGrowing(t *testing.T, versions int64) (
	a *env.App, g *GrowingSite, srv *httptest.Server, now *atomic.Int64,
) {
	t.Helper()
	a, g, now = TestApp(t.TempDir()), new(GrowingSite), new(atomic.Int64)
	srv = httptest.NewServer(g)
	t.Cleanup(srv.Close)
	a.Jobs = t.TempDir()
	a.Now = func() time.Time { return time.Unix(now.Load(), 0) }
	Put(t, a.Jobs, "site.toml", GrowingJob(srv.URL))
	for v := range versions {
		g.Version.Store(v + 1)
		now.Store(ChangingStart + v*86400)
		if sum, err := runs.RunNow(t.Context(), a, Fully("site")); err != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
		now.Add(3600) // 404 is confirmed by a second look
		if sum, err := runs.RunNow(t.Context(), a, Fully("site")); err != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
	}
	return a, g, srv, now
}

func GrowingJob(url string) string {
	return "url = \"" + url + "/\"\nfull_runs = 1000\n[polite]\ndelay = \"0s\"\nfactor = 0\n[limits]\n" +
		"max_delete = \"100%\"\n[publish]\nkeep = \"all\"\n"
}

func ReadFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Fully is a run of a job that requests every known URL.
func Fully(name string) runs.RunHere {
	return runs.RunHere{Job: name, RunRequest: control.RunRequest{Full: true}}
}

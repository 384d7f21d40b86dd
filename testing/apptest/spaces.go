// SPDX-License-Identifier: Apache-2.0

package apptest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/phm/space"
	"mirrord/serve"
	"mirrord/store"
)

// twoSites are two sites that link to one another, and a job for each in the space s.
type twoSites struct {
	t        *testing.T
	App      *env.App
	Log      bytes.Buffer
	A, B     string // addresses
	Requests atomic.Int64
	Shrunk   atomic.Bool // b no longer links to its page
	Lost     atomic.Bool // b no longer has its page
}

func NewTwoSites(t *testing.T) *twoSites {
	w := &twoSites{t: t}
	serve := func(page func(path string) string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.Requests.Add(1)
			rw.Header().Set("ETag", `"`+rand.Text()+`"`) // a file, which is not requested twice
			switch body := page(r.URL.Path); {
			case r.URL.Path == "/old":
				http.Redirect(rw, r, "/new.html#part", http.StatusMovedPermanently)
			case body == "":
				http.NotFound(rw, r)
			case strings.HasSuffix(r.URL.Path, ".png"):
				rw.Header().Set("Content-Type", "image/png")
				fmt.Fprint(rw, body)
			default:
				fmt.Fprint(rw, "<!DOCTYPE html><title>x</title>"+body)
			}
		}))
		t.Cleanup(srv.Close)
		return srv.URL + "/"
	}
	w.A = serve(func(p string) string {
		return map[string]string{
			"/": fmt.Sprintf(`<a href="%spage.html#top">b</a> <a href="/old">o</a> <a href="%snone">n</a>`+
				`<img src="%sp.png">`, w.B, w.B, w.B),
			"/new.html": "new",
		}[p]
	})
	w.B = serve(func(p string) string {
		pages := map[string]string{
			"/":          `<a href="page.html">page</a><img src="p.png">`,
			"/p.png":     "a picture",
			"/page.html": fmt.Sprintf(`<a href="%s">a</a> <a href="%sold">old</a>`, w.A, w.A),
		}
		if w.Shrunk.Load() {
			pages["/"] = `no page<img src="p.png">`
		}
		if w.Lost.Load() {
			delete(pages, "/page.html")
		}
		return pages[p]
	})
	w.App = TestApp(t.TempDir())
	w.App.Jobs = t.TempDir()
	w.App.Log = slog.New(slog.NewTextHandler(&w.Log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.Job("a", w.A, "s")
	w.Job("b", w.B, "s")
	return w
}

func (w *twoSites) Job(name, url, space string) {
	Put(w.t, w.App.Jobs, name+".toml", fmt.Sprintf("url = %q\nspace = %q\npolicy = \"full\"\n"+
		"polite.delay = \"0s\"\npolite.factor = 0\n", url, space))
}

func (w *twoSites) Run(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if _, err := runs.RunNow(w.t.Context(), w.App, runs.RunHere{Job: name}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Leads checks what a page of the space has, and what it has not.
func (w *twoSites) Leads(page string, has ...string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(StateOf(w.t, w.App), space.FilesDir("s"), page))
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.Log.String())
	}
	for _, ref := range has {
		if !strings.Contains(string(data), `"`+ref+`"`) {
			w.t.Errorf("%s does not lead to %s: %s\n%s", page, ref, data, w.Log.String())
		}
	}
	findings, err := space.Verify(StateOf(w.t, w.App), "s", "")
	if err != nil || len(findings) > 0 {
		w.t.Errorf("verify: %q, %v", findings, err)
	}
}

// Serve returns a function that asks a server of the state for a path.
func (w *twoSites) Serve() func(host, path string) *httptest.ResponseRecorder {
	w.t.Helper()
	st, err := store.OpenState(StateOf(w.t, w.App), store.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	sites := serve.NewStore(st, nil, nil)
	w.t.Cleanup(func() {
		sites.Close()
		st.Close()
	})
	srv, err := serve.New(serve.Options{Sites: sites})
	if err != nil {
		w.t.Fatal(err)
	}
	return func(host, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = host
		rec := httptest.NewRecorder()
		srv.ServeHTTP(rec, r)
		return rec
	}
}

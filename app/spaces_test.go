// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/phm/space"
	"mirrord/serve"
	"mirrord/store"
)

// twoSites are two sites that link to one another, and a job for each in the space s.
type twoSites struct {
	t        *testing.T
	app      *App
	log      bytes.Buffer
	a, b     string // addresses
	requests atomic.Int64
	shrunk   atomic.Bool // b does not link to its page any more
	lost     atomic.Bool // b does not have its page any more
}

func newTwoSites(t *testing.T) *twoSites {
	w := &twoSites{t: t}
	serve := func(page func(path string) string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.requests.Add(1)
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
	w.a = serve(func(p string) string {
		return map[string]string{
			"/": fmt.Sprintf(`<a href="%spage.html#top">b</a> <a href="/old">o</a> <a href="%snone">n</a>`+
				`<img src="%sp.png">`, w.b, w.b, w.b),
			"/new.html": "new",
		}[p]
	})
	w.b = serve(func(p string) string {
		pages := map[string]string{
			"/":          `<a href="page.html">page</a><img src="p.png">`,
			"/p.png":     "a picture",
			"/page.html": fmt.Sprintf(`<a href="%s">a</a> <a href="%sold">old</a>`, w.a, w.a),
		}
		if w.shrunk.Load() {
			pages["/"] = `no page<img src="p.png">`
		}
		if w.lost.Load() {
			delete(pages, "/page.html")
		}
		return pages[p]
	})
	w.app = testApp(t.TempDir())
	w.app.Jobs = t.TempDir()
	w.app.Log = slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.job("a", w.a, "s")
	w.job("b", w.b, "s")
	return w
}

func (w *twoSites) job(name, url, space string) {
	put(w.t, w.app.Jobs, name+".toml", fmt.Sprintf("url = %q\nspace = %q\npolicy = \"full\"\n"+
		"polite.delay = \"0s\"\npolite.factor = 0\n", url, space))
}

func (w *twoSites) run(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if _, err := RunNow(w.t.Context(), w.app, RunHere{Job: name}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// leads checks what a page of the space has, and what it has not.
func (w *twoSites) leads(page string, has ...string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(mustState(w.t, w.app), space.FilesDir("s"), page))
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.log.String())
	}
	for _, ref := range has {
		if !strings.Contains(string(data), `"`+ref+`"`) {
			w.t.Errorf("%s does not lead to %s: %s\n%s", page, ref, data, w.log.String())
		}
	}
	findings, err := space.Verify(mustState(w.t, w.app), "s")
	if err != nil || len(findings) > 0 {
		w.t.Errorf("verify: %q, %v", findings, err)
	}
}

func TestSpaces(t *testing.T) {
	w := newTwoSites(t)
	w.run("a")
	w.leads("@@a/index.html", w.b+"page.html#top", w.b+"none", "new.html#part")
	before := w.requests.Load()
	st, err := store.OpenState(mustState(t, w.app), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("a") // which nobody can write meanwhile
	if err != nil {
		t.Fatal(err)
	}
	w.run("b")
	if n := w.requests.Load() - before; n > 5 { // robots.txt, two pages, a picture, and a path that cannot exist
		t.Errorf("%d requests", n)
	}
	w.leads("@@a/index.html", "../@@b/page.html#top", w.b+"none")
	w.leads("@@b/page.html", "../@@a/index.html", "../@@a/new.html#part") // by a redirect
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(st.Dir, "sites/a/current/index.html"))
	if err != nil || !bytes.Contains(page, []byte(w.b+"page.html#top")) {
		t.Errorf("the mirror itself: %s, %v", page, err)
	}

	w.shrunk.Store(true)
	w.run("b")
	w.leads("@@a/index.html", w.b+"page.html#top")
	if _, err := Rollback(t.Context(), w.app, "b", 0); err != nil {
		t.Fatal(err)
	}
	w.leads("@@a/index.html", "../@@b/page.html#top")
	if _, err := Rename(t.Context(), w.app, "b", "c"); err != nil {
		t.Fatal(err)
	}
	w.leads("@@a/index.html", "../@@c/page.html#top")
	forgetNow(t, w.app, "c", w.b+"page.html")
	w.leads("@@a/index.html", w.b+"page.html#top")
	if _, err := os.Stat(filepath.Join(st.Dir, space.FilesDir("s"), "@@c/page.html")); err == nil {
		t.Error("the space has what was forgotten")
	}
	r, err := PlanRemoval(w.app, "c", false)
	if err == nil {
		err = Remove(t.Context(), w.app, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(st.Dir, space.FilesDir("s"), "@@c")); err == nil {
		t.Error("the space has a mirror that was removed")
	}
	w.job("a", w.a, "")
	w.run("a")
	if hasSpaces(st) {
		t.Error("there are spaces without a job")
	}
	if w.log.Len() > 0 {
		t.Error(w.log.String())
	}
}

// With a space of the whole state, jobs need not name one; those with credentials must.
func TestSpaceOfAll(t *testing.T) {
	w := newTwoSites(t)
	w.job("a", w.a, "")
	w.job("b", w.b, "")
	st, err := w.app.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := NewDaemon(w.app, st, DaemonOptions{Space: "s"}); err != nil {
		t.Fatal(err)
	}
	w.run("a", "b")
	w.leads("@@a/index.html", "../@@b/page.html#top", w.b+"none")
	j, err := w.app.FindJob("a")
	if err != nil {
		t.Fatal(err)
	}
	if x, err := ExplainIn(t.Context(), st, j, ExplainRequest{URL: w.b + "page.html"}); err != nil ||
		!strings.Contains(x.Space, "@@b/page.html: mirror b holds it") {
		t.Errorf("%+v, %v", x, err)
	}
	put(t, w.app.Jobs, "b.toml", fmt.Sprintf("url = %q\nauth.user = \"u\"\nauth.password_env = \"P\"\n", w.b))
	w.run("a")
	w.leads("@@a/index.html", w.b+"page.html#top")
	if _, err := NewDaemon(w.app, st, DaemonOptions{Space: "../s"}); err == nil {
		t.Error("a name that leads elsewhere")
	}
	if _, err := NewDaemon(w.app, st, DaemonOptions{}); err != nil {
		t.Fatal(err)
	}
	w.run("a")
	if hasSpaces(st) {
		t.Error("there are spaces without a job")
	}
}

// A job file that is refused, and a mirror that is damaged, change nothing of a space.
func TestSpaceStays(t *testing.T) {
	w := newTwoSites(t)
	w.run("a", "b")
	put(t, w.app.Jobs, "b.toml", "url = 3\n")
	w.run("a")
	w.leads("@@a/index.html", "../@@b/page.html#top")
	w.job("b", w.b, "s")
	tree := filepath.Join(mustState(t, w.app), "sites/b/current/phm.json")
	if err := os.WriteFile(tree, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.run("a")
	w.leads("@@a/index.html", "../@@b/page.html#top")
}

// serve returns a function that asks a server of the state for a path.
func (w *twoSites) serve() func(host, path string) *httptest.ResponseRecorder {
	w.t.Helper()
	st, err := store.OpenState(mustState(w.t, w.app), store.Options{})
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

// A server shows the mirrors of a space with their links, by host and by path.
func TestSpaceServed(t *testing.T) {
	w := newTwoSites(t)
	w.run("a", "b")
	get := w.serve()
	for _, tc := range []struct {
		host, path string
		code       int
		has        string // in the body, or the address of a redirect
	}{
		{"a.localhost", "/", 200, `"../@@b/page.html#top"`},
		{"a.localhost", "/@@b/page.html", 302, "http://b.localhost/page.html"},
		{"a.localhost", "/@@b/p.png", 200, "a picture"},
		{"a.localhost", "/@@b/none", 404, ""},
		{"a.localhost", "/@@c/index.html", 404, ""},
		{"b.localhost", "/page.html", 200, `"../@@a/new.html#part"`},
		{"127.0.0.1", "/a/index.html", 200, `"../@@b/page.html#top"`},
		{"127.0.0.1", "/@@b/page.html", 302, "/b/page.html"},
		{"127.0.0.1", "/b/page.html", 200, `"../@@a/index.html"`},
		{"127.0.0.1", "/@@b/p.png", 302, "/b/p.png"},
		{"127.0.0.1", "/@@c/x", 404, ""},
	} {
		rec := get(tc.host, tc.path)
		said := rec.Body.String()
		if tc.code == http.StatusFound {
			said = rec.Header().Get("Location")
		}
		if rec.Code != tc.code || !strings.Contains(said, tc.has) {
			t.Errorf("%s %s: %d, %s", tc.host, tc.path, rec.Code, said)
		}
	}
	tag := get("a.localhost", "/").Header().Get("ETag")
	w.shrunk.Store(true)
	w.run("b")
	rec := get("a.localhost", "/")
	if strings.Contains(rec.Body.String(), "@@b/page.html") || rec.Header().Get("ETag") == tag {
		t.Errorf("after b lost its page: %s, %s", rec.Header().Get("ETag"), rec.Body)
	}
}

// While a rollback holds, links lead to the published page that the site has no more, not to a copy of it.
func TestSpaceLastWhileARollbackHolds(t *testing.T) {
	w := newTwoSites(t)
	put(t, w.app.Jobs, "a.toml", fmt.Sprintf("url = %q\nspace = \"s\"\npolicy = \"full\"\nrepair = true\n"+
		"polite.delay = \"0s\"\npolite.factor = 0\n", w.a))
	w.run("a", "b")
	w.lost.Store(true)
	w.run("b", "b")
	if _, err := Rollback(t.Context(), w.app, "b", 1); err != nil {
		t.Fatal(err)
	}
	w.leads("@@a/index.html", "../@@b/page.html#top")
	w.run("b")
	w.leads("@@a/index.html", "../@@b/page.html#top")
}

// A page that the site of b has no more is there for a, which repairs, in the space, on a server and in an
// export, as the last version of b had it.
func TestSpaceLast(t *testing.T) {
	w := newTwoSites(t)
	put(t, w.app.Jobs, "a.toml", fmt.Sprintf("url = %q\nspace = \"s\"\npolicy = \"full\"\nrepair = true\n"+
		"polite.delay = \"0s\"\npolite.factor = 0\n", w.a))
	w.run("a", "b")
	w.leads("@@a/index.html", "../@@b/page.html#top")
	w.lost.Store(true)
	w.run("b")
	w.leads("@@a/index.html", "../@@b/page.html#top") // until a second look
	w.run("b")
	j, err := w.app.FindJob("a")
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.OpenState(mustState(t, w.app), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x, err := ExplainIn(t.Context(), st, j, ExplainRequest{URL: w.b + "page.html"})
	_, copied, ok := strings.Cut(x.Space, "lead to @@b/")
	copied, _, _ = strings.Cut(copied, ": ")
	if err != nil || !ok || !strings.Contains(x.Space, "the last copy, of version 1 of mirror b") {
		t.Fatalf("%+v, %v\n%s", x, err, w.log.String())
	}
	w.leads("@@a/index.html", "../@@b/"+copied+"#top")
	depth := strings.Repeat("../", strings.Count(copied, "/")+1)
	w.leads("@@b/"+copied, depth+"@@a/index.html", depth+"@@a/new.html#part")

	get := w.serve()
	for _, tc := range []struct {
		host, path string
		code       int
	}{
		{"a.localhost", "/@@b/" + copied, 200},
		{"127.0.0.1", "/@@b/" + copied, 200},
		{"a.localhost", "/@@b/@@last/none.html", 404},
	} {
		rec := get(tc.host, tc.path)
		apart := strings.HasPrefix(rec.Header().Get("Content-Security-Policy"), "sandbox ")
		leads := strings.Contains(rec.Body.String(), "@@a/new.html")
		if rec.Code != tc.code || (tc.code == 200 && !(apart && leads)) {
			t.Errorf("%s %s: %d %v %s", tc.host, tc.path, rec.Code, rec.Header(), rec.Body)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := ExportSpace(t.Context(), w.app, "s", out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "@@b", copied)); err != nil {
		t.Error(err)
	}
	if v, err := Verify(t.Context(), w.app, out, true); err != nil || v.Count() > 0 {
		t.Errorf("the export: %+v, %v", v, err)
	}
	forgetNow(t, w.app, "b", w.b+"page.html") // also the last copy
	w.leads("@@a/index.html", w.b+"page.html#top")
	if _, err := os.Stat(filepath.Join(st.Dir, space.FilesDir("s"), "@@b", copied)); err == nil {
		t.Error("the last copy of what was forgotten is there")
	}
}

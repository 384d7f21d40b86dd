// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

const origin = "http://web.test"

// mirrored is a site of a few pages, mirrored once, and a server of its mirror.
type mirrored struct {
	web    *mirrortest.Web
	mirror *mirrortest.Mirror
	server *Server
	sites  *Store
	clock  atomic.Int64 // Unix seconds
}

func mirrorSite(t *testing.T) *mirrored {
	t.Helper()
	m := &mirrored{web: mirrortest.Start(t)}
	m.web.SetAll(origin, map[string]mirrortest.Page{
		"/": mirrortest.HTML("Home",
			`<a href="/docs/">docs</a> <a href="/find?q=1">one</a> <a href="/moved">moved</a> <a href="/latin.txt">text</a> <a href="/n">0</a>`),
		"/docs/":     mirrortest.HTML("Docs", `<a href="/">home</a> <a href="page">page</a>`),
		"/docs/page": mirrortest.HTML("Page", `<a href="../n">n</a>`),
		"/find?q=1":  mirrortest.HTML("Found", "one"),
		"/moved":     {Status: 301, Header: map[string]string{"Location": "/docs/#part"}},
		"/latin.txt": {
			Header: map[string]string{
				"Content-Type":  "text/plain; charset=iso-8859-2",
				"Last-Modified": "Mon, 03 Feb 2020 04:05:06 GMT",
			},
			Body: "\xb1\xe6",
		},
		"/n": mirrortest.HTML("n", "number 0"),
		"/robots.txt": {
			Header: map[string]string{"Content-Type": "text/plain"},
			Body:   "User-agent: *\nDisallow: /cgi-bin/\n",
		},
	})
	m.mirror = mirrortest.New(t, m.web, fmt.Sprintf("url = %q\nscope.kind = \"host\"\n", origin+"/"))
	m.mirror.Run()
	st, err := store.OpenState(m.mirror.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.sites = NewStore(st, nil, func() time.Time { return time.Unix(m.clock.Load(), 0) })
	t.Cleanup(func() {
		if err := errors.Join(m.sites.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	o := Options{Sites: m.sites, Base: "mirrors.test", RedirectMissing: true}
	if m.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestStore(t *testing.T) {
	m := mirrorSite(t)
	for _, tc := range []struct {
		address string
		status  int
		want    string
	}{
		{"http://test.mirrors.test/", 200, "<title>Home</title>"},
		{"http://test.mirrors.test/docs/page", 200, "<title>Page</title>"},
		{"http://test.mirrors.test/find?q=1", 200, "<title>Found</title>"},
		{"http://test.mirrors.test/moved", 301, "/docs/#part"},
		{"http://test.mirrors.test/never", 302, origin + "/never"},
		{"http://test.mirrors.test/phm.json", 302, origin + "/phm.json"},
		{"http://mirrors.test/test/", 200, "<title>Home</title>"},
		{"http://mirrors.test/nosuch/", 404, ""},
		{"http://mirrors.test/blobs/", 404, ""},
	} {
		res := ask(t, m.server, "GET", tc.address)
		got := bodyOf(t, res)
		if tc.status/100 == 3 {
			got = res.Header.Get("Location")
		}
		if res.StatusCode != tc.status || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %d %q, want %d %q", tc.address, res.StatusCode, got, tc.status, tc.want)
		}
	}
	res := ask(t, m.server, "GET", "http://test.mirrors.test/latin.txt")
	if got := bodyOf(t, res); got != "\xb1\xe6" ||
		res.Header.Get("Content-Type") != "text/plain; charset=iso-8859-2" ||
		res.Header.Get("Last-Modified") != "Mon, 03 Feb 2020 04:05:06 GMT" {
		t.Errorf("text: %q %v", got, res.Header)
	}
	// Every link of every page goes to a page, as it is written there.
	seen := map[string]bool{}
	for todo := []string{"http://test.mirrors.test/"}; len(todo) > 0; todo = todo[1:] {
		u, _, err := site.Parse(todo[0])
		if err != nil || seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		res := ask(t, m.server, "GET", u.String())
		if res.StatusCode != 200 {
			t.Errorf("%s: %d", u, res.StatusCode)
			continue
		}
		for _, part := range strings.Split(bodyOf(t, res), `href="`)[1:] {
			to, _, err := u.Resolve(part[:strings.IndexByte(part, '"')])
			if err != nil {
				t.Error(err)
			}
			todo = append(todo, to.String())
		}
	}
	if len(seen) < 6 {
		t.Errorf("only %d pages seen", len(seen))
	}
}

// A new version is served as soon as it is published, the old one's compressed bodies are not served for it,
// and an open file stays good.
func TestStoreFollowsCurrent(t *testing.T) {
	m := mirrorSite(t)
	first := ask(t, m.server, "GET", "http://test.mirrors.test/n")
	st, err := m.sites.Site("test")
	if err != nil {
		t.Fatal(err)
	}
	snap, err := st.Snapshot(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	u, _, _ := site.Parse(origin + "/n")
	r, ok, err := snap.Table.Find(u)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	f, err := snap.Table.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		m.web.Set(origin+"/n", mirrortest.HTML("n", fmt.Sprintf("number %d", n)))
		m.mirror.Run()
		res := ask(t, m.server, "GET", "http://test.mirrors.test/n", "If-None-Match", first.Header.Get("Etag"))
		if got := bodyOf(t, res); res.StatusCode != 200 || !strings.Contains(got, fmt.Sprintf("number %d", n)) {
			t.Errorf("version %d: %d %q", n+1, res.StatusCode, got)
		}
	}
	if b, err := io.ReadAll(f); err != nil || !strings.Contains(string(b), "number 0") {
		t.Errorf("a file held open: %q, %v", b, err)
	}
	f.Close()
	if _, err := snap.Table.Open(r); !errors.Is(err, ErrMoved) {
		t.Errorf("a file of a version that has gone: %v", err)
	}
	if _, err := st.Snapshot(context.Background(), 1); !errors.Is(err, ErrNoVersion) {
		t.Errorf("a version that is not kept: %v", err)
	}
	snap.Release()
	snap.Release() // is harmless
	if vs, err := st.Versions(); err != nil || len(vs) != 1 || vs[0].Number != 4 {
		t.Errorf("versions %v, %v", vs, err)
	}
}

// A rolled back version is served at once, and a page that is taken out is no longer served.
func TestStoreFollowsRollback(t *testing.T) {
	m := mirrorSite(t)
	see := func(path, want string) {
		t.Helper()
		got := bodyOf(t, ask(t, m.server, "GET", "http://test.mirrors.test"+path))
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	see("/n", "number 0")
	m.web.Set(origin+"/n", mirrortest.HTML("n", "number 1"))
	m.mirror.Run()
	see("/n", "number 1")
	st, err := store.OpenState(m.mirror.Dir, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("test")
	if err != nil {
		t.Fatal(err)
	}
	_, err = mirror.Rollback(t.Context(), mirror.Options{
		Job:   m.mirror.Job,
		State: st,
		Site:  s,
		Hosts: new(fetch.Hosts),
		Now:   time.Now,
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	see("/n", "number 0")
	see("/docs/page", "Page")
	if err := os.RemoveAll(filepath.Join(m.mirror.Dir, "sites", "test", "current")); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, m.server, "GET", "http://test.mirrors.test/n"); got.StatusCode != http.StatusNotFound {
		t.Errorf("of a mirror without a published version: %d", got.StatusCode)
	}
}

// A file that is missing, or of another size than the table says, is not served; repaired it is, at once.
func TestStoreDamagedFiles(t *testing.T) {
	m := mirrorSite(t)
	at := filepath.Join(m.mirror.Dir, "sites", "test", "current", "latin.txt")
	see := func(status int) {
		t.Helper()
		for range 2 {
			res := ask(t, m.server, "GET", "http://test.mirrors.test/latin.txt")
			if res.StatusCode != status {
				t.Fatalf("%d, want %d", res.StatusCode, status)
			}
		}
	}
	see(http.StatusOK)
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	see(http.StatusServiceUnavailable)
	if err := os.WriteFile(at, []byte("longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	see(http.StatusServiceUnavailable)
	if err := os.WriteFile(at, []byte("\xb1\xe6"), 0o644); err != nil {
		t.Fatal(err)
	}
	see(http.StatusOK)
}

// While a run has the site, its mirror is served with all that the database knows, and the site is not
// locked.
func TestStoreLocked(t *testing.T) {
	m := mirrorSite(t)
	st, err := store.OpenState(m.mirror.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, when := range []string{"at first", "later"} {
		s, err := st.OpenSite("test")
		if err != nil {
			t.Fatal(err)
		}
		if res := ask(t, m.server, "GET", "http://test.mirrors.test/docs/"); res.StatusCode != 200 {
			t.Errorf("%s, page: %d", when, res.StatusCode)
		}
		if res := ask(t, m.server, "GET", movedPage); res.StatusCode != 301 ||
			res.Header.Get("Location") != "/docs/#part" {
			t.Errorf("%s, redirect: %d %q", when, res.StatusCode, res.Header.Get("Location"))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		m.clock.Add(1000)
	}
}

const movedPage = "http://test.mirrors.test/moved"

// A mirror whose database cannot be read is served from the tree alone; what only the database knows follows.
func TestStoreUnreadable(t *testing.T) {
	m := mirrorSite(t)
	db := filepath.Join(m.mirror.Dir, "sites", "test", "site.db")
	if err := os.Rename(db, db+".aside"); err != nil {
		t.Fatal(err)
	}
	if res := ask(t, m.server, "GET", movedPage); res.StatusCode != 302 ||
		res.Header.Get("Location") != origin+"/moved" {
		t.Errorf("redirect: %d %q", res.StatusCode, res.Header.Get("Location"))
	}
	if err := os.Rename(db+".aside", db); err != nil {
		t.Fatal(err)
	}
	if res := ask(t, m.server, "GET", movedPage); res.StatusCode != 302 {
		t.Errorf("redirect, too soon: %d", res.StatusCode)
	}
	m.clock.Add(int64(factsEvery / time.Second))
	if res := ask(t, m.server, "GET", movedPage); res.StatusCode != 301 ||
		res.Header.Get("Location") != "/docs/#part" {
		t.Errorf("redirect, readable again: %d %q", res.StatusCode, res.Header.Get("Location"))
	}
}

// Readers that never stop see a whole page of one version or the next during any publish.
func TestStoreReadersDuringPublishes(t *testing.T) {
	m := mirrorSite(t)
	srv := httptest.NewServer(m.server.Site("test"))
	defer srv.Close()
	var stop atomic.Bool
	var published atomic.Int64
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			last := int64(0)
			for !stop.Load() {
				before := published.Load()
				req, _ := http.NewRequest("GET", srv.URL+"/n", nil)
				if i == 0 {
					req.Header.Set("Accept-Encoding", "identity")
				}
				res, err := srv.Client().Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(res.Body)
				res.Body.Close()
				var n int64
				_, text, _ := strings.Cut(string(b), "number ")
				if _, serr := fmt.Sscanf(text, "%d", &n); err != nil || serr != nil || res.StatusCode != 200 {
					t.Errorf("%d, %q, %v", res.StatusCode, b, errors.Join(err, serr))
					return
				}
				if n < before || n < last {
					t.Errorf("number %d after %d was published and %d seen", n, before, last)
				}
				last = n
			}
		})
	}
	for n := 1; n <= 8; n++ {
		m.web.Set(origin+"/n",
			mirrortest.HTML("n", fmt.Sprintf("number %d%s", n, strings.Repeat(" and more", n*40))))
		if _, err := m.mirror.RunWith(context.Background(), func(*mirror.Options) {}); err != nil {
			t.Error(err)
			break
		}
		published.Store(int64(n))
	}
	stop.Store(true)
	wg.Wait()
}

func BenchmarkServe(b *testing.B) {
	m := &mirrored{web: mirrortest.Start(b)}
	m.web.SetAll(origin,
		map[string]mirrortest.Page{"/": mirrortest.HTML("Home",
			strings.Repeat("<p>All work and no play.</p>\n", 500))})
	m.mirror = mirrortest.New(b, m.web, fmt.Sprintf("url = %q\n", origin+"/"))
	m.mirror.Run()
	st, err := store.OpenState(m.mirror.Dir, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	sites := NewStore(st, nil, nil)
	defer sites.Close()
	s, err := New(Options{Sites: sites, Base: "mirrors.test"})
	if err != nil {
		b.Fatal(err)
	}
	for _, bc := range []struct{ name, coding string }{{"plain", ""}, {"gzip kept", "gzip"}} {
		b.Run(bc.name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "http://test.mirrors.test/", nil)
			if bc.coding != "" {
				r.Header.Set("Accept-Encoding", bc.coding)
			}
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}

// keptTrees are old versions as archives, as a store might keep them.
type keptTrees struct {
	archives map[int][]byte
	versions []Version
	opened   int
	closed   atomic.Int64
}

func (k *keptTrees) Versions(string) ([]Version, error) { return k.versions, nil }

func (k *keptTrees) Open(_ context.Context, _ string, n int) (KeptTree, error) {
	b, ok := k.archives[n]
	if !ok {
		return nil, ErrNoVersion
	}
	k.opened++
	a, err := phm.OpenArchive(bytes.NewReader(b), int64(len(b)), phm.Limits{})
	if err != nil {
		return nil, err
	}
	return keptArchive{a, k}, nil
}

type keptArchive struct {
	fs.FS
	k *keptTrees
}

func (a keptArchive) Close() error {
	a.k.closed.Add(1)
	return nil
}

// Versions that are no longer published are Mementos, from March to now, and only a few stay open.
func TestStoreKeptVersions(t *testing.T) {
	m := mirrorSite(t)
	kept := &keptTrees{archives: map[int][]byte{}}
	m.sites.kept = kept
	const n = 7
	for i := 1; i <= n; i++ {
		root := m.mirror.Current()
		var b bytes.Buffer
		meta, err := phm.Pack(&b, root.FS(), phm.PackOptions{})
		if err != nil {
			t.Fatal(err)
		}
		kept.archives[i] = b.Bytes()
		kept.versions = append(kept.versions, Version{meta.Version, meta.Retrieved})
		if i == n {
			break
		}
		m.mirror.Now = func() time.Time { return meta.Retrieved.Add(24 * time.Hour) }
		m.web.Set(origin+"/n", mirrortest.HTML("n", fmt.Sprintf("number %d", i/2*2)))
		m.web.Set(origin+"/docs/", mirrortest.HTML("Docs", fmt.Sprintf(`<a href="page">page</a> issue %d`, i)))
		m.mirror.Run()
	}
	const wk = "http://test.mirrors.test" + wellKnown
	for i, v := range kept.versions {
		res := ask(t, m.server, "GET", wk+"memento/"+v.Time.UTC().Format(stamp)+"/"+origin+"/docs/")
		want := fmt.Sprintf("issue %d", i)
		if i == 0 {
			want = "home"
		}
		if got := bodyOf(t, res); res.StatusCode != 200 || !strings.Contains(got, want) ||
			res.Header.Get("Memento-Datetime") != v.Time.UTC().Format(http.TimeFormat) {
			t.Errorf("version %d: %d %q, %v", v.Number, res.StatusCode, got, res.Header)
		}
	}
	rels, _ := mementoLinks(t, bodyOf(t, ask(t, m.server, "GET", wk+"timemap/link/"+origin+"/docs/")))
	if len(rels["memento"]) != n {
		t.Errorf("mementos of the page that always changes: %v", rels["memento"])
	}
	rels, _ = mementoLinks(t, bodyOf(t, ask(t, m.server, "GET", wk+"timemap/link/"+origin+"/n")))
	if len(rels["memento"]) != 4 { // 0 0 2 2 4 4 6
		t.Errorf("mementos of the page that changes at times: %v", rels["memento"])
	}
	if open := kept.opened - int(kept.closed.Load()); open > keptOpen {
		t.Errorf("%d old versions are open", open)
	}
	if err := m.sites.Close(); err != nil {
		t.Error(err)
	}
	if kept.opened != int(kept.closed.Load()) {
		t.Errorf("%d opened, %d closed", kept.opened, kept.closed.Load())
	}
	kept.archives = nil
	if res := ask(t, m.server, "GET", wk+"memento/"+kept.versions[0].Time.UTC().Format(stamp)+"/"+origin+
		"/docs/"); res.StatusCode != 404 {
		t.Errorf("a version that was dropped: %d", res.StatusCode)
	}
}

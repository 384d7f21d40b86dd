// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/site"
)

// fakeSites are mirrors in memory.
type fakeSites map[string]*fakeSite

func (f fakeSites) Names() ([]string, error) { return slices.Sorted(maps.Keys(f)), nil }

func (f fakeSites) Site(name string) (Site, error) {
	if s := f[name]; s != nil {
		return s, nil
	}
	return nil, ErrNoSite
}

// fakeSite is one mirror; the last version is the current one.
type fakeSite struct {
	primary  string
	title    string // default: one in angle brackets
	entry    string
	versions []*fakeVersion
	forgets  bool
	moves    int // how many files still fail with ErrMoved
}

type fakeVersion struct {
	Version
	files     []fakeFile
	redirects []fakeRedirect
	site      *fakeSite
}

type fakeFile struct {
	url, path, mime, body string
	charset               string
	modified              time.Time
}

type fakeRedirect struct {
	url, to string
	status  int
}

func (s *fakeSite) Versions() ([]Version, error) {
	var out []Version
	for _, v := range s.versions {
		out = append(out, v.Version)
	}
	return out, nil
}

func (s *fakeSite) Snapshot(_ context.Context, n int) (*Snapshot, error) {
	for i, v := range s.versions {
		if v.Number == n || (n == 0 && i == len(s.versions)-1) {
			return &Snapshot{
				Version: v.Version,
				Primary: s.primary,
				Entry:   s.entry,
				Title:   cmp.Or(s.title, "Title of <"+s.primary+">"),
				Authors: []string{"Ada <a@e.org>", "Ben"},

				Abstract: "All about it",
				Files:    len(v.files),
				Table:    v,
			}, nil
		}
	}
	return nil, ErrNoVersion
}

func (s *fakeSite) History(ctx context.Context, u site.URL) ([]State, bool, error) {
	if s.forgets {
		return nil, false, nil
	}
	all, err := slowHistory(ctx, s, u)
	for i := range all {
		if all[i].Missing {
			all[i].Outcome, all[i].Status = site.Gone, http.StatusNotFound
		}
	}
	return all, err == nil, err
}

func (f fakeFile) resource() Resource {
	u, _, err := site.Parse(f.url)
	if err != nil {
		panic(err)
	}
	return Resource{
		URL:      u,
		Path:     f.path,
		MIME:     f.mime,
		Charset:  f.charset,
		Modified: f.modified,
		Digest:   sha256.Sum256([]byte(f.body)),
		Size:     int64(len(f.body)),
	}
}

func (v *fakeVersion) Find(u site.URL) (Resource, bool, error) {
	for _, f := range v.files {
		if r := f.resource(); r.URL == u {
			return r, true, nil
		}
	}
	for _, x := range v.redirects {
		from, _, _ := site.Parse(x.url)
		to, _, _ := site.Parse(x.to)
		if from == u {
			return Resource{URL: u, Status: x.status, RedirectTo: to}, true, nil
		}
	}
	return Resource{}, false, nil
}

func (v *fakeVersion) At(path string) (Resource, bool, error) {
	for _, f := range v.files {
		if f.path == path {
			return f.resource(), true, nil
		}
	}
	return Resource{}, false, nil
}

func (v *fakeVersion) Open(r Resource) (io.ReadSeekCloser, error) {
	if v.site.moves > 0 {
		v.site.moves--
		return nil, ErrMoved
	}
	for _, f := range v.files {
		if f.path == r.Path {
			return nopCloser{bytes.NewReader([]byte(f.body))}, nil
		}
	}
	return nil, ErrMoved
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }

var (
	day1 = time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC)
	day2 = time.Date(2026, 6, 1, 4, 0, 0, 0, time.UTC)
	day3 = time.Date(2026, 9, 1, 4, 0, 0, 0, time.UTC)
	old  = time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
)

// long is text that compresses.
var long = strings.Repeat("All work and no play makes a dull page. ", 200)

// testSites has one mirror with everything in it, and a second one.
func testSites() fakeSites {
	one := func(n int, t time.Time, news string) *fakeVersion {
		return &fakeVersion{Version: Version{n, t}, files: []fakeFile{
			{url: "https://one.test/", path: "index.html", mime: "text/html", body: "<title>home</title>" + news},
			{url: "https://one.test/docs/", path: "docs/index.html", mime: "text/html", body: "docs", modified: old},
			{
				url:      "https://one.test/docs/long.txt",
				path:     "docs/long.txt",
				mime:     "text/plain",
				charset:  "iso-8859-1",
				body:     long,
				modified: old,
			},
			{url: "https://one.test/find?q=1", path: "find@q=1.html", mime: "text/html", body: "found 1"},
			{url: "https://one.test/find?q=2", path: "find@q=2.html", mime: "text/html", body: "found 2"},
			{url: "https://one.test/a", path: "a.html", mime: "text/html", body: "this is a"},
			{url: "https://one.test/a.html", path: "a~0011223344.html", mime: "text/html", body: "this is a.html"},
			{url: "https://one.test/caf%C3%A9/x", path: "café/x.html", mime: "text/html", body: "coffee"},
			{url: "https://one.test/odd//x.html", path: "odd/%2F/x.html", mime: "text/html", body: "odd"},
			{url: "https://one.test/odd//x.png", path: "odd/%2F/x.png", mime: "image/png", body: "picture"},
			{url: "https://one.test/no-type", path: "no-type", body: "??"},
			{url: "https://one.test/pic.png", path: "pic.png", mime: "image/png", body: strings.Repeat("png", 1000)},
			{url: "https://cdn.test/lib.css", path: "@cdn.test/lib.css", mime: "text/css", body: "p{}"},
		}, redirects: []fakeRedirect{
			{"https://one.test/old", "https://one.test/docs/", 301},
			{"https://one.test/index.html", "https://one.test/", 308},
			{"https://one.test/to-cdn", "https://cdn.test/lib.css", 302},
			{"https://one.test/to-a.html", "https://one.test/a.html", 303},
			{"https://one.test/away", "https://elsewhere.test/x?y", 307},
			{"https://one.test/odd-status", "https://one.test/docs/", 299},
		}}
	}
	v1, v2, v3 := one(1, day1, "news of day 1"), one(2, day2, "news of day 2"), one(3, day3, "news of day 2")
	v1.files = append(v1.files, fakeFile{
		url:  "https://one.test/gone.html",
		path: "gone.html",
		mime: "text/html",
		body: "gone",
	})
	v3.files = append(v3.files, fakeFile{
		url:  "https://one.test/new.html",
		path: "new.html",
		mime: "text/html",
		body: "new",
	})
	two := &fakeVersion{Version: Version{1, day1}, files: []fakeFile{
		{url: "http://two.test:81/sub/start.html", path: "sub/start.html", mime: "text/html", body: "two"},
	}}
	sites := fakeSites{
		"one": {primary: "https://one.test", entry: "index.html", versions: []*fakeVersion{v1, v2, v3}},
		"two": {primary: "http://two.test:81", entry: "sub/start.html", versions: []*fakeVersion{two}},
	}
	for _, s := range sites {
		for _, v := range s.versions {
			v.site = s
		}
	}
	return sites
}

func testServer(t *testing.T, change func(*Options)) *Server {
	t.Helper()
	o := Options{Sites: testSites(), Base: "mirrors.test", RedirectMissing: true}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask makes one request; headers are pairs.
func ask(t *testing.T, h http.Handler, method, address string, headers ...string) *http.Response {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	r := httptest.NewRequest(method, address, nil)
	r.Host = u.Host
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

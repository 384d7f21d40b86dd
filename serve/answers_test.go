// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// filesKept returns the paths of the files that a server has in memory.
func filesKept(s *Server) map[string]bool {
	all := map[string]bool{}
	for _, a := range s.answers.kept {
		if a.body.Load() != nil {
			all[a.r.Path] = true
		}
	}
	return all
}

// The first, second and third answer are the same to the last field, whether the file is opened or in memory,
// and those of a server that remembers nothing.
func TestAnswersStayTheSame(t *testing.T) {
	m := mirrorSite(t)
	m.web.Set(origin+"/n", mirrortest.HTML("n", strings.Repeat("All work and no play. ", 200)))
	m.mirror.Run()
	plain, err := New(Options{Sites: m.sites, Base: "mirrors.test", KeepBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	const byHost, byPath = "http://test.mirrors.test", "http://mirrors.test/test"
	tag := ask(t, plain, "GET", byHost+"/latin.txt").Header.Get("Etag")
	for _, tc := range []struct {
		method, address string
		headers         []string
	}{
		{"GET", byHost + "/", nil},
		{"HEAD", byHost + "/", nil},
		{"GET", byPath + "/", nil},
		{"GET", "http://test.localhost:81/", nil},
		{"GET", byHost + "/find?q=1", nil},
		{"GET", byHost + "/find?", nil},
		{"GET", byHost + "/moved", nil},
		{"GET", byHost + "/never", nil},
		{"POST", byHost + "/", nil},
		{"GET", byHost + "/latin.txt", nil},
		{"GET", byHost + "/latin.txt", []string{"If-None-Match", tag}},
		{"GET", byHost + "/latin.txt", []string{"If-Match", `"other"`}},
		{"GET", byHost + "/latin.txt", []string{"If-Modified-Since", "Tue, 04 Feb 2020 04:05:06 GMT"}},
		{"GET", byHost + "/latin.txt", []string{"If-Unmodified-Since", "Mon, 03 Feb 2019 04:05:06 GMT"}},
		{"GET", byHost + "/latin.txt", []string{"Range", "bytes=1-"}},
		{"GET", byHost + "/latin.txt", []string{"Range", "bytes=7-"}},
		{"GET", byHost + "/latin.txt", []string{"Range", "bytes=0-0", "If-Range", `"other"`}},
		{"GET", byHost + "/n", nil},
		{"GET", byHost + "/n", []string{"Accept-Encoding", "gzip"}},
		{"HEAD", byHost + "/n", []string{"Accept-Encoding", "br;q=0.5, gzip"}},
		{"GET", byHost + "/latin.txt", []string{"Accept-Datetime", "Tue, 04 Feb 2020 04:05:06 GMT"}},
		{"GET", byHost + "/latin.txt", []string{"Service-Worker", "script"}},
	} {
		what := fmt.Sprint(tc.method, " ", tc.address, " ", tc.headers)
		want := ask(t, plain, tc.method, tc.address, tc.headers...)
		wantBody := bodyOf(t, want)
		for i := range 4 {
			got := ask(t, m.server, tc.method, tc.address, tc.headers...)
			if got.StatusCode != want.StatusCode || bodyOf(t, got) != wantBody ||
				!maps.EqualFunc(got.Header, want.Header, slices.Equal[[]string]) {
				t.Errorf("%s, time %d: %d %v, want %d %v", what, i+1, got.StatusCode, got.Header,
					want.StatusCode, want.Header)
			}
		}
	}
	if got := filesKept(m.server); !got["index.html"] || !got["latin.txt"] || len(plain.answers.kept) != 0 {
		t.Errorf("in memory: %v; without memory %d", got, len(plain.answers.kept))
	}
}

// What is published is served at once, what is rolled back too, and what is taken out is not served any more.
func TestAnswersFollowPublish(t *testing.T) {
	m := mirrorSite(t)
	see := func(path, want string) {
		t.Helper()
		for i := range 3 {
			got := bodyOf(t, ask(t, m.server, "GET", "http://test.mirrors.test"+path))
			if !strings.Contains(got, want) {
				t.Errorf("%s, time %d: %q, want %q", path, i+1, got, want)
			}
		}
	}
	see("/n", "number 0")
	see("/docs/page", "Page")
	m.web.Set(origin+"/n", mirrortest.HTML("n", "number 1"))
	m.mirror.Run()
	see("/n", "number 1")
	see("/docs/page", "Page")
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
	if err := os.RemoveAll(filepath.Join(m.mirror.Dir, "sites", "test", "current")); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, m.server, "GET", "http://test.mirrors.test/n"); got.StatusCode != http.StatusNotFound {
		t.Errorf("of a mirror without a published version: %d", got.StatusCode)
	}
}

// A file that is missing or damaged is never remembered for another: what is in memory is what the table
// says.
func TestAnswersOfDamagedFiles(t *testing.T) {
	m := mirrorSite(t)
	at := func(path string) string { return filepath.Join(m.mirror.Dir, "sites", "test", "current", path) }
	get := func(path string, status int) string {
		t.Helper()
		res := ask(t, m.server, "GET", "http://test.mirrors.test"+path)
		if res.StatusCode != status {
			t.Fatalf("%s: %d, want %d", path, res.StatusCode, status)
		}
		return bodyOf(t, res)
	}
	if err := os.Remove(at("latin.txt")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		get("/latin.txt", http.StatusServiceUnavailable)
	}
	if err := os.WriteFile(at("latin.txt"), []byte("\xb1x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := get("/latin.txt", http.StatusOK); got != "\xb1x" {
			t.Errorf("a damaged file: %q", got)
		}
	}
	if err := os.WriteFile(at("latin.txt"), []byte("\xb1\xe6"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := get("/latin.txt", http.StatusOK); got != "\xb1\xe6" {
		t.Errorf("a repaired file: %q", got)
	}
	want := get("/", http.StatusOK)
	get("/", http.StatusOK)
	if err := os.Remove(at("index.html")); err != nil {
		t.Fatal(err)
	}
	if got := get("/", http.StatusOK); got != want || !filesKept(m.server)["index.html"] {
		t.Errorf("a file that was in memory: %q, want %q", got, want)
	}
}

// Memory is bounded, whatever is requested, and what is counted is what is there.
func TestAnswersAreBounded(t *testing.T) {
	c := newAnswers(1 << 20)
	key := func(i int) answerKey { return answerKey{name: "x", state: 1, path: fmt.Sprintf("/%d", i)} }
	var all sync.WaitGroup
	for k := range 4 {
		all.Go(func() {
			for i := range 2000 {
				a := newServed(Resource{Path: "x", MIME: "text/plain", Size: 9000})
				a.remember(key((i*7+k)%1500), http.Header{"Link": {strings.Repeat("l", i%300)}})
				c.put(a)
				c.hold(a, make([]byte, i*31%9000))
				c.hold(a, make([]byte, 100)) // is there already
				c.get(key(i))
			}
		})
	}
	all.Wait()
	sum := int64(0)
	for k, a := range c.kept {
		sum += a.cost
		if b := a.body.Load(); b != nil {
			sum += int64(len(*b))
		}
		if a.key != k {
			t.Errorf("%v is kept as %v", a.key, k)
		}
	}
	if sum != c.bytes || sum > c.limit || sum < c.limit/2 {
		t.Errorf("%d bytes kept, %d counted, %d allowed", sum, c.bytes, c.limit)
	}
	gone := newServed(Resource{Path: "x"})
	gone.remember(key(-1), nil)
	c.hold(gone, make([]byte, 100))
	if gone.body.Load() != nil || c.bytes != sum {
		t.Error("bytes are held of what is not kept")
	}
	if c.get(answerKey{name: "x", path: "/1"}) != nil {
		t.Error("found without a state")
	}
}

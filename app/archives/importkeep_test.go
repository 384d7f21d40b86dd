// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/mirror"
	"mirrord/scheduler/control"
	"mirrord/testing/apptest"
)

// failing is a site of which some URLs fail.
type failing struct {
	mu    sync.Mutex
	fails map[string]int // status, by URL without host
	asked map[string]int
}

func (s *failing) set(fails map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails, s.asked = fails, map[string]int{}
}

func (s *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	status := s.fails[r.URL.String()]
	s.asked[r.URL.String()]++
	s.mu.Unlock()
	page := func(title, body string) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><p>%s %s</p>", title, strings.Repeat(title+" ", 20), body)
	}
	if status != 0 {
		http.Error(w, "no", status)
		return
	}
	switch r.URL.String() {
	case "/":
		page("Home", `<a href="list?of=birds">birds</a> <a href="sub/">sub</a> <a href="sub/index.html">sub</a> `+
			`<a href="gone.html">gone</a>`)
	case "/list?of=birds":
		page("Birds", `<img src="/img/owl.png"> <a href="/">home</a> <a href="sub/deep.html?x=1#y">deep</a>`+
			`<a href="http://other.test/">other</a>`)
	case "/sub/", "/sub/index.html": // one file
		page("Sub", `<a href="../list?of=birds">birds</a>`)
	case "/sub/deep.html?x=1":
		page("Deep", `<a href="../">up</a>`)
	case "/gone.html":
		page("Gone", `<a href="/">home</a>`)
	case "/img/owl.png":
		w.Header().Set("Content-Type", "image/png")
		fmt.Fprint(w, "\x89PNG an owl")
	default:
		http.NotFound(w, r)
	}
}

// importFailing makes a mirror of the site, exports it and imports it again as "copy".
func importFailing(t *testing.T) (a *env.App, site *failing, clock *time.Time, want map[string]string) {
	t.Helper()
	site = new(failing)
	site.set(nil)
	srv := httptest.NewServer(site)
	t.Cleanup(srv.Close)
	a, clock = apptest.TestApp(t.TempDir()), new(time.Time)
	a.Jobs, *clock = t.TempDir(), time.Unix(apptest.ChangingStart, 0)
	a.Now = func() time.Time { return *clock }
	for _, name := range []string{"site", "copy"} {
		apptest.Put(t, a.Jobs, name+".toml", apptest.GrowingJob(srv.URL))
	}
	if sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "site"}); err != nil || sum.Files != 6 {
		t.Fatalf("%+v, %v", sum, err)
	}
	file := filepath.Join(t.TempDir(), "site.phm")
	if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "site", Out: file}); err != nil {
		t.Fatal(err)
	}
	if _, err := archives.Import(t.Context(), a, file, "copy"); err != nil {
		t.Fatal(err)
	}
	return a, site, clock, treeOf(t, a, "copy")
}

// treeOf returns the files of the published version, and verifies the mirror.
func treeOf(t *testing.T, a *env.App, name string) map[string]string {
	t.Helper()
	v, err := care.Verify(t.Context(), a, name, true)
	if err != nil || v.Kept.Problems+len(v.Report.Problems) > 0 {
		t.Errorf("verify: %+v, %v, %v", v.KeptProblems, v.Report, err)
	}
	dir, files := filepath.Join(apptest.StateOf(t, a), "sites", name, "current"), map[string]string{}
	err = filepath.Walk(dir+"/.", func(p string, fi os.FileInfo, err error) error {
		if err == nil && !fi.IsDir() && !strings.HasPrefix(fi.Name(), "phm.") {
			var b []byte
			b, err = os.ReadFile(p)
			files[strings.TrimPrefix(p, dir+"/")] = string(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// nextDay makes the run of the next day.
func nextDay(t *testing.T, a *env.App, clock *time.Time) *mirror.Summary {
	t.Helper()
	*clock = clock.Add(24 * time.Hour)
	sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "copy",
		RunRequest: control.RunRequest{Full: true}})
	if _, ok := errors.AsType[*env.Error](err); (err != nil) && !ok {
		t.Fatalf("%+v, %v", sum, err)
	}
	return sum
}

// recordsOf returns the records of an export as a web archive.
func recordsOf(t *testing.T, a *env.App) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "copy.warc.gz")
	if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "copy", Out: file}); err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(strings.NewReader(apptest.ReadFile(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A page that fails in the first run after an import, or is not found once, stays as it was imported, and
// so do pages that only such pages link to.
func TestImportedStaysWhileItFails(t *testing.T) {
	a, site, clock, want := importFailing(t)
	site.set(map[string]int{"/list?of=birds": 500, "/img/owl.png": 403, "/gone.html": 404, "/sub/": 500})
	sum := nextDay(t, a, clock)
	if got := treeOf(t, a, "copy"); !maps.Equal(got, want) || sum.Removed > 0 {
		t.Fatalf("%+v\n%q\nnot\n%q", sum, got, want)
	}
	if site.asked["/sub/deep.html?x=1"] == 0 || site.asked["/img/owl.png"] == 0 {
		t.Errorf("the links of a page that failed were not requested: %v", site.asked)
	}
	records := recordsOf(t, a)
	if n := strings.Count(records, "\nWARC-Type: resource\r\n"); n != 4 ||
		!strings.Contains(records, "WARC-Type: resource\r\n") || !strings.Contains(records, "of=birds\r\n") {
		t.Errorf("%d records of what the site did not send:\n%s", n, records)
	}
	again, file := maps.Clone(want), filepath.Join(t.TempDir(), "all.phm")
	if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "copy", Out: file,
		AllVersions: true}); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, a.Jobs, "again.toml", apptest.ReadFile(t, filepath.Join(a.Jobs, "copy.toml")))
	if _, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{file},
		As: "again"}); err != nil {
		t.Fatal(err)
	}
	for name, text := range treeOf(t, a, "again") { // "/sub/" and its index have other bodies, and two files
		if was, ok := want[name]; ok && (text != was) && name != "index.html" {
			t.Errorf("%s with its history:\n%s\nnot\n%s", name, text, was)
		}
		delete(again, name)
	}
	if len(again) > 0 {
		t.Errorf("its history does not have %q", again)
	}

	site.set(map[string]int{"/gone.html": 404})
	sum = nextDay(t, a, clock)
	delete(want, "gone.html")
	got := treeOf(t, a, "copy")
	if sum.Removed != 1 || sum.Gone != 1 || len(got) != len(want) {
		t.Errorf("gone twice:\n%+v\n%q", sum, got)
	}
	for name := range want {
		if (name != "index.html") && (got[name] != want[name]) {
			t.Errorf("%s came, and is\n%s\nnot\n%s", name, got[name], want[name])
		}
	}
	if site.asked["/list?of=birds"] != 1 || site.asked["/img/owl.png"] != 1 {
		t.Errorf("what failed was not requested once: %v", site.asked)
	}
	records = recordsOf(t, a)
	if !strings.Contains(records, "of=birds\r\n") {
		t.Errorf("what came has no record:\n%s", records)
	}
	old := filepath.Join(t.TempDir(), "old")
	x := archives.ExportRequest{Job: "copy", Out: old, Version: 1}
	x.Format = "dir"
	if _, err := archives.Export(t.Context(), a, x); err != nil {
		t.Errorf("the imported version: %v", err)
	}
}

// A page that fails for many runs follows the mirror: the pages it links to move and are removed.
func TestImportedFollowsTheMirror(t *testing.T) {
	a, site, clock, want := importFailing(t)
	for n := range 6 {
		site.set(map[string]int{"/list?of=birds": 500, "/sub/deep.html?x=1": 410, "/img/owl.png": 410})
		sum := nextDay(t, a, clock)
		if got := treeOf(t, a, "copy"); (n == 0 && len(got) != len(want)) || (n > 0 && len(got) != len(want)-2) {
			t.Fatalf("run %d: %+v\n%q", n, sum, got)
		}
	}
}

// The same holds of pages after a rebuild of the database.
func TestRebuiltStaysWhileItFails(t *testing.T) {
	a, site, clock, want := importFailing(t)
	nextDay(t, a, clock)
	name := filepath.Join(apptest.StateOf(t, a), "sites", "copy", "site.db")
	if err := os.WriteFile(name, bytes.Repeat([]byte("x"), 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(filepath.Join(apptest.StateOf(t, a), "sites", "copy", "log"))
	if r, err := care.Rebuild(t.Context(), a, "copy"); err != nil || !r.Rebuilt {
		t.Fatalf("%+v, %v", r, err)
	}
	site.set(map[string]int{"/list?of=birds": 500, "/img/owl.png": 500, "/gone.html": 404})
	sum := nextDay(t, a, clock)
	if got := treeOf(t, a, "copy"); !maps.Equal(got, want) {
		t.Errorf("%+v\n%q\nnot\n%q", sum, got, want)
	}
}

// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/archive/wacz"
	"mirrord/archive/warc"
	"mirrord/scheduler/control"
	"mirrord/store"
)

// growing is a site with pages that come, go and change from version to version.
type growing struct {
	version     atomic.Int64
	notModified atomic.Int64 // answers 304
	full        atomic.Int64 // answers 200
}

func (g *growing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := g.version.Load()
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
			g.notModified.Add(1)
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
			g.notModified.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	g.full.Add(1)
	fmt.Fprint(w, body)
}

// mirrorGrowing makes versions of the site.
func mirrorGrowing(t *testing.T, versions int64) (
	a *App, g *growing, srv *httptest.Server, now *atomic.Int64,
) {
	t.Helper()
	a, g, now = testApp(t.TempDir()), new(growing), new(atomic.Int64)
	srv = httptest.NewServer(g)
	t.Cleanup(srv.Close)
	a.Jobs = t.TempDir()
	a.Now = func() time.Time { return time.Unix(now.Load(), 0) }
	put(t, a.Jobs, "site.toml", growingJob(srv.URL))
	for v := range versions {
		g.version.Store(v + 1)
		now.Store(changingStart + v*86400)
		if sum, err := RunNow(t.Context(), a, fully("site")); err != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
		now.Add(3600) // 404 is confirmed by a second look
		if sum, err := RunNow(t.Context(), a, fully("site")); err != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
	}
	return a, g, srv, now
}

func growingJob(url string) string {
	return "url = \"" + url + "/\"\nfull_runs = 1000\n[polite]\ndelay = \"0s\"\nfactor = 0\n[limits]\n" +
		"max_delete = \"100%\"\n[publish]\nkeep = \"all\"\n"
}

// versionsOf describes the versions of a mirror: when, and the file table of each.
func versionsOf(t *testing.T, a *App, name string) (out []string) {
	t.Helper()
	st, err := a.MustState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var vs []store.Version
	if err := view(st, name, func(s *store.Site) error {
		vs, err = s.Versions.List()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, v := range vs {
		dir := filepath.Join(t.TempDir(), "tree")
		x := ExportRequest{Job: name, Version: v.Number, Out: dir}
		x.Format = "dir"
		if _, err := Export(t.Context(), a, x); err != nil {
			t.Fatal(err)
		}
		table, err := os.ReadFile(filepath.Join(dir, "phm.files"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v.Time.UTC().Format(time.DateTime)+"\n"+string(table))
	}
	return out
}

// What is exported with all versions comes back as it was: the same versions, files, digests and heads. It
// lives: the next run gets 304.
func TestImportRoundTrip(t *testing.T) {
	a, g, srv, now := mirrorGrowing(t, 3)
	want := versionsOf(t, a, "site")
	for _, form := range []string{"warc.gz", "wacz"} {
		file := filepath.Join(t.TempDir(), "site."+form)
		if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: file, AllVersions: true}); err != nil {
			t.Fatal(err)
		}
		as := "copy-" + form
		put(t, a.Jobs, as+".toml", readFile(t, filepath.Join(a.Jobs, "site.toml")))
		m, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{file}, As: as})
		if err != nil {
			t.Fatal(err)
		}
		got := versionsOf(t, a, as)
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
			t.Errorf("%s: %+v\n%s\nwant\n%s", form, m, g, w)
		}
		again := filepath.Join(t.TempDir(), "again."+form)
		if _, err := Export(t.Context(), a, ExportRequest{Job: as, Out: again, AllVersions: true}); err != nil {
			t.Fatal(err)
		}
		if got, want := sortedRecords(t, again), sortedRecords(t, file); !slices.Equal(got, want) {
			t.Errorf("%s: the export of the imported mirror has the records\n%q\nnot\n%q", form, got, want)
		}
		if form == "wacz" {
			importLives(t, a, g, srv.URL, now, file)
		}
	}
}

// sortedRecords returns the records of a web archive, with their headers.
func sortedRecords(t *testing.T, name string) (all []string) {
	t.Helper()
	file := strings.NewReader(readFile(t, name))
	var data io.Reader = file
	if c, err := wacz.Open(file, file.Size()); err == nil {
		inside, err := c.Records()[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		defer inside.Close()
		data = inside
	}
	w, err := warc.NewReader(data)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for {
		rec, err := w.Next()
		if err == io.EOF {
			break
		}
		block, rerr := io.ReadAll(rec)
		if err := errors.Join(err, rerr); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(rec.Header, "\n", string(block)))
	}
	if len(all) < 5 {
		t.Fatalf("%s has %d records", name, len(all))
	}
	slices.Sort(all)
	return all
}

// A delta with history: an archive and what came since then are imported as one, with all versions. A delta
// without the archive that it builds on, or with another one, is refused.
func TestImportDelta(t *testing.T) {
	a, _, _, _ := mirrorGrowing(t, 3)
	want := strings.Join(versionsOf(t, a, "site"), "\n")
	export := func(name string, x ExportRequest) string {
		t.Helper()
		x.Job, x.Out = "site", filepath.Join(t.TempDir(), name)
		if _, err := Export(t.Context(), a, x); err != nil {
			t.Fatal(err)
		}
		return x.Out
	}
	first := export("1.warc.gz", ExportRequest{Version: 1})
	base := export("2.wacz", ExportRequest{Version: 2, AllVersions: true})
	for _, form := range []string{"warc.gz", "wacz"} {
		rest := export("rest."+form, ExportRequest{Since: "1"})
		delta := export("delta."+form, ExportRequest{Since: "2"})
		for name, files := range map[string][]string{
			"one": {base, delta}, "many": {rest, first}, "both": {rest, base},
		} {
			as := name + "-" + form
			put(t, a.Jobs, as+".toml", readFile(t, filepath.Join(a.Jobs, "site.toml")))
			m, err := ImportAny(t.Context(), a, ImportRequest{Files: files, As: as})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(versionsOf(t, a, as), "\n"); got != want {
				t.Errorf("%s: %+v\n%s\nwant\n%s", as, m, got, want)
			}
		}
		for _, files := range [][]string{{delta}, {first, delta}} {
			_, err := ImportAny(t.Context(), a, ImportRequest{Files: files, As: "none", Job: true})
			if err == nil || !strings.Contains(err.Error(), "record 1 at offset 0: the delta builds on") {
				t.Errorf("on another archive: %v", err)
			}
		}
	}
	for _, since := range []string{"3", "9", "site.phm"} {
		x := ExportRequest{Job: "site", Out: filepath.Join(t.TempDir(), "x.wacz"), Since: since}
		if _, err := Export(t.Context(), a, x); err == nil {
			t.Errorf("since %s is exported", since)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// importLives: of an import a job file was written, and its next run gets 304 for what has not changed.
func importLives(t *testing.T, a *App, g *growing, url string, now *atomic.Int64, file string) {
	t.Helper()
	g.notModified.Store(0)
	g.full.Store(0)
	a.Jobs = t.TempDir()
	m, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{file}, As: "old", Job: true})
	if err != nil || len(m.Versions) != 3 || m.URL != url+"/" || m.Unused != 0 || m.File == "" {
		t.Fatalf("%+v, %v", m, err)
	}
	if n := g.full.Load() + g.notModified.Load(); n != 0 {
		t.Errorf("the import made %d requests", n)
	}
	now.Add(86400)
	set := []string{"polite.delay=0s", "polite.factor=0"}
	sum, err := RunNow(t.Context(), a, RunHere{Job: "old", RunRequest: control.RunRequest{Set: set}})
	if err != nil || sum.Published || sum.Fetched != 0 || sum.Version != 3 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if g.notModified.Load() < 6 || g.full.Load() != 0 { // six files, each of them not sent
		t.Errorf("%d answers 304, %d bodies", g.notModified.Load(), g.full.Load())
	}
	_, err = ImportAny(t.Context(), a, ImportRequest{Files: []string{file}, As: "old"})
	if err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second import: %v", err)
	}
}

// Nothing is left of an import that fails, and what a killed one has left is no obstacle.
func TestImportLeavesNothing(t *testing.T) {
	a, _, _, _ := mirrorGrowing(t, 1)
	file := filepath.Join(t.TempDir(), "site.warc")
	if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: file + ".gz"}); err != nil {
		t.Fatal(err)
	}
	whole := readFile(t, file+".gz")
	put(t, filepath.Dir(file), "cut.warc.gz", whole[:len(whole)-40])
	cut := filepath.Join(filepath.Dir(file), "cut.warc.gz")
	_, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{cut}, As: "cut", Job: true})
	if err == nil || !strings.Contains(err.Error(), cut+": record ") || FieldOf(err) != FieldDamaged {
		t.Errorf("%v", err)
	}
	dir, err := a.State()
	if err != nil {
		t.Fatal(err)
	}
	left := func() string {
		names, err := filepath.Glob(filepath.Join(dir, "sites", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, " ")
	}
	if l := left(); strings.Contains(l, "cut") {
		t.Errorf("left: %s", l)
	}
	st, err := a.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite(store.AsideName("cut")) // as a killed import leaves it
	if err != nil {
		t.Fatal(err)
	}
	if names, err := st.Sites(); err != nil || strings.Contains(strings.Join(names, " "), "cut") {
		t.Errorf("sites: %q, %v", names, err)
	}
	if err := errors.Join(s.Close(), st.Close()); err != nil {
		t.Fatal(err)
	}
	var warned []string
	a.Warn = func(line string) { warned = append(warned, line) }
	r := ImportRequest{Files: []string{cut}, As: "cut", Lenient: true}
	m, err := ImportAny(t.Context(), a, r)
	if err != nil || m.Counted.Damaged != 1 || len(warned) != 1 {
		t.Fatalf("%+v, %v, %q", m, err, warned)
	}
	if l := left(); !strings.HasSuffix(l, "/cut "+filepath.Join(dir, "sites/site")) {
		t.Errorf("left: %s", l)
	}
}

// A damaged record is found whether the mirror wants it or not, and no mirror is made then. Only the digest
// shows the damage; the record is one whose body is read once, when it is taken.
func TestImportChecksAll(t *testing.T) {
	text := strings.Repeat("the same words again ", 1000)
	for name, bad := range map[string]string{"wanted": "/old/", "unwanted": "/other/", "none": ""} {
		var file bytes.Buffer
		w := warc.NewWriter(&file)
		for _, path := range []string{"/", "/old/", "/other/"} {
			body := "<title>A page</title><a href=/old/>old</a>" + text
			sum := warc.SHA256(sha256.Sum256([]byte(body)))
			if path == bad {
				body = strings.Replace(body, "same", "some", 1)
			}
			if _, err := w.Write(&warc.RecordDraft{
				Type:   warc.Response,
				URL:    "http://h.test" + path,
				Date:   time.Unix(changingStart, 0),
				Fields: []warc.HeaderField{{Name: "WARC-Payload-Digest", Value: sum}},
				Head:   []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
				Body:   strings.NewReader(body),
				Size:   int64(len(body)),
			}); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		put(t, dir, "x.warc.gz", file.String())
		a := testApp(t.TempDir())
		a.Jobs = t.TempDir()
		put(t, a.Jobs, "old.toml", "url = \"http://h.test/\"\n[scope]\nexclude = [\"/other/*\"]\n")
		m, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{dir + "/x.warc.gz"}, As: "old"})
		if name == "none" {
			if err != nil || len(m.Versions) != 1 || m.Unused != 1 {
				t.Errorf("%s: %+v, %v", name, m, err)
			}
			continue
		}
		if !errors.Is(err, warc.ErrDigest) || FieldOf(err) != FieldDamaged ||
			!strings.Contains(err.Error(), "x.warc.gz: record ") {
			t.Errorf("%s: %v", name, err)
		}
		state, serr := a.State()
		left, gerr := filepath.Glob(filepath.Join(state, "sites", "*"))
		if serr != nil || gerr != nil || len(left) > 0 {
			t.Errorf("%s: left %q, %v, %v", name, left, serr, gerr)
		}
	}
}

// fully is a run of a job that requests every known URL.
func fully(name string) RunHere {
	return RunHere{Job: name, RunRequest: control.RunRequest{Full: true}}
}

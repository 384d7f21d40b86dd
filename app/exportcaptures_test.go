// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"compress/gzip"
	"context"
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
	"mirrord/job"
	"mirrord/store"
)

// changing is a site of which some pages change with each version, mirrored in several.
type changing struct {
	*App
	url     string
	version atomic.Int64
	now     atomic.Int64 // Unix seconds
}

const changingStart = 1_790_000_000

func (s *changing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := s.version.Load()
	w.Header().Set("Set-Cookie", "session=secret")
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprintf(z, "<title>Caf\xe9 %d</title><a href=same.html>s</a>", min(v, 2))
		fmt.Fprint(z, "<a href=old>o</a><img src=big.bin>")
		z.Close()
	case "/same.html":
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "<title>Same</title>")
	case "/old":
		http.Redirect(w, r, "/same.html", http.StatusMovedPermanently)
	case "/big.bin":
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16))
	default:
		http.NotFound(w, r)
	}
}

// mirrorChanging makes versions 1 and 2 of the site, and looks once more without a change.
func mirrorChanging(t *testing.T) *changing {
	t.Helper()
	s := &changing{App: testApp(t.TempDir())}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	s.mirror(t, 3)
	return s
}

// mirror makes runs, one a day.
func (s *changing) mirror(t *testing.T, runs int64) {
	t.Helper()
	s.App.Jobs = t.TempDir()
	s.App.Now = func() time.Time { return time.Unix(s.now.Load(), 0) }
	put(t, s.App.Jobs, "site.toml", "url = \""+s.url+"/\"\nfull_runs = 1000\n[polite]\ndelay = \"0s\"\n"+
		"factor = 0\n[limits]\nmax_stale = 0\n[publish]\nkeep = \"all\"\n")
	for v := range runs {
		s.version.Store(v + 1)
		s.now.Store(changingStart + v*86400)
		if sum, err := RunNow(t.Context(), s.App, RunHere{Job: "site"}); err != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
	}
}

// capturedRecord is a record of an exported file.
type capturedRecord struct {
	kind, path, date, head, body string
	header                       warc.Header
}

// recordsIn reads an exported file of records, which must be right.
func recordsIn(t *testing.T, s *changing, r io.Reader) (all []capturedRecord) {
	t.Helper()
	w, err := warc.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for {
		rec, err := w.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := rec.Message()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(rec)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			continue
		}
		all = append(all, capturedRecord{
			kind:   rec.Type(),
			path:   strings.TrimPrefix(rec.URL(), s.url),
			date:   rec.Date().Format("01-02"),
			head:   string(m.Raw),
			body:   string(body),
			header: rec.Header,
		})
	}
}

func (r *capturedRecord) brief() string { return r.kind + " " + r.path + " " + r.date }

// An export of all versions has what came, each at its date, with the heads of the answers; what came again
// refers to it.
func TestExportAllVersions(t *testing.T) {
	s := mirrorChanging(t)
	out := filepath.Join(t.TempDir(), "site.warc.gz")
	x, err := Export(t.Context(), s.App, ExportRequest{Job: "site", Out: out, AllVersions: true})
	if err != nil || x.Versions != 2 || x.Files != 5 || x.Made != 0 || x.Version != 2 {
		t.Fatalf("%+v, %v", x, err)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := recordsIn(t, s, f)
	var brief []string
	for i := range all {
		r := &all[i]
		brief = append(brief, r.brief())
		if strings.Contains(r.head, "Set-Cookie") || r.header.Get("WARC-Mirrord-Head") == "made" {
			t.Errorf("%s has the head %q", r.brief(), r.head)
		}
	}
	slices.Sort(brief)
	day := func(n int64) string { return time.Unix(changingStart+n*86400, 0).UTC().Format("01-02") }
	want := []string{
		"response / " + day(0), "response / " + day(1), "response /big.bin " + day(0), "response /old " + day(0),
		"response /same.html " + day(0), "revisit / " + day(2), "revisit /big.bin " + day(2),
		"revisit /old " + day(2), "revisit /same.html " + day(2),
	}
	if !slices.Equal(brief, want) {
		t.Errorf("records\n%s\nwant\n%s", strings.Join(brief, "\n"), strings.Join(want, "\n"))
	}
	i := slices.IndexFunc(all, func(r capturedRecord) bool { return r.brief() == "response / "+day(1) })
	if r := all[max(i, 0)]; !strings.Contains(r.body, "Caf\xe9 2") ||
		!strings.HasPrefix(r.head, "HTTP/1.1 200 OK\r\n") ||
		!strings.Contains(r.head, "X-Orig-Content-Encoding: gzip\r\n") ||
		!strings.Contains(r.head, fmt.Sprintf("\r\nContent-Length: %d\r\n", len(r.body))) {
		t.Errorf("the page of version 2 is %q, %q", r.head, r.body)
	}
	i = slices.IndexFunc(all, func(r capturedRecord) bool { return r.brief() == "response /old "+day(0) })
	if r := all[max(i, 0)]; !strings.HasPrefix(r.head, "HTTP/1.1 301 ") ||
		!strings.Contains(r.head, "Location: /same.html\r\n") || r.body != "" {
		t.Errorf("the redirect is %q, %q", r.head, r.body)
	}
}

// Heads that are not stored are made, and marked as made: those of a body and of what came again are one.
func TestExportMadeHeads(t *testing.T) {
	s := mirrorChanging(t)
	state, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := filepath.Glob(filepath.Join(state, "sites/site/heads.*"))
	if err != nil || len(stored) == 0 {
		t.Fatalf("%q, %v", stored, err)
	}
	for _, name := range stored {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	o := ExportRequest{Job: "site", Out: "-", Format: "warc"}
	o.Stream, o.AllVersions = &out, true
	if _, err := Export(t.Context(), s.App, o); err != nil {
		t.Fatal(err)
	}
	first := map[string]string{}
	for _, r := range recordsIn(t, s, &out) {
		if r.header.Get("WARC-Mirrord-Head") != "made" {
			t.Errorf("%s is not marked", r.brief())
		}
		if r.kind == warc.Response {
			first[r.path] = r.head
		} else if r.head != first[r.path] {
			t.Errorf("%s has the head %q, not %q", r.brief(), r.head, first[r.path])
		}
	}
	want := "HTTP/1.1 301 Moved Permanently\r\nLocation: " + s.url + "/same.html\r\nContent-Length: 0\r\n\r\n"
	if first["/old"] != want {
		t.Errorf("the redirect has the head %q, want %q", first["/old"], want)
	}
}

// A WACZ of one version has its pages with titles, and what reads it by range finds each record; cookies are
// in it when they are wanted.
func TestExportWACZ(t *testing.T) {
	s := mirrorChanging(t)
	out := filepath.Join(t.TempDir(), "one.wacz")
	o := ExportRequest{Job: "site", Out: out, Version: 1}
	o.Cookies = true
	x, err := Export(t.Context(), s.App, o)
	if err != nil || x.Versions != 1 || x.Version != 1 || x.Files != 4 || x.Revisits != 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	file, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	c, err := wacz.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if c.About.MainURL != s.url+"/" || c.About.Title != "Café 1" {
		t.Errorf("%+v", c.About)
	}
	data, err := c.Records()[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	if all := recordsIn(t, s, data); len(all) != 4 ||
		!strings.Contains(all[0].head, "Set-Cookie: session=secret\r\n") {
		t.Errorf("%+.300v", all)
	}
	if v, err := Verify(t.Context(), s.App, out, true); err != nil || v.Count() != 0 || v.Files != 5 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	var stream bytes.Buffer
	o.Out, o.Stream, o.Format = "-", &stream, "wacz"
	if _, err := Export(t.Context(), s.App, o); err != nil || !bytes.Equal(stream.Bytes(), file) {
		t.Errorf("to a stream: %d bytes, not %d, %v", stream.Len(), len(file), err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, err := Export(t.Context(), s.App, o); err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("without a place for temporary files: %v", err)
	}
}

// What cannot be exported is said, and nothing is left of it.
func TestExportCapturesRefused(t *testing.T) {
	s := mirrorChanging(t)
	dir := t.TempDir()
	put(t, dir, "notes.wacz", "mine")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, c := range map[string]struct {
		ctx  context.Context
		o    ExportRequest
		want string
	}{
		"flattened":    {t.Context(), ExportRequest{Format: "warc", Flatten: true}, "flattened"},
		"no archive":   {t.Context(), ExportRequest{Format: "zim", AllVersions: true}, "in a web archive"},
		"no version":   {t.Context(), ExportRequest{Format: "warc", Version: 7}, "no version 7"},
		"interrupted":  {ended, ExportRequest{Format: "warc"}, "canceled"},
		"another file": {t.Context(), ExportRequest{Out: filepath.Join(dir, "notes.wacz")}, "no WACZ archive"},
	} {
		c.o.Job = "site"
		if c.o.Out == "" {
			c.o.Out = filepath.Join(dir, "out")
		}
		if _, err := Export(c.ctx, s.App, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
	_, err := Get(t.Context(), s.App, GetRequest{Job: &job.Job{Name: "x"}, Out: filepath.Join(dir, "x.wacz")})
	if err == nil || !strings.Contains(err.Error(), "kept") {
		t.Errorf("get of a web archive: %v", err)
	}
	refuseImported(t, s)
	state, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(state, "sites/site/packs/*"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("%q, %v", packs, err)
	}
	for _, p := range packs {
		if err := os.Truncate(p, 20); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Export(t.Context(), s.App, ExportRequest{Job: "site", Out: filepath.Join(dir, "bad.warc.gz")})
	if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), s.url) {
		t.Errorf("a damaged body: %v", err)
	}
}

// refuseImported: a mirror that was imported has no answers to export.
func refuseImported(t *testing.T, s *changing) {
	t.Helper()
	phm := filepath.Join(t.TempDir(), "site.phm")
	if _, err := Export(t.Context(), s.App, ExportRequest{Job: "site", Out: phm}); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(t.Context(), s.App, phm, "copy"); err != nil {
		t.Fatal(err)
	}
	_, err := Export(t.Context(), s.App, ExportRequest{Job: "copy", Out: phm + ".wacz"})
	if err == nil || !strings.Contains(err.Error(), "imported") {
		t.Errorf("%v", err)
	}
}

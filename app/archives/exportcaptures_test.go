// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/app/runs"
	"mirrord/archive/warc"
	"mirrord/job"
	"mirrord/store/disk"
	"mirrord/testing/apptest"
)

// MirrorChanging makes versions 1 and 2 of the site, and looks once more without a change.
func MirrorChanging(t *testing.T) *apptest.Changing {
	t.Helper()
	s := &apptest.Changing{App: apptest.TestApp(t.TempDir())}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	s.Mirror(t, 3)
	return s
}

// capturedRecord is a record of an exported file.
type capturedRecord struct {
	kind, path, date, Head, body string
	header                       warc.Header
}

// RecordsIn reads an exported file of records, which must be right.
func RecordsIn(t *testing.T, s *apptest.Changing, r io.Reader) (all []capturedRecord) {
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
			path:   strings.TrimPrefix(rec.URL(), s.URL),
			date:   rec.Date().Format("01-02"),
			Head:   string(m.Raw),
			body:   string(body),
			header: rec.Header,
		})
	}
}

func (r *capturedRecord) brief() string { return r.kind + " " + r.path + " " + r.date }

// An export of all versions has what came, each at its date, with the heads of the answers; what came again
// refers to it.
func TestExportAllVersions(t *testing.T) {
	s := MirrorChanging(t)
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
	all := RecordsIn(t, s, f)
	var brief []string
	for i := range all {
		r := &all[i]
		brief = append(brief, r.brief())
		if strings.Contains(r.Head, "Set-Cookie") || r.header.Get("WARC-Mirrord-Head") == "made" {
			t.Errorf("%s has the head %q", r.brief(), r.Head)
		}
	}
	slices.Sort(brief)
	day := func(n int64) string { return time.Unix(apptest.ChangingStart+n*86400, 0).UTC().Format("01-02") }
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
		!strings.HasPrefix(r.Head, "HTTP/1.1 200 OK\r\n") ||
		!strings.Contains(r.Head, "X-Orig-Content-Encoding: gzip\r\n") ||
		!strings.Contains(r.Head, fmt.Sprintf("\r\nContent-Length: %d\r\n", len(r.body))) {
		t.Errorf("the page of version 2 is %q, %q", r.Head, r.body)
	}
	i = slices.IndexFunc(all, func(r capturedRecord) bool { return r.brief() == "response /old "+day(0) })
	if r := all[max(i, 0)]; !strings.HasPrefix(r.Head, "HTTP/1.1 301 ") ||
		!strings.Contains(r.Head, "Location: /same.html\r\n") || r.body != "" {
		t.Errorf("the redirect is %q, %q", r.Head, r.body)
	}
}

// Heads that are not stored are made, and marked as made: those of a body and of what came again are one.
func TestExportMadeHeads(t *testing.T) {
	s := MirrorChanging(t)
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
	for _, r := range RecordsIn(t, s, &out) {
		if r.header.Get("WARC-Mirrord-Head") != "made" {
			t.Errorf("%s is not marked", r.brief())
		}
		if r.kind == warc.Response {
			first[r.path] = r.Head
		} else if r.Head != first[r.path] {
			t.Errorf("%s has the head %q, not %q", r.brief(), r.Head, first[r.path])
		}
	}
	want := "HTTP/1.1 301 Moved Permanently\r\nLocation: " + s.URL + "/same.html\r\nContent-Length: 0\r\n\r\n"
	if first["/old"] != want {
		t.Errorf("the redirect has the head %q, want %q", first["/old"], want)
	}
}

// What cannot be exported is said, and nothing is left of it.
func TestExportCapturesRefused(t *testing.T) {
	s := MirrorChanging(t)
	dir := t.TempDir()
	apptest.Put(t, dir, "notes.wacz", "mine")
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
	_, err := runs.Get(t.Context(), s.App, runs.GetRequest{Job: &job.Job{Name: "x"}, Out: filepath.Join(dir,
		"x.wacz")})
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
	if !errors.Is(err, disk.ErrDamaged) || !strings.Contains(err.Error(), s.URL) {
		t.Errorf("a damaged body: %v", err)
	}
}

// refuseImported: a mirror that was imported has no answers to export.
func refuseImported(t *testing.T, s *apptest.Changing) {
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

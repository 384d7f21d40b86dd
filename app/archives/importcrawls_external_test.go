// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/archive/wacz"
	"mirrord/archive/warc"
	"mirrord/scheduler/control"
	"mirrord/testing/apptest"
	"mirrord/testing/wholetest"
)

// An export with all versions is imported unchanged: the same versions, files, digests and heads. It
// lives: the next run gets 304.
func TestImportRoundTrip(t *testing.T) {
	a, g, srv, now := apptest.MirrorGrowing(t, 3)
	want := wholetest.VersionsOf(t, a, "site")
	for _, form := range []string{"warc.gz", "wacz"} {
		file := filepath.Join(t.TempDir(), "site."+form)
		if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "site", Out: file,
			AllVersions: true}); err != nil {
			t.Fatal(err)
		}
		as := "copy-" + form
		apptest.Put(t, a.Jobs, as+".toml", apptest.ReadFile(t, filepath.Join(a.Jobs, "site.toml")))
		m, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{file}, As: as})
		if err != nil {
			t.Fatal(err)
		}
		got := wholetest.VersionsOf(t, a, as)
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
			t.Errorf("%s: %+v\n%s\nwant\n%s", form, m, g, w)
		}
		again := filepath.Join(t.TempDir(), "again."+form)
		if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: as, Out: again,
			AllVersions: true}); err != nil {
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
	file := strings.NewReader(apptest.ReadFile(t, name))
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
	a, _, _, _ := apptest.MirrorGrowing(t, 3)
	want := strings.Join(wholetest.VersionsOf(t, a, "site"), "\n")
	export := func(name string, x archives.ExportRequest) string {
		t.Helper()
		x.Job, x.Out = "site", filepath.Join(t.TempDir(), name)
		if _, err := archives.Export(t.Context(), a, x); err != nil {
			t.Fatal(err)
		}
		return x.Out
	}
	first := export("1.warc.gz", archives.ExportRequest{Version: 1})
	base := export("2.wacz", archives.ExportRequest{Version: 2, AllVersions: true})
	for _, form := range []string{"warc.gz", "wacz"} {
		rest := export("rest."+form, archives.ExportRequest{Since: "1"})
		delta := export("delta."+form, archives.ExportRequest{Since: "2"})
		for name, files := range map[string][]string{
			"one": {base, delta}, "many": {rest, first}, "both": {rest, base},
		} {
			as := name + "-" + form
			apptest.Put(t, a.Jobs, as+".toml", apptest.ReadFile(t, filepath.Join(a.Jobs, "site.toml")))
			m, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: files, As: as})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(wholetest.VersionsOf(t, a, as), "\n"); got != want {
				t.Errorf("%s: %+v\n%s\nwant\n%s", as, m, got, want)
			}
		}
		for _, files := range [][]string{{delta}, {first, delta}} {
			_, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: files, As: "none", Job: true})
			if err == nil || !strings.Contains(err.Error(), "record 1 at offset 0: the delta builds on") {
				t.Errorf("on another archive: %v", err)
			}
		}
	}
	for _, since := range []string{"3", "9", "site.phm"} {
		x := archives.ExportRequest{Job: "site", Out: filepath.Join(t.TempDir(), "x.wacz"), Since: since}
		if _, err := archives.Export(t.Context(), a, x); err == nil {
			t.Errorf("since %s is exported", since)
		}
	}
}

// importLives: of an import a job file was written, and its next run gets 304 for what has not changed.
func importLives(
	t *testing.T, a *env.App, g *apptest.GrowingSite, url string, now *atomic.Int64, file string,
) {
	t.Helper()
	g.NotModified.Store(0)
	g.Full.Store(0)
	a.Jobs = t.TempDir()
	m, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{file}, As: "old",
		Job: true})
	if err != nil || len(m.Versions) != 3 || m.URL != url+"/" || m.Unused != 0 || m.File == "" {
		t.Fatalf("%+v, %v", m, err)
	}
	if n := g.Full.Load() + g.NotModified.Load(); n != 0 {
		t.Errorf("the import made %d requests", n)
	}
	now.Add(86400)
	set := []string{"polite.delay=0s", "polite.factor=0"}
	sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "old", RunRequest: control.RunRequest{Set: set}})
	if err != nil || sum.Published || sum.Fetched != 0 || sum.Version != 3 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if g.NotModified.Load() < 6 || g.Full.Load() != 0 { // six files, each of them not sent
		t.Errorf("%d answers 304, %d bodies", g.NotModified.Load(), g.Full.Load())
	}
	_, err = archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{file}, As: "old"})
	if err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second import: %v", err)
	}
}

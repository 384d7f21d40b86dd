// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/phm"
	"mirrord/testing/apptest"
	"mirrord/testing/wholetest"
)

// A PHM with history, in any form of trees, comes back with all versions, and lives. A delta to one has only
// what came since then.
func TestImportHistory(t *testing.T) {
	a, g, srv, now := apptest.MirrorGrowing(t, 3)
	want := strings.Join(wholetest.VersionsOf(t, a, "site"), "\n")
	job := apptest.ReadFile(t, filepath.Join(a.Jobs, "site.toml"))
	dir := t.TempDir()
	back := func(as, file string) {
		t.Helper()
		apptest.Put(t, a.Jobs, as+".toml", job)
		m, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{file}, As: as})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(wholetest.VersionsOf(t, a, as), "\n"); got != want {
			t.Errorf("%s: %+v\n%s\nwant\n%s", as, m, got, want)
		}
	}
	for as, name := range map[string]string{"zip": "site.phm", "tar": "site.tar.zst", "folder": "site"} {
		file := filepath.Join(dir, name)
		if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "site", Out: file,
			AllVersions: true}); err != nil {
			t.Fatal(err)
		}
		if v, err := care.Verify(t.Context(), a, file, true); err != nil || len(v.Report.Problems) > 0 {
			t.Errorf("verify %s: %+v, %v", name, v, err)
		}
		back(as, file)
	}
	file := filepath.Join(dir, "site.phm")
	if left, err := filepath.Glob(filepath.Join(dir, ".mirrord*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	importLives(t, a, g, srv.URL, now, file)
}

// A version that shows what came no later than the version before, as after a rollback, comes back as it was.
func TestImportHistoryEarlier(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 3)
	if _, err := runs.Rollback(t.Context(), a, "site", 1); err != nil {
		t.Fatal(err)
	}
	want := wholetest.VersionsOf(t, a, "site")
	file := filepath.Join(t.TempDir(), "site.wacz")
	if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "site", Out: file,
		AllVersions: true}); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, a.Jobs, "copy.toml", apptest.ReadFile(t, filepath.Join(a.Jobs, "site.toml")))
	if _, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{file},
		As: "copy"}); err != nil {
		t.Fatal(err)
	}
	if got := wholetest.VersionsOf(t, a, "copy"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d versions\n%s\nwant\n%s", len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The delta to an archive with history has the history since then.
func TestHistoryDelta(t *testing.T) {
	a, g, _, now := apptest.MirrorGrowing(t, 2)
	job := apptest.ReadFile(t, filepath.Join(a.Jobs, "site.toml"))
	dir := t.TempDir()
	base, delta, whole := filepath.Join(dir, "2.phm"), filepath.Join(dir, "d.phm"), filepath.Join(dir, "3.phm")
	if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "site", Out: base,
		AllVersions: true}); err != nil {
		t.Fatal(err)
	}
	g.Version.Store(3)
	now.Add(86400)
	if sum, err := runs.RunNow(t.Context(), a, apptest.Fully("site")); err != nil {
		t.Fatalf("%+v, %v", sum, err)
	}
	x := archives.ExportRequest{
		Job:         "site",
		Out:         delta,
		Since:       base,
		AllVersions: true,
	}
	if _, err := archives.Export(t.Context(), a, x); err != nil {
		t.Fatal(err)
	}
	if _, err := archives.ApplyDelta(t.Context(), a, archives.ApplyRequest{Old: base, Delta: delta,
		Out: whole}); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, a.Jobs, "copy.toml", job)
	m, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{whole}, As: "copy"})
	if err != nil {
		t.Fatal(err)
	}
	want, got := wholetest.VersionsOf(t, a, "site"), wholetest.VersionsOf(t, a, "copy")
	if len(want) != 3 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%+v\n%s\nwant\n%s", m, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	tree, f, err := archives.OpenArchive(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	about, err := phm.OpenMeta(tree)
	if err != nil {
		t.Fatal(err)
	}
	if paths, err := archives.PackedHistory(about); err != nil || len(paths) != 2 {
		t.Errorf("the history is at %q, %v", paths, err)
	}
	x.Since = "2"
	if _, err := archives.Export(t.Context(), a, x); err == nil || env.FieldOf(err) != env.FieldSince {
		t.Errorf("since a version: %v", err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/phm"
)

// A PHM with history, in any form of trees, comes back with all versions, and lives. A delta to one has only
// what came since then.
func TestImportHistory(t *testing.T) {
	a, g, srv, now := mirrorGrowing(t, 3)
	want := strings.Join(versionsOf(t, a, "site"), "\n")
	job := readFile(t, filepath.Join(a.Jobs, "site.toml"))
	dir := t.TempDir()
	back := func(as, file string) {
		t.Helper()
		put(t, a.Jobs, as+".toml", job)
		m, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{file}, As: as})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(versionsOf(t, a, as), "\n"); got != want {
			t.Errorf("%s: %+v\n%s\nwant\n%s", as, m, got, want)
		}
	}
	for as, name := range map[string]string{"zip": "site.phm", "tar": "site.tar.zst", "folder": "site"} {
		file := filepath.Join(dir, name)
		if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: file, AllVersions: true}); err != nil {
			t.Fatal(err)
		}
		if v, err := Verify(t.Context(), a, file, true); err != nil || len(v.Report.Problems) > 0 {
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
	a, _, _, _ := mirrorGrowing(t, 3)
	if _, err := Rollback(t.Context(), a, "site", 1); err != nil {
		t.Fatal(err)
	}
	want := versionsOf(t, a, "site")
	file := filepath.Join(t.TempDir(), "site.wacz")
	if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: file, AllVersions: true}); err != nil {
		t.Fatal(err)
	}
	put(t, a.Jobs, "copy.toml", readFile(t, filepath.Join(a.Jobs, "site.toml")))
	if _, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{file}, As: "copy"}); err != nil {
		t.Fatal(err)
	}
	if got := versionsOf(t, a, "copy"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d versions\n%s\nwant\n%s", len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The delta to an archive with history has the history since then.
func TestHistoryDelta(t *testing.T) {
	a, g, _, now := mirrorGrowing(t, 2)
	job := readFile(t, filepath.Join(a.Jobs, "site.toml"))
	dir := t.TempDir()
	base, delta, whole := filepath.Join(dir, "2.phm"), filepath.Join(dir, "d.phm"), filepath.Join(dir, "3.phm")
	if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: base, AllVersions: true}); err != nil {
		t.Fatal(err)
	}
	g.version.Store(3)
	now.Add(86400)
	if sum, err := RunNow(t.Context(), a, fully("site")); err != nil {
		t.Fatalf("%+v, %v", sum, err)
	}
	x := ExportRequest{
		Job:         "site",
		Out:         delta,
		Since:       base,
		AllVersions: true,
	}
	if _, err := Export(t.Context(), a, x); err != nil {
		t.Fatal(err)
	}
	if _, err := ApplyDelta(t.Context(), ApplyRequest{Old: base, Delta: delta, Out: whole}); err != nil {
		t.Fatal(err)
	}
	put(t, a.Jobs, "copy.toml", job)
	m, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{whole}, As: "copy"})
	if err != nil {
		t.Fatal(err)
	}
	want, got := versionsOf(t, a, "site"), versionsOf(t, a, "copy")
	if len(want) != 3 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%+v\n%s\nwant\n%s", m, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	tree, f, err := openArchive(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	about, err := phm.OpenMeta(tree)
	if err != nil {
		t.Fatal(err)
	}
	if paths, err := packedHistory(about); err != nil || len(paths) != 2 {
		t.Errorf("the history lies in %q, %v", paths, err)
	}
	x.Since = "2"
	if _, err := Export(t.Context(), a, x); err == nil || FieldOf(err) != FieldSince {
		t.Errorf("since a version: %v", err)
	}
}

// A history that is damaged, or not there, is refused, and nothing is left.
func TestBadHistory(t *testing.T) {
	a, _, _, _ := mirrorGrowing(t, 2)
	for name, harm := range map[string]func(dir string){
		"damaged": func(dir string) {
			file := filepath.Join(dir, historyDir, "000002.warc.gz")
			put(t, dir, historyDir+"/000002.warc.gz", strings.Replace(readFile(t, file), "\x1f", "\x1e", 1))
		},
		"missing": func(dir string) {
			if err := os.RemoveAll(filepath.Join(dir, historyDir)); err != nil {
				t.Fatal(err)
			}
		},
		"unnamed": func(dir string) {
			table := readFile(t, filepath.Join(dir, phm.FilesName))
			put(t, dir, phm.FilesName, strings.ReplaceAll(table, historyDir, "phm.histories"))
		},
		"elsewhere": func(dir string) {
			meta := readFile(t, filepath.Join(dir, phm.MetaName))
			put(t, dir, phm.MetaName, strings.ReplaceAll(meta, historyDir+"/", "../../"))
		},
	} {
		dir := filepath.Join(t.TempDir(), "site")
		if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: dir, AllVersions: true}); err != nil {
			t.Fatal(err)
		}
		harm(dir)
		_, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{dir}, As: "bad", Job: true})
		if err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
		state, serr := a.State()
		left, gerr := filepath.Glob(filepath.Join(state, "sites", "*bad*"))
		if serr != nil || gerr != nil || len(left) > 0 {
			t.Errorf("%s: left %q, %v, %v", name, left, serr, gerr)
		}
	}
	put(t, a.Jobs, "zim.toml", growingJob("http://127.0.0.1:1"))
	for _, x := range []ExportRequest{{Format: "zim"}, {Flatten: true}, {Mask: []string{"images"}}} {
		x.Job, x.Out, x.AllVersions = "site", filepath.Join(t.TempDir(), "x"), true
		if x.Format == "" {
			x.Format = "phm"
		}
		if _, err := Export(t.Context(), a, x); err == nil || FieldOf(err) != FieldFormat {
			t.Errorf("%+v: %v", x, err)
		}
	}
}

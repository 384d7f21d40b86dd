// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/trees"
)

// siteWithCopy makes a site with three versions, and a copy of its database of the time of the first one.
func siteWithCopy(t *testing.T) (dir, file string, older []byte) {
	t.Helper()
	dir = t.TempDir()
	for version := 1; version <= 3; version++ {
		st, s := openTest(t, dir, Options{})
		file = filepath.Join(s.Dir, home.SiteDB)
		commit(t, s, uint32(version-1), newURLs(version-1, version), document(t, s, version-1, "body"))
		foldAll(t, s, version)
		publishNow(t, s, version)
		closeTest(t, st, s)
		if version == 1 {
			var err error
			if older, err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir, file, older
}

// filesOf returns what the regular files below a folder hold.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOlderCopy puts an older copy of a database beside a newer log and a newer published tree: opening the
// site finds all versions, and no view shows the older ones as if they were the last.
func TestOlderCopy(t *testing.T) {
	dir, file, older := siteWithCopy(t)
	want := content(t, file)
	packs := filesOf(t, filepath.Join(filepath.Dir(file), "packs"))
	if err := os.WriteFile(file, older, 0o640); err != nil {
		t.Fatal(err)
	}
	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.ViewSite("x"); !errors.Is(err, db.ErrOlder) {
		t.Errorf("a view begins with %v", err)
	}
	if run, verify := opened(t, dir); (run != nil) || !errors.Is(verify, db.ErrOlder) {
		t.Fatalf("a run begins with %v, a check finds %v", run, verify)
	}
	if got := content(t, file); !maps.Equal(got, want) {
		t.Errorf("the database holds %q, want %q", got, want)
	}
	if got := filesOf(t, filepath.Join(filepath.Dir(file), "packs")); !maps.Equal(got, packs) {
		t.Error("the packs were changed")
	}
}

// TestOlderCopyWithoutLog is TestOlderCopy with a log that does not lead to the published version: the site
// is not opened, and nothing is changed. Without the link to the newer tree the older copy counts.
func TestOlderCopyWithoutLog(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, segment string) error{
		"missing": func(_ *testing.T, segment string) error { return os.RemoveAll(filepath.Dir(segment)) },
		"cut": func(t *testing.T, segment string) error {
			return os.Truncate(segment, laterEntry(t, segment))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file, older := siteWithCopy(t)
			site := filepath.Dir(file)
			err := errors.Join(os.WriteFile(file, older, 0o640), spoil(t, segmentsOf(t, file)[0]))
			if err != nil {
				t.Fatal(err)
			}
			before := filesOf(t, site)
			for range 2 {
				if run, _ := opened(t, dir); !errors.Is(run, db.ErrOlder) {
					t.Errorf("a run begins with %v", run)
				}
			}
			after := filesOf(t, site)
			for _, files := range []map[string]string{before, after} { // the database may have caught up with the log
				maps.DeleteFunc(files, func(name, _ string) bool {
					return name == home.SiteDB || strings.HasPrefix(name, log.Folder)
				})
			}
			if !maps.Equal(after, before) {
				t.Error("files were changed")
			}
			if err := os.Remove(filepath.Join(site, trees.CurrentLink)); err != nil {
				t.Fatal(err)
			}
			if run, verify := opened(t, dir); (run != nil) || (verify != nil) {
				t.Fatalf("a run begins with %v, a check finds %v", run, verify)
			}
		})
	}
}

// TestSiteElsewhere moves a site out of the state, behind a symbolic link: the error of opening it says
// what to do.
func TestSiteElsewhere(t *testing.T) {
	dir, file := sealedSite(t)
	site, away := filepath.Dir(file), filepath.Join(t.TempDir(), "x")
	if err := errors.Join(os.Rename(site, away), os.Symlink(away, site)); err != nil {
		t.Fatal(err)
	}
	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	const want = "x is a symbolic link that leads out of the state directory, which is not followed: mount"
	if _, err := st.OpenSite("x"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a run begins with %v", err)
	}
	if _, err := st.ViewSite("x"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a view begins with %v", err)
	}
}

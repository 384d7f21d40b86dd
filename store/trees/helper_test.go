// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store/blobs"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

// testSite is the folder of a site that has trees, and no records.
type testSite struct {
	*SiteTrees
	dir    string
	bodies *blobs.Blobs
}

// openTest opens the trees of a folder, in which a site is made.
func openTest(t testing.TB, dir string, now func() time.Time) *testSite {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	must(t, root.MkdirAll("blobs/tmp", 0o755))
	must(t, root.MkdirAll(Dir, 0o755))
	sub, err := root.OpenRoot("blobs")
	must(t, err)
	folder, err := disk.NewOpenDir(sub)
	must(t, err)
	f := &home.Folder{
		Name: "x",
		Dir:  dir,
		Root: root,
		Now:  now,
	}
	f.DB, err = db.Open(db.Options{
		Path:  filepath.Join(dir, home.SiteDB),
		Site:  "x",
		Mode:  0o600,
		Depth: 1,
		Fresh: true,
	})
	must(t, err)
	must(t, f.DB.Update(func(tx *db.Tx) error {
		fresh := tx.IsFresh()
		for _, b := range [][]byte{db.Meta, home.Versions, home.Scripts} {
			if fresh {
				_, err := tx.CreateBucket(b)
				must(t, err)
			}
		}
		return nil
	}))
	s := &testSite{dir: dir, bodies: blobs.Open(folder, false, noDepot)}
	s.SiteTrees = Of(f, s.bodies)
	must(t, s.Recover())
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), f.Release(), s.bodies.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// noDepot has no body.
func noDepot([32]byte) (*blobs.LeftBody, error) { return nil, fs.ErrNotExist }

// view is the site for a reader, as the last commit left it.
func (s *testSite) view(vs ...record.Version) *SiteTrees {
	f := &home.Folder{
		Name:     s.Name,
		Root:     s.Root,
		DB:       s.DB,
		Now:      s.Now,
		ReadOnly: true,
	}
	v := Of(f, s.bodies)
	v.Pin(vs)
	return v
}

func publishTest(t testing.TB, s *testSite, version int, files map[string]string) {
	t.Helper()
	publishUnder(t, s, TreeRules{}, version, files)
}

// publishUnder builds and publishes a tree with the given files.
func publishUnder(t testing.TB, s *testSite, r TreeRules, version int, files map[string]string) {
	t.Helper()
	tree, err := s.Build(r)
	must(t, err)
	defer tree.Close()
	fillTree(t, tree, version, files)
	must(t, tree.Publish(record.Version{Number: version, Files: len(files)}, []byte("script")))
}

func fillTree(t testing.TB, tree *Tree, version int, files map[string]string) {
	t.Helper()
	w := tree.Writer()
	defer w.Close()
	for _, p := range slices.Sorted(maps.Keys(files)) {
		must(t, w.Write(p, []byte(files[p]), at(int64(version))))
	}
	f, err := tree.Create("version")
	must(t, err)
	_, err = fmt.Fprint(f, version)
	must(t, errors.Join(err, f.Close()))
}

// currentVersion returns what the published tree says of itself, 0 for none.
func currentVersion(t testing.TB, s *testSite) (v int) {
	t.Helper()
	root, err := s.Current()
	if errors.Is(err, record.ErrNoVersion) {
		return 0
	}
	must(t, err)
	defer root.Close()
	if _, err := fmt.Sscan(readFile(t, root, "version"), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// linked checks that each link of the folder versions points to that version.
func linked(t *testing.T, dir string) {
	t.Helper()
	links := filepath.Join(dir, VersionsDir)
	entries, err := os.ReadDir(links)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(links, e.Name(), "version"))
		if err != nil || string(data) != e.Name() {
			t.Errorf("versions/%s is %q, %v", e.Name(), data, err)
		}
	}
}

func inode(t *testing.T, p string) uint64 {
	t.Helper()
	fi, err := os.Stat(p)
	must(t, err)
	return fi.Sys().(*syscall.Stat_t).Ino
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, root regular.Root, name string) string {
	t.Helper()
	data, err := root.ReadFile(name, regular.MaxSmall)
	must(t, err)
	return string(data)
}

func at(s int64) time.Time { return time.Unix(s, 0) }

func sum(s string) string {
	d := sha256.Sum256([]byte(s))
	return hex.EncodeToString(d[:])
}

// writePHM writes phm.files and phm.json into a folder.
func writePHM(t testing.TB, dir string, version int, files []phm.File) {
	t.Helper()
	var table, meta bytes.Buffer
	w := phm.NewFilesWriter(&table)
	for i := range files {
		must(t, w.Write(&files[i]))
	}
	sum, err := w.Finish()
	must(t, err)
	m := &phm.Meta{Entry: files[0].Path, Version: version, Retrieved: at(1000)}
	m.Count(sum)
	must(t, phm.WriteMeta(&meta, m))
	for name, data := range map[string][]byte{phm.FilesName: table.Bytes(), phm.MetaName: meta.Bytes()} {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
}

// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mirrord/phm"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/trees"
)

// The whole of a rebuild with a real run before and after it is tested in package mirror; here is what it
// leaves alone and refuses.
func TestRebuild(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	if _, err := st.Rebuild("x"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a site in use: %v", err)
	}
	if _, err := st.Rebuild("nothing"); !errors.Is(err, home.ErrNoSite) {
		t.Errorf("no site: %v", err)
	}
	if _, err := st.Rebuild("../x"); err == nil {
		t.Error("a name that leads out")
	}
	commit(t, s, 0, newURLs(0, 1), document(t, s, 0, "lost"))
	foldAll(t, s, 1)
	closeSite(t, s)
	// Without a published tree there is nothing to know; the site is as new.
	if n, err := st.Rebuild("x"); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "sites/x/damaged/packs/000001.pack")); err != nil {
		t.Errorf("the old packs are not kept: %v", err)
	}
	s, err := st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Records.Known(); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	commit(t, s, 0, newURLs(0, 1), document(t, s, 0, "new"))
	foldAll(t, s, 1)
	// A published tree that is no PHM cannot be read.
	publishTest(t, s, 1, map[string]string{phm.MetaName: "{"})
	closeSite := func() {
		t.Helper()
		closeSite(t, s)
	}
	closeSite()
	if _, err := st.Rebuild("x"); err == nil {
		t.Error("a tree that is no PHM was read")
	}
	// Again, now that the tree is whole; the image's blob is gone and is taken from the tree.
	if err := os.RemoveAll(filepath.Join(dir, "blobs/ab")); err != nil {
		t.Fatal(err)
	}
	image := random(100, 1)
	lines := []phm.File{
		{Path: "a.html", URL: "http://a/a.html", Type: "text/html", Size: 4, SHA256: sum("page")},
		{
			Path:     "b.png",
			URL:      "http://a/b.png",
			Type:     "image/png",
			Size:     100,
			SHA256:   sum(string(image)),
			Modified: at(5),
		},
		{Path: "c.png", URL: "http://a/c.png", Type: "image/png", Size: 100, SHA256: sum("other bytes")},
		{Path: "d.png", URL: "http://a/d.png", Type: "image/png", Size: 100, SHA256: sum("missing")},
	}
	tree := filepath.Join(dir, "sites/x/current")
	if err := os.WriteFile(filepath.Join(tree, "b.png"), image, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "c.png"), image, 0o644); err != nil {
		t.Fatal(err)
	}
	writePHM(t, tree, 7, lines)
	if n, err := st.Rebuild("x"); n != 4 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if s, err = st.OpenSite("x"); err != nil {
		t.Fatal(err)
	}
	defer closeSite()
	verifyTest(t, s)
	got := resources(t, s)
	for _, f := range lines {
		r := got[f.URL]
		if r.Path != f.Path || r.InSet != (f.Path == "b.png") {
			t.Errorf("%+v", r)
		}
	}
	if r := got["http://a/b.png"]; r.LastModified == "" || r.Modified != 5 || r.MIME != "image/png" ||
		r.Size != 100 {
		t.Errorf("%+v", r)
	}
	if vs, err := s.Versions.List(); err != nil || len(vs) != 1 || vs[0].Number != 7 || vs[0].Files != 4 {
		t.Errorf("%v, %v", vs, err)
	}
}

// A crash during a rebuild leaves a database that counts as damaged, whether it was only begun or half
// filled, and rebuilding again ends it.
func TestRebuildInterrupted(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	publishTest(t, s, 1, map[string]string{"a.txt": "text"})
	closeSite(t, s)
	tree := filepath.Join(dir, "sites/x/current")
	writePHM(t, tree, 7, []phm.File{{
		Path:   "a.txt",
		URL:    "http://a/a.txt",
		Type:   "text/plain",
		Size:   4,
		SHA256: sum("text"),
	}})
	interrupted := map[string]func() error{
		"before the database": func() error { return nil },
		"database begun": func() error {
			d, err := db.Open(db.Options{
				Path:  filepath.Join(dir, "sites/x", home.SiteDB),
				Site:  "x",
				Mode:  0o640,
				Depth: 1,
				Fresh: true,
			})
			if err != nil {
				return err
			}
			return d.Close()
		},
		"half filled": func() error {
			s, err := st.openSite("x", rebuilding)
			if err != nil {
				return err
			}
			return s.Close()
		},
	}
	root, err := st.SiteRoot("x")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for what, crash := range interrupted {
		if _, err := st.setAside("x", root); err != nil {
			t.Fatal(err)
		}
		if err := crash(); err != nil {
			t.Fatal(err)
		}
		for _, open := range []func(string) (*Site, error){st.readSite, st.OpenSite, st.ViewSite} {
			_, err := open("x")
			if _, damaged := errors.AsType[*db.DatabaseError](err); !damaged {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if n, err := st.Rebuild("x"); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", what, n, err)
		}
		s, err := st.readSite("x")
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if g, err := look(s.Folder); err != nil || g.Rebuilt.IsZero() {
			t.Errorf("%s: %v, %v", what, g, err)
		}
		closeSite(t, s)
	}
}

// A tree that was half built when the database was damaged is not built upon.
func TestRebuildDistrustsTheOtherTree(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	publishTest(t, s, 1, map[string]string{"a.txt": "text"})
	live, err := s.Root.Readlink(trees.CurrentLink)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := s.Trees.Build(trees.TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Root.WriteFile("half.txt", []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree.Close()
	closeSite(t, s)
	writePHM(t, filepath.Join(dir, "sites/x", live), 1, []phm.File{{
		Path:   "a.txt",
		URL:    "http://a/a.txt",
		Type:   "text/plain",
		Size:   4,
		SHA256: sum("text"),
	}})
	if _, err := st.Rebuild("x"); err != nil {
		t.Fatal(err)
	}
	if s, err = st.OpenSite("x"); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if tree, err = s.Trees.Build(trees.TreeRules{}); err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if _, err := tree.Root.Stat("half.txt"); !os.IsNotExist(err) {
		t.Errorf("what was half built is built upon: %v", err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package travel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/home"
	"mirrord/store/shared"
)

// stateFolder makes the folder of a state with files, and opens no state.
func stateFolder(t *testing.T, files ...string) *home.StateFolder {
	t.Helper()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "blobs/tmp"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "sites"), 0o755))
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { must(t, root.Close()) })
	for _, f := range files {
		must(t, root.MkdirAll(filepath.Dir(f), 0o755))
		must(t, root.WriteFile(f, []byte(f), 0o644))
	}
	return &home.StateFolder{Dir: dir, Root: root, Now: time.Now}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// spoolOf opens the spool of a state.
func spoolOf(t *testing.T, s *home.StateFolder) *blobs.Spool {
	t.Helper()
	root, err := s.Root.OpenRoot("blobs")
	must(t, err)
	folder, err := disk.NewOpenDir(root)
	must(t, err)
	b := blobs.Open(folder, false, func([32]byte) (*blobs.LeftBody, error) { return nil, fs.ErrNotExist })
	t.Cleanup(func() { must(t, b.Close()) })
	return b.Spool()
}

// A site that arrives takes its place when it is whole, with the files that were named and no other; what was
// here is away then. Until then what was here stays, and what came of the new one too.
func TestArrival(t *testing.T) {
	for _, old := range []bool{false, true} {
		var files []string
		if old {
			files = []string{"sites/x/site.db", "sites/x/old"}
		}
		s := stateFolder(t, files...)
		spool := spoolOf(t, s)
		a, err := Receive(s, spool, "x")
		must(t, err)
		if (a.Old != nil) != old {
			t.Errorf("old %v: there is a site: %v", old, a.Old != nil)
		}
		if _, err := Receive(s, spool, "x"); !errors.Is(err, disk.ErrLocked) {
			t.Errorf("a second one: %v", err)
		}
		must(t, a.Root.Mkdir("packs", 0o755))
		for _, name := range []string{"packs/1", "packs/2", "other"} {
			must(t, a.Root.WriteFile(name, nil, 0o644))
		}
		must(t, a.Close())
		if _, err := s.Root.Lstat("sites/x/old"); (err == nil) != old {
			t.Errorf("old %v, before the end: %v", old, err)
		}
		a, err = Receive(s, spool, "x")
		must(t, err)
		must(t, a.Tidy([]string{"packs/1"}))
		must(t, a.Finish())
		must(t, a.Close())
		var has []string
		must(t, fs.WalkDir(s.Root.FS(), "sites", func(path string, e fs.DirEntry, err error) error {
			has = append(has, path)
			return err
		}))
		want := []string{"sites", "sites/x", "sites/x/packs", "sites/x/packs/1", "sites/x/trees"}
		if !slices.Equal(has, want) {
			t.Errorf("old %v: %q", old, has)
		}
	}
	if _, err := Receive(stateFolder(t), nil, "../x"); err == nil {
		t.Error("a name that leads out of the state")
	}
}

// view opens the site x for a departure.
func view(t *testing.T, s *home.StateFolder) func() (Viewed, error) {
	return func() (Viewed, error) {
		root, err := s.SiteRoot("x")
		must(t, err)
		f := &home.Folder{
			Name:     "x",
			Dir:      filepath.Join(s.Dir, "sites/x"),
			Root:     root,
			ReadOnly: true,
		}
		f.DB, err = db.Open(db.Options{
			Path:     filepath.Join(f.Dir, home.SiteDB),
			Site:     "x",
			Depth:    1,
			ReadOnly: true,
		})
		must(t, err)
		packs, err := root.OpenRoot("packs")
		must(t, err)
		p := bodies.Open(packs, nil)
		return Viewed{
			Records: facts.Of(f, &bodies.Frames{Packs: p}, nil),
			Packs:   p,
			Close:   func() error { return errors.Join(p.Close(), f.Release()) },
		}, nil
	}
}

// What can be made again stays here, the database comes last, with its token and version; a pack that a
// collection has removed meanwhile makes another attempt.
func TestDepart(t *testing.T) {
	s := stateFolder(t, "sites/x/packs/000001.pack", "sites/x/heads.1", "sites/x/fact.a", "sites/x/parts/1",
		"sites/x/trees/000003/index.html", "sites/x/versions/3", "sites/x/damaged/site.db", "sites/x/glance.json",
		"sites/x/depots.json", "sites/x/away.json", "sites/x/site.lock", "sites/x/.tmp", "sites/x/site.db.1")
	d, err := db.Open(db.Options{
		Path:  filepath.Join(s.Dir, "sites/x", home.SiteDB),
		Site:  "x",
		Mode:  0o600,
		Depth: 1,
		Fresh: true,
	})
	must(t, err)
	must(t, d.Update(func(tx *db.Tx) error {
		for _, b := range [][]byte{db.Meta, home.Versions} {
			if _, err := tx.CreateBucket(b); err != nil {
				return err
			}
		}
		return errors.Join(tx.Meta().Put(home.KeyToken, db.NumberKey(7)),
			tx.Bucket(home.Versions).Put(db.NumberKey(3), []byte("{}")))
	}))
	must(t, d.Close())
	attempts := 0
	dep, err := Depart(s, "x", func() (Viewed, error) {
		if attempts++; attempts == 1 {
			must(t, s.Root.Remove("sites/x/packs/000001.pack"))
		}
		return view(t, s)()
	})
	must(t, err)
	var names []string
	for i := range dep.Files {
		names = append(names, dep.Files[i].Name)
	}
	want := []string{"fact.a", "heads.1", "parts/1", home.SiteDB}
	if !slices.Equal(names, want) || attempts != 2 {
		t.Errorf("after %d attempts: %q", attempts, names)
	}
	last, err := LastTransaction(s, "x")
	if dep.Token != 7 || dep.Version != 3 || dep.Tx == 0 || dep.Tx != last || err != nil {
		t.Errorf("token %d, version %d, transaction %d of %d, %v", dep.Token, dep.Version, dep.Tx, last, err)
	}
	must(t, dep.Close())
	if _, err := Depart(s, "y", view(t, s)); !errors.Is(err, home.ErrNoSite) {
		t.Errorf("no site: %v", err)
	}
	if n, err := LastTransaction(s, "y"); n != 0 || err != nil {
		t.Errorf("no site: %d, %v", n, err)
	}
}

// The files of a state that belong to no site go without locks, sockets and notes of this machine.
func TestOpenShared(t *testing.T) {
	s := stateFolder(t, "public-names", "daemon.lock", ".hidden", "depots.json", "replicas.json")
	of := shared.Open(s, nil)
	files, done, err := OpenShared(s, of)
	must(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if want := []string{"public-names", "replicas.json"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	must(t, done())
}

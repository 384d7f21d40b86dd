// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mirrord/phm"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// faultySite is a site of some pages, with many records and no log; name is its database.
func faultySite(t *testing.T) (st *State, s *Site, name string) {
	t.Helper()
	dir := t.TempDir()
	st, s = openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 3000))
	foldAll(t, s, 1)
	if err := os.RemoveAll(filepath.Join(dir, "sites/x", log.Folder)); err != nil {
		t.Fatal(err)
	}
	return st, s, filepath.Join(dir, "sites/x", home.SiteDB)
}

// wantDamaged wants that a site is damaged as seen by every use of it, that nothing hangs, and that closing
// it releases its lock.
func wantDamaged(t *testing.T, st *State, s *Site, what string) {
	t.Helper()
	var wg sync.WaitGroup
	for range 4 { // others wait for nothing that the first one left locked
		wg.Go(func() {
			err := s.Records.Resources(func(*record.Resource) error { return nil })
			bad, ok := errors.AsType[*db.DatabaseError](err)
			if !ok || !errors.Is(err, disk.ErrDamaged) || bad.Site != "x" || bad.File != home.SiteDB {
				t.Errorf("%s: %v", what, err)
			}
		})
		wg.Go(func() {
			// it may have been first
			if err := s.Notes.SetFact("x", []byte("y")); err != nil && !errors.Is(err, disk.ErrDamaged) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	wg.Wait()
	if err := s.Notes.SetFact("x", nil); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("%s: a transaction follows: %v", what, err)
	}
	s.Close()
	lock, err := st.HoldSite("x")
	if err != nil {
		t.Fatalf("%s: after close: %v", what, err)
	}
	lock.Close()
	for _, open := range []func(string) (*Site, error){st.readSite, st.OpenSite} {
		if _, err := open("x"); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%s: opened again: %v", what, err)
		}
	}
}

// Pages that change, and a file that is cut, while it is open and mapped: the reader faults or bbolt panics,
// and nothing more happens.
func TestDamageWhileOpen(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(f *os.File, size int64) error
	}{
		{"cut within", func(f *os.File, _ int64) error { return f.Truncate(20 * 4096) }},
		{"cut to a page", func(f *os.File, _ int64) error { return f.Truncate(4096) }},
		{"zeroed", func(f *os.File, size int64) error {
			_, err := f.WriteAt(make([]byte, size-2*4096), 2*4096)
			return err
		}},
		{"random", func(f *os.File, size int64) error {
			_, err := f.WriteAt(random(int(size-2*4096), 3), 2*4096)
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st, s, name := faultySite(t)
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			fi, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.spoil(f, fi.Size()); err != nil {
				t.Fatal(err)
			}
			wantDamaged(t, st, s, tc.name)
		})
	}
}

// A panic of the program in a transaction is an error that names the place; the database is not called
// damaged for it, and opens again.
func TestPanicInTransaction(t *testing.T) {
	st, s, _ := faultySite(t)
	view := func(f func(*db.Tx) error) error { return s.DB.View(f) }
	update := func(f func(*db.Tx) error) error { return s.DB.Update(f) }
	var none []int
	for _, do := range []func(func(*db.Tx) error) error{view, update} {
		err := do(func(*db.Tx) error {
			none[0]++
			return nil
		})
		if err == nil || errors.Is(err, disk.ErrDamaged) ||
			!strings.Contains(err.Error(), "internal error at database_test.go:") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if s, err = st.OpenSite("x"); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
}

// Values that cannot be decoded are damage, not a crash, and a rebuild is offered for them.
func TestValuesAreChecked(t *testing.T) {
	for i, tc := range []struct {
		bucket, key, value []byte
		use                func(s *Site) error
	}{
		{home.Resources, testURL(5).Key(nil), []byte{1, 0}, func(s *Site) error {
			_, _, err := s.Records.Get(testURL(5))
			return err
		}},
		{home.Resources, []byte("nonsense"), []byte{1}, func(s *Site) error {
			return s.Records.Resources(func(*record.Resource) error { return nil })
		}},
		{home.Links, []byte("12345"), nil, func(s *Site) error {
			return s.Records.Links(func(uint32, []byte) error { return nil })
		}},
		{home.Versions, db.NumberKey(1), []byte("{"), func(s *Site) error {
			_, err := s.Versions.List()
			return err
		}},
		{db.Meta, home.KeyRun, []byte("["), func(s *Site) error { _, err := s.Notes.Run(); return err }},
		{db.Meta, db.KeyKnown, []byte{0xff, 0, 0, 0}, func(s *Site) error {
			_, err := s.Records.Known()
			return err
		}},
		{home.Observed, db.NumberKey(1), []byte{1}, func(s *Site) error {
			return s.Records.Observations(func(*record.Observation) error { return nil })
		}},
	} {
		t.Run(fmt.Sprintf("%s %d", tc.bucket, i), func(t *testing.T) {
			st, s, _ := faultySite(t)
			if err := s.DB.Update(func(tx *db.Tx) error {
				return tx.Bucket(tc.bucket).Put(tc.key, tc.value)
			}); err != nil {
				t.Fatal(err)
			}
			if err := tc.use(s); !errors.Is(err, disk.ErrDamaged) ||
				!strings.HasPrefix(err.Error(), "site.db is damaged: ") {
				t.Errorf("%v", err)
			}
			if bad, err := s.Unreadable(t.Context()); !bad || err != nil {
				t.Errorf("a rebuild is refused: %v, %v", bad, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if _, err := st.Rebuild("x"); err != nil {
				t.Error(err)
			}
			if s, err := st.OpenSite("x"); err != nil {
				t.Error(err)
			} else if bad, err := s.Unreadable(t.Context()); bad || err != nil {
				t.Errorf("after the rebuild: %v, %v", bad, err)
			} else {
				s.Close()
			}
		})
	}
}

// A published site without its database, or with an empty one, is damaged: a new one would begin everything
// again, unsaid.
func TestSiteWithoutDatabase(t *testing.T) {
	for _, empty := range []bool{false, true} {
		st, s, name := faultySite(t)
		tree := filepath.Dir(name) + "/trees/000001"
		if err := os.MkdirAll(tree, 0o755); err != nil {
			t.Fatal(err)
		}
		writePHM(t, tree, 4, []phm.File{{
			Path:   "a.html",
			URL:    "http://a/a.html",
			Type:   "text/html",
			Size:   4,
			SHA256: sum("page"),
		}})
		if err := os.Symlink("trees/000001", filepath.Join(filepath.Dir(name), trees.CurrentLink)); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if empty {
			if err := os.WriteFile(name, nil, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		for _, open := range []func(string) (*Site, error){st.readSite, st.OpenSite} {
			if _, err := open("x"); !errors.Is(err, disk.ErrDamaged) || !strings.Contains(err.Error(),
				"missing or empty") {
				t.Errorf("%v", err)
			}
		}
		if _, err := st.Rebuild("x"); err != nil {
			t.Error(err)
		}
		if s, err := st.OpenSite("x"); err != nil {
			t.Error(err)
		} else if vs, err := s.Versions.List(); err != nil || len(vs) != 1 || vs[0].Number != 4 {
			t.Errorf("%v, %v", vs, err)
		} else {
			s.Close()
		}
	}
}

// A database that has lost a bucket is damaged; one that was never written is new.
func TestLostBuckets(t *testing.T) {
	for _, name := range [][]byte{db.Meta, home.Resources, home.History, nil} {
		st, s, _ := faultySite(t)
		err := s.DB.Update(func(tx *db.Tx) error {
			if name != nil {
				return behind(tx).DeleteBucket(name)
			}
			for _, b := range allBuckets() {
				if err := behind(tx).DeleteBucket(b); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		for _, open := range []func(string) (*Site, error){st.readSite, st.OpenSite} {
			if _, err := open("x"); !errors.Is(err, disk.ErrDamaged) {
				t.Errorf("without %q: %v", name, err)
			}
		}
	}
}

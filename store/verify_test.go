// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
)

func problems(t *testing.T, s *Site) (ps []Problem) {
	t.Helper()
	st, err := s.Verify(t.Context(), func(p Problem) { ps = append(ps, p) })
	if err != nil || st.Problems != len(ps) {
		t.Errorf("%d problems of %d, %v", len(ps), st.Problems, err)
	}
	return ps
}

// verifySite makes a site with a bit of everything.
func verifySite(t *testing.T, dir string) (*State, *Site) {
	st, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 6), document(t, s, 0, "zero", 1, 2, 3), document(t, s, 1, "one", 0),
		blobOf(t, s, 2, "two"))
	foldAll(t, s, 1)
	publishTest(t, s, 1, map[string]string{"a": "b"})
	commit(t, s, 6, newURLs(6, 8), document(t, s, 0, "zero again", 1, 7))
	foldAll(t, s, 2)
	publishTest(t, s, 2, map[string]string{"a": "c"})
	commit(t, s, 8, nil, document(t, s, 4, "four", 7))
	return st, s
}

// Every kind of damage is found by its kind.
func TestVerifyFindsDamage(t *testing.T) {
	type damage struct {
		name string
		kind ProblemKind
		do   func(t *testing.T, dir string, s *Site) // s is open
	}
	update := func(f func(tx *db.Tx) error) func(*testing.T, string, *Site) {
		return func(t *testing.T, _ string, s *Site) {
			if err := s.DB.Update(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	batch := func(b ...byte) func(*testing.T, string, *Site) {
		return func(t *testing.T, _ string, s *Site) {
			if err := s.Log("commit batch", log.Batch, append(make([]byte, record.EndSize), b...), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	overwrite := func(pattern string, off int64, b string) func(*testing.T, string, *Site) {
		return func(t *testing.T, dir string, _ *Site) {
			ps, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || len(ps) != 1 {
				t.Fatal(ps, err)
			}
			f, err := os.OpenFile(ps[0], os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte(b), off); err != nil {
				t.Fatal(err)
			}
		}
	}
	key := func(n int) []byte { return testURL(n).Key(nil) }
	change := func(n int, f func(r *record.Resource)) func(*testing.T, string, *Site) {
		return update(func(tx *db.Tx) error {
			var r record.Resource
			if err := r.Decode(testURL(n), tx.Bucket(home.Resources).Get(key(n))); err != nil {
				return err
			}
			f(&r)
			return tx.Bucket(home.Resources).Put(key(n), r.Append(nil))
		})
	}
	for _, d := range []damage{
		{"record cut short", BadRecord, update(func(tx *db.Tx) error {
			return tx.Bucket(home.Resources).Put(key(1), []byte{1, 0})
		})},
		{"record of a newer format", BadRecord, update(func(tx *db.Tx) error {
			return tx.Bucket(home.Resources).Put(key(1), []byte{99})
		})},
		{"key that is no URL", BadRecord, update(func(tx *db.Tx) error {
			return tx.Bucket(home.Resources).Put([]byte("nonsense"), []byte{1})
		})},
		{"number twice", BadRecord, change(1, func(r *record.Resource) { r.ID = 2 })},
		{"number not given", BadRecord, change(5, func(r *record.Resource) { r.ID = 1000 })},
		{"target not given", BadRecord, change(5, func(r *record.Resource) { r.Target = 1000 })},
		{"page that says the same not given", BadRecord, change(5, func(r *record.Resource) {
			r.Like = 1000
		})},
		{"in the mirror without a body", BadRecord, change(5, func(r *record.Resource) { r.InSet = true })},
		{"unknown body", BadRecord, change(1, func(r *record.Resource) { r.Body = 9 })},
		{"frame elsewhere", BadFrame, change(1, func(r *record.Resource) { r.At.Off++ })},
		{"frame of another URL", BadFrame, func(t *testing.T, dir string, s *Site) {
			r, _, err := s.Records.Get(testURL(0))
			if err != nil {
				t.Fatal(err)
			}
			change(1, func(x *record.Resource) { x.At = r.At })(t, dir, s)
		}},
		{"size of a body", BadFrame, change(1, func(r *record.Resource) { r.Size++ })},
		{"digest of a body", BadFrame, change(1, func(r *record.Resource) { r.Digest[0]++ })},
		{"pack is missing", BadFrame, func(t *testing.T, dir string, _ *Site) {
			if err := os.Remove(filepath.Join(dir, "sites/x/packs/000001.pack")); err != nil {
				t.Fatal(err)
			}
		}},
		{"pack ends early", BadFrame, func(t *testing.T, dir string, _ *Site) {
			if err := os.Truncate(filepath.Join(dir, "sites/x/packs/000001.pack"), 60); err != nil {
				t.Fatal(err)
			}
		}},
		{"bytes of a pack", BadFrame, overwrite("sites/x/packs/000001.pack", 40, "####")},
		{"blob is missing", BadBlob, func(t *testing.T, dir string, s *Site) {
			r, _, _ := s.Records.Get(testURL(2))
			if err := os.Remove(blobFile(s, r.Digest)); err != nil {
				t.Fatal(err)
			}
		}},
		{"bytes of a blob", BadBlob, func(t *testing.T, dir string, s *Site) {
			r, _, _ := s.Records.Get(testURL(2))
			overwrite(strings.TrimPrefix(blobFile(s, r.Digest), dir), 0, "T")(t, dir, s)
		}},
		{"link to no number", BadLinks, update(func(tx *db.Tx) error {
			return tx.Bucket(home.Links).Put([]byte{0, 0, 0, 1}, record.AppendTargets(nil, []uint32{3, 999}))
		})},
		{"links cut short", BadLinks, update(func(tx *db.Tx) error {
			return tx.Bucket(home.Links).Put([]byte{0, 0, 0, 1}, []byte{1, 0x80})
		})},
		{"links of no document", BadLinks, update(func(tx *db.Tx) error {
			return tx.Bucket(home.Links).Put([]byte{9, 9, 9, 9}, nil)
		})},
		{"key of links", BadLinks, update(func(tx *db.Tx) error {
			return tx.Bucket(home.Links).Put([]byte{1}, nil)
		})},
		{"journal", BadJournal, batch(0, 1)},
		{"journal gives numbers", BadJournal, batch(200, 1, 0, 0)},
		{"history of no version", BadHistory, update(func(tx *db.Tx) error {
			return tx.Bucket(home.History).Put(append(db.NumberKey(77), key(1)...), nil)
		})},
		{"history", BadHistory, update(func(tx *db.Tx) error {
			return tx.Bucket(home.History).Put(append(db.NumberKey(2), key(1)...), []byte{1})
		})},
		{"version", BadVersion, update(func(tx *db.Tx) error {
			return tx.Bucket(home.Versions).Put(db.NumberKey(2), []byte(`{"number":1}`))
		})},
		{"version is no JSON", BadVersion, update(func(tx *db.Tx) error {
			return tx.Bucket(home.Versions).Put(db.NumberKey(2), []byte(`{`))
		})},
		{"live version", BadVersion, update(func(tx *db.Tx) error {
			return tx.Bucket(db.Meta).Put(home.KeyLive, db.NumberKey(1))
		})},
		{"script", BadVersion, update(func(tx *db.Tx) error {
			return tx.Bucket(home.Scripts).Put(db.NumberKey(1), []byte("no zstd"))
		})},
		{"bucket is missing", BadDatabase, update(func(tx *db.Tx) error {
			return behind(tx).DeleteBucket(home.History)
		})},
		{"current is missing", BadCurrent, func(t *testing.T, dir string, _ *Site) {
			if err := os.Remove(filepath.Join(dir, "sites/x/current")); err != nil {
				t.Fatal(err)
			}
		}},
		{"tree is missing", BadCurrent, func(t *testing.T, dir string, _ *Site) {
			if err := os.RemoveAll(filepath.Join(dir, "sites/x/trees/000002")); err != nil {
				t.Fatal(err)
			}
		}},
		{"live tree is being changed", BadCurrent, update(func(tx *db.Tx) error {
			return tx.Bucket(db.Meta).Put(home.KeyBuild, []byte("next 000002"))
		})},
	} {
		t.Run(d.name, func(t *testing.T) {
			dir := t.TempDir()
			st, s := verifySite(t, dir)
			if ps := problems(t, s); len(ps) > 0 {
				t.Fatalf("before: %v", ps)
			}
			d.do(t, dir, s)
			found := false
			for _, p := range problems(t, s) {
				found = found || p.Kind == d.kind
				if p.Detail == "" || strings.Contains(p.String(), "%!") {
					t.Errorf("%q", p)
				}
			}
			if !found {
				t.Errorf("not found: %v", problems(t, s))
			}
			s.Close() // the check of openTest would fail
			_ = st
		})
	}
}

// A page of the database that is garbage is a finding, not a crash.
func TestVerifyBadPages(t *testing.T) {
	dir := t.TempDir()
	st, s := verifySite(t, dir)
	commit(t, s, 8, newURLs(8, 4000))
	foldAll(t, s, 3)
	closeTest(t, st, s)
	p := filepath.Join(dir, "sites/x/site.db")
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, opened, page := 0, 0, 2 // 0 and 1 are the meta pages
	for ; page < 200; page++ {
		good := make([]byte, 200)
		if _, err := f.ReadAt(good, int64(page)*4096+16); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(random(200, byte(page)), int64(page)*4096+16); err != nil {
			t.Fatal(err)
		}
		func() {
			st, err := OpenState(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("page %d: %v", page, p)
				}
			}()
			s, err := st.readSite("x")
			if err != nil {
				return
			}
			defer s.Close()
			opened++
			if r, err := s.Verify(t.Context(), nil); err == nil && r.Problems > 0 {
				found++
			}
		}()
		if _, err := f.WriteAt(good, int64(page)*4096+16); err != nil {
			t.Fatal(err)
		}
	}
	if refused := page - 2 - opened; found+refused < 50 {
		t.Errorf("of %d pages, damage of %d was found and %d kept the site from being opened", page-2,
			found, refused)
	}
	st, s = openTest(t, dir, Options{})
	closeTest(t, st, s)
}

func TestVerifyStops(t *testing.T) {
	_, s := verifySite(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Verify(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	st, err := s.Verify(t.Context(), nil)
	if err != nil || st.Records != 8 || st.Frames < 3 || st.Blobs != 1 || st.Versions != 2 || st.Journal != 1 ||
		st.Bytes == 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package upkeep

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

// verifySite makes a site with a bit of everything.
func verifySite(t *testing.T, dir string) *Site {
	s := openTest(t, dir)
	commit(t, s, 0, newURLs(0, 6), document(t, s, 0, "zero", 1, 2, 3), document(t, s, 1, "one", 0),
		blobOf(t, s, 2, "two"))
	foldAll(t, s, 1)
	publish(t, s, 1, "a", "b")
	commit(t, s, 6, newURLs(6, 8), document(t, s, 0, "zero again", 1, 7))
	foldAll(t, s, 2)
	publish(t, s, 2, "a", "c")
	commit(t, s, 8, nil, document(t, s, 4, "four", 7))
	return s
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
			must(t, s.DB.Update(f))
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
			must(t, os.Remove(filepath.Join(dir, "sites/x/packs/000001.pack")))
		}},
		{"pack ends early", BadFrame, func(t *testing.T, dir string, _ *Site) {
			must(t, os.Truncate(filepath.Join(dir, "sites/x/packs/000001.pack"), 60))
		}},
		{"bytes of a pack", BadFrame, overwrite("sites/x/packs/000001.pack", 40, "####")},
		{"blob is missing", BadBlob, func(t *testing.T, dir string, s *Site) {
			r, _, _ := s.Records.Get(testURL(2))
			must(t, os.Remove(blobFile(s, r.Digest)))
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
			must(t, os.Remove(filepath.Join(dir, "sites/x/current")))
		}},
		{"tree is missing", BadCurrent, func(t *testing.T, dir string, _ *Site) {
			must(t, os.RemoveAll(filepath.Join(dir, "sites/x/trees/000002")))
		}},
		{"live tree is being changed", BadCurrent, update(func(tx *db.Tx) error {
			return tx.Bucket(db.Meta).Put(home.KeyBuild, []byte("next 000002"))
		})},
	} {
		t.Run(d.name, func(t *testing.T) {
			dir := t.TempDir()
			s := verifySite(t, dir)
			if ps := verify(t, s); len(ps) > 0 {
				t.Fatalf("before: %v", ps)
			}
			d.do(t, dir, s)
			found := false
			for _, p := range verify(t, s) {
				found = found || p.Kind == d.kind
				if p.Detail == "" || strings.Contains(p.String(), "%!") {
					t.Errorf("%q", p)
				}
			}
			if !found {
				t.Errorf("not found: %v", verify(t, s))
			}
		})
	}
}

func TestVerifyStops(t *testing.T) {
	s := verifySite(t, t.TempDir())
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

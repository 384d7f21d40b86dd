// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// sealedSite makes a site with two versions and some values in every bucket, and returns the path of its
// database.
func sealedSite(t *testing.T) (dir, db string) {
	t.Helper()
	dir = t.TempDir()
	st, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 40), document(t, s, 0, "body"), document(t, s, 1, "other"))
	foldAll(t, s, 1)
	publishNow(t, s, 1)
	commit(t, s, 40, nil, document(t, s, 0, "new body"), document(t, s, 2, "third"))
	foldAll(t, s, 2)
	publishNow(t, s, 2)
	if err := s.Records.AddObservation(&record.Observation{Run: 1, Version: 1, Asked: record.SetOf(0,
		1)}); err != nil {
		t.Fatal(err)
	}
	commit(t, s, 40, newURLs(40, 42))
	db = filepath.Join(s.Dir, home.SiteDB)
	closeTest(t, st, s)
	return dir, db
}

// publishNow publishes a version of one file.
func publishNow(t *testing.T, s *Site, version int) {
	t.Helper()
	tree, err := s.Trees.Build(trees.TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	fillTree(t, tree, version, map[string]string{"index.html": fmt.Sprint(version)})
	v := record.Version{Number: version, Time: time.Now(), Files: 1}
	if err := tree.Publish(v, []byte("script")); err != nil {
		t.Fatal(err)
	}
}

// raw changes a database behind the door, as a disk does: the number of its last transaction stays.
func raw(t *testing.T, path string, change func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// A database has two commits, each in a page of its own: magic, root, …, number (at 48), checksum (at 56).
	for page := range 2 {
		at := int64(page*os.Getpagesize() + 16)
		b := make([]byte, 64)
		if _, err := f.ReadAt(b, at); err != nil {
			t.Fatal(err)
		}
		binary.NativeEndian.PutUint64(b[48:], binary.NativeEndian.Uint64(b[48:])-1)
		sum := fnv.New64a()
		sum.Write(b[:56])
		binary.NativeEndian.PutUint64(b[56:], sum.Sum64())
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
}

// opened says what becomes of a site when it is opened for a run, and what Verify says.
func opened(t *testing.T, dir string) (run, verify error) {
	t.Helper()
	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	verify, err = st.Unreadable(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite("x")
	if err != nil {
		return err, verify
	}
	return s.Close(), verify
}

// content is all that a database holds, but the token of its leases.
func content(t *testing.T, path string) map[string]string {
	t.Helper()
	out := map[string]string{}
	raw(t, path, func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			out[string(name)] = fmt.Sprint(b.Sequence())
			return b.ForEach(func(k, v []byte) error {
				if isMeta := string(name) == string(db.Meta) && string(k) == string(home.KeyToken); !isMeta &&
					string(name) != string([]byte("sums")) {
					out[string(name)+" "+string(k)] = string(v)
				}
				return nil
			})
		})
	})
	return out
}

// TestSealedValues changes each value of a database in each way in which a disk may. A check finds it. The
// next run makes the database again from its log, without a loss; without a log it does not begin.
func TestSealedValues(t *testing.T) {
	_, good := sealedSite(t)
	want := content(t, good)
	var all []struct{ bucket, key []byte }
	raw(t, good, func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			return b.ForEach(func(k, _ []byte) error {
				all = append(all, struct{ bucket, key []byte }{slices.Clone(name), slices.Clone(k)})
				return nil
			})
		})
	})
	seen := map[string]bool{}
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]func(b *bolt.Bucket, k []byte) error{
		"lost": func(b *bolt.Bucket, k []byte) error { return b.Delete(k) },
		"bit": func(b *bolt.Bucket, k []byte) error {
			v := slices.Clone(b.Get(k))
			v[rand.IntN(len(v))] ^= 1 << rand.IntN(8)
			return b.Put(k, v)
		},
		"other key": func(b *bolt.Bucket, k []byte) error {
			v := slices.Clone(b.Get(k))
			return errors.Join(b.Delete(k), b.Put(append(slices.Clone(k), 'x'), v))
		},
	}
	for i, at := range all {
		sums := string(at.bucket) == string([]byte("sums"))
		if seen[string(at.bucket)] && (i%7 != 0) && !sums { // one of each bucket, all tallies, and some more
			continue
		}
		seen[string(at.bucket)] = true
		for _, way := range slices.Sorted(maps.Keys(ways)) {
			t.Run(fmt.Sprintf("%s/%d/%s", at.bucket, i, way), func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(filepath.Join(good, "../../.."))); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, "sites/x", home.SiteDB)
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				raw(t, path, func(tx *bolt.Tx) error { return ways[way](tx.Bucket(at.bucket), at.key) })
				run, verify := opened(t, dir)
				if (run != nil) || (verify == nil) {
					t.Errorf("a run begins with %v, a check finds %v", run, verify)
				}
				if got := content(t, path); !maps.Equal(got, want) {
					t.Errorf("the database holds %q, want %q", got, want)
				}
				raw(t, path, func(tx *bolt.Tx) error { return ways[way](tx.Bucket(at.bucket), at.key) })
				if err := os.RemoveAll(filepath.Join(dir, "sites/x", log.Folder)); err != nil {
					t.Fatal(err)
				}
				if run, _ := opened(t, dir); !errors.Is(run, disk.ErrDamaged) {
					t.Errorf("without a log a run begins with %v", run)
				}
			})
		}
	}
	if len(seen) < 8 {
		t.Errorf("only buckets %v", slices.Sorted(maps.Keys(seen)))
	}
}

// TestSealedOldPage puts older values back under their keys, as a disk does that lost a write.
func TestSealedOldPage(t *testing.T) {
	dir, path := sealedSite(t)
	var k, old []byte
	raw(t, path, func(tx *bolt.Tx) error {
		k, old = tx.Bucket(home.Resources).Cursor().First()
		k, old = slices.Clone(k), slices.Clone(old)
		return nil
	})
	st, s := openTest(t, dir, Options{})
	commit(t, s, 42, nil, document(t, s, 0, "newest"), document(t, s, 1, "newer"))
	foldAll(t, s, 3)
	closeTest(t, st, s)
	want := content(t, path)
	raw(t, path, func(tx *bolt.Tx) error { return tx.Bucket(home.Resources).Put(k, old) })
	if run, verify := opened(t, dir); (run != nil) || (verify == nil) {
		t.Errorf("a run begins with %v, a check finds %v", run, verify)
	}
	if got := content(t, path); !maps.Equal(got, want) {
		t.Errorf("the database holds %q, want %q", got, want)
	}
}

// SPDX-License-Identifier: Apache-2.0

package dbpages_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/internal/dbpages"
)

const pageSize = 4096

// database makes a file with n keys in one bucket, a small bucket, a bucket of buckets, large values, and
// free pages.
func database(t testing.TB, n int) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(name, 0o600, &bolt.Options{
		NoSync:       true,
		PageSize:     pageSize,
		FreelistType: bolt.FreelistMapType,
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(from, to int, f func(b *bolt.Bucket, i int) error) {
		t.Helper()
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("many"))
			for i := from; i < to && err == nil; i++ {
				err = f(b, i)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	key := func(i int) []byte {
		return fmt.Appendf(nil, "http://example.org/docs/%07d/page.html", i*7919%10_000_000)
	}
	for i := 0; i < n; i += 10_000 {
		put(i, min(n, i+10_000), func(b *bolt.Bucket, i int) error { return b.Put(key(i), make([]byte, 100+i%50)) })
	}
	put(0, n/10, func(b *bolt.Bucket, i int) error { return b.Delete(key(i * 3)) })
	put(0, 3, func(b *bolt.Bucket, i int) error {
		return b.Put(fmt.Appendf(nil, "large%d", i), make([]byte, 30_000))
	})
	err = db.Update(func(tx *bolt.Tx) error {
		few, err := tx.CreateBucket([]byte("few"))
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucket([]byte("none")); err != nil {
			return err
		}
		all, err := tx.CreateBucket([]byte("nested"))
		if err != nil {
			return err
		}
		for i := range 5 {
			b, err := all.CreateBucket(fmt.Appendf(nil, "site%d", i))
			if err != nil {
				return err
			}
			if err := b.Put([]byte("k"), make([]byte, i*600)); err != nil {
				return err
			}
		}
		return few.Put([]byte("format"), []byte("6"))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func check(data []byte) error { return dbpages.Check(bytes.NewReader(data), int64(len(data)), 2) }

func TestCheckGood(t *testing.T) {
	for _, n := range []int{0, 1, 100, 5000} {
		if err := check(database(t, n)); err != nil {
			t.Errorf("%d keys: %v", n, err)
		}
	}
	data := database(t, 100)
	if err := dbpages.Check(bytes.NewReader(data), int64(len(data)), 1); err == nil {
		t.Error("buckets in buckets of the root are accepted at depth 1")
	}
}

// high is how many pages a file has in use or free, by its later meta page.
func high(data []byte) int {
	a, b := data[16:], data[pageSize+16:]
	if binary.NativeEndian.Uint64(b[48:]) > binary.NativeEndian.Uint64(a[48:]) {
		a = b
	}
	return int(binary.NativeEndian.Uint64(a[40:]))
}

// A file that passes is readable by bbolt after any damage: a walk over all keys neither panics nor
// finds less, but for values.
func TestCheckDamage(t *testing.T) {
	good := database(t, 400)
	pages := high(good)
	r := rand.New(rand.NewPCG(1, 2))
	at := func(data []byte, page int) []byte { return data[page*pageSize : (page+1)*pageSize] }
	kinds := map[string]func(data []byte, page int){
		"zeroed": func(data []byte, page int) { clear(at(data, page)) },
		"random": func(data []byte, page int) {
			for i := range at(data, page) {
				data[page*pageSize+i] = byte(r.Uint32())
			}
		},
		"head":    func(data []byte, page int) { at(data, page)[r.IntN(16)] ^= 1 << r.IntN(8) },
		"element": func(data []byte, page int) { at(data, page)[16+r.IntN(160)] ^= 1 << r.IntN(8) },
		"swapped": func(data []byte, page int) {
			other := 2 + r.IntN(pages-2)
			keep := bytes.Clone(at(data, page))
			copy(at(data, page), at(data, other))
			copy(at(data, other), keep)
		},
		"pointing at itself": func(data []byte, page int) {
			if p := at(data, page); p[8] == 1 {
				binary.NativeEndian.PutUint64(p[24:], uint64(page))
			}
		},
		"freelist of everything": func(data []byte, page int) {
			if p := at(data, page); p[8] == 0x10 {
				binary.NativeEndian.PutUint16(p[10:], 0xffff)
				binary.NativeEndian.PutUint64(p[16:], 1<<40)
			}
		},
	}
	found := map[string]int{}
	name := filepath.Join(t.TempDir(), "db")
	for kind, spoil := range kinds {
		for page := range pages {
			data := bytes.Clone(good)
			spoil(data, page)
			err := check(data)
			var fault *dbpages.Fault
			if err != nil {
				if found[kind]++; !errors.As(err, &fault) {
					t.Fatalf("%s page %d: %T %v", kind, page, err, err)
				}
				continue
			}
			if page%11 == 0 && !bytes.Equal(data, good) {
				readAll(t, name, data, fmt.Sprintf("%s page %d", kind, page))
			}
		}
		if found[kind] == 0 {
			t.Errorf("%s: nothing was found in %d pages", kind, pages)
		}
	}
	for cut := 0; cut < pages; cut++ {
		for _, more := range []int{0, 1, pageSize - 1} {
			if err := check(good[:cut*pageSize+more]); err == nil {
				t.Errorf("a file cut to %d pages and %d bytes is accepted", cut, more)
			}
		}
	}
	t.Log("found:", found, "of", pages)
}

// bbolt finds the place of a page in its branch by the first key of the page. With another first key, though
// it is in order, it keeps the old place beside the new one, and a page gets two uses.
func TestCheckFirstKeys(t *testing.T) {
	good := database(t, 400)
	found := 0
	for page := 2; page < high(good); page++ {
		data := bytes.Clone(good)
		p := data[page*pageSize : (page+1)*pageSize]
		n := binary.NativeEndian.Uint16(p[10:])
		if binary.NativeEndian.Uint16(p[8:]) != 2 || n < 2 { // a leaf of more than one key
			continue
		}
		at := 16 + binary.NativeEndian.Uint32(p[20:])
		if key := p[at:][:binary.NativeEndian.Uint32(p[24:])]; bytes.HasSuffix(key, []byte("page.html")) {
			key[len(key)-1]++
			if err := check(data); err != nil {
				found++
			} else if err := check(rewritten(t, data)); err != nil {
				t.Errorf("page %d: another first key is accepted, and once bbolt has written: %v", page, err)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d pages are found", found)
	}
}

// rewritten is a database after each value of its large bucket was written once more.
func rewritten(t *testing.T, data []byte) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(name, 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("many"))
		var keys [][]byte
		err := b.ForEach(func(k, _ []byte) error {
			keys = append(keys, bytes.Clone(k))
			return nil
		})
		for _, k := range keys {
			err = errors.Join(err, b.Put(k, make([]byte, 50)))
		}
		return err
	})
	if err = errors.Join(err, db.Close()); err == nil {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What bbolt writes is good after each commit.
func TestCheckWrites(t *testing.T) {
	name := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(name, 0o600, &bolt.Options{
		NoSync:       true,
		PageSize:     1024,
		FreelistType: bolt.FreelistMapType,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := rand.New(rand.NewPCG(3, 4))
	for commit := range 300 {
		if err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			from, few := r.IntN(4000), r.IntN(200)
			for i := from; i < from+few && err == nil; i++ {
				if key := fmt.Appendf(nil, "%d", i); commit/20%2 == 0 {
					err = b.Put(key, make([]byte, r.IntN(300)))
				} else {
					err = b.Delete(key)
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err == nil {
			err = check(data)
		}
		if err != nil {
			t.Fatalf("after commit %d: %v", commit, err)
		}
	}
}

// readAll lets bbolt read and write a file that was found good.
func readAll(t *testing.T, name string, data []byte, what string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: bbolt panics: %v", what, p)
		}
	}()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(name, 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer db.Close()
	n := 0
	err = db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("many"))
		if b == nil {
			return nil // the name of a bucket is a key
		}
		if err := b.ForEach(func(_, _ []byte) error { n++; return nil }); err != nil {
			return err
		}
		return b.Put([]byte("new"), make([]byte, 5000))
	})
	if err != nil {
		t.Errorf("%s: after %d keys: %v", what, n, err)
	}
}

// TestCheckTime states what the check costs; with MIRRORD_LONG for a million keys.
func TestCheckTime(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("figures for docs/engineering/storage.md: set MIRRORD_LONG")
	}
	for _, n := range []int{100_000, 1_000_000} {
		data := database(t, n)
		name := filepath.Join(t.TempDir(), "db")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		started := time.Now()
		if err := dbpages.Check(f, int64(len(data)), 2); err != nil {
			t.Error(err)
		}
		t.Logf("%d keys, %d MB: %v", n, len(data)>>20, time.Since(started))
	}
}

func FuzzCheck(f *testing.F) {
	good := database(f, 400)
	f.Add(uint32(5), uint32(16), []byte{1, 2, 3})
	f.Add(uint32(3), uint32(8), []byte{0x10})
	f.Fuzz(func(t *testing.T, page, off uint32, b []byte) {
		data := bytes.Clone(good)
		at := int(page)%(len(data)/pageSize)*pageSize + int(off)%pageSize
		copy(data[at:], b)
		_ = check(data)
	})
}

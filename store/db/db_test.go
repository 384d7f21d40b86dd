// SPDX-License-Identifier: Apache-2.0

package db

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/internal/dbpages"
	"mirrord/store/disk"
	"mirrord/store/log"
	"mirrord/store/record"
)

var things = []byte("things")

// openSite opens the database of a site in a folder, with its log, and makes it.
func openSite(t *testing.T, dir string) *DB {
	t.Helper()
	d, err := Open(Options{
		Path:   filepath.Join(dir, "site.db"),
		Site:   "x",
		Mode:   0o640,
		Depth:  1,
		Fresh:  true,
		Shared: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	if err = d.Follow(root); err == nil {
		err = d.BeginLog()
	}
	if err == nil {
		err = d.Update(func(tx *Tx) error {
			_, terr := tx.CreateBucketIfNotExists(things)
			m, merr := tx.CreateBucketIfNotExists(Meta)
			if err := errors.Join(terr, merr); err != nil {
				return err
			}
			return m.Put(KeyFormat, binary.BigEndian.AppendUint32(nil, FormatVersion))
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// viewSite opens it for reading.
func viewSite(dir string) (*DB, error) {
	return Open(Options{
		Path:     filepath.Join(dir, "site.db"),
		Site:     "x",
		Mode:     0o640,
		Depth:    1,
		Shared:   true,
		ReadOnly: true,
	})
}

func put(t *testing.T, d *DB, key, value string) {
	t.Helper()
	if err := d.Update(func(tx *Tx) error {
		return tx.Bucket(things).Put([]byte(key), []byte(value))
	}); err != nil {
		t.Fatal(err)
	}
}

func get(d *DB, key string) (value string, err error) {
	err = d.View(func(tx *Tx) error {
		value = string(tx.Bucket(things).Get([]byte(key)))
		return nil
	})
	return value, err
}

func closeDB(t *testing.T, d *DB) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// A value that a disk changed is damage as soon as it is read, and one that it lost when all are counted.
func TestSeals(t *testing.T) {
	for what, spoil := range map[string]func(b *bolt.Bucket) error{
		"bit": func(b *bolt.Bucket) error {
			v := bytes.Clone(b.Get([]byte("b")))
			v[0] ^= 1
			return b.Put([]byte("b"), v)
		},
		"other key": func(b *bolt.Bucket) error { return b.Put([]byte("b"), b.Get([]byte("a"))) },
		"lost":      func(b *bolt.Bucket) error { return b.Delete([]byte("b")) },
	} {
		dir := t.TempDir()
		d := openSite(t, dir)
		put(t, d, "a", "one")
		put(t, d, "b", "two")
		if err := d.View((*Tx).CheckSums); err != nil {
			t.Error(err)
		}
		closeDB(t, d)
		raw, err := bolt.Open(filepath.Join(dir, "site.db"), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Update(func(tx *bolt.Tx) error { return spoil(tx.Bucket(things)) })
		if err = errors.Join(err, raw.Close()); err != nil {
			t.Fatal(err)
		}
		if d, err = viewSite(dir); err != nil {
			t.Fatal(err)
		}
		if v, err := get(d, "a"); v != "one" || err != nil {
			t.Errorf("%s: %q, %v", what, v, err)
		}
		v, err := get(d, "b")
		bad, is := errors.AsType[*DatabaseError](err)
		if found := is && bad.Site == "x" && bad.File == "site.db"; found != (what != "lost") || v != "" {
			t.Errorf("%s: %q, %v", what, v, err)
		}
		err = d.View(func(tx *Tx) error {
			if err := tx.CheckSums(); err != nil {
				return d.Damaged(err)
			}
			return nil
		})
		if !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%s: all values are counted: %v", what, err)
		}
		closeDB(t, d)
	}
}

// A database that is gone, or an older copy, is what it was when it is made again from its log.
func TestMadeOfLog(t *testing.T) {
	dir := t.TempDir()
	d := openSite(t, dir)
	for n := range 20 {
		put(t, d, fmt.Sprint(n%7), fmt.Sprint("value ", n))
		if n == 10 {
			if err := d.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := d.Options
	closeDB(t, d)
	if err := os.Remove(o.Path); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	segment, err := log.LastOf(root)
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	whole, err := log.Read(segment)
	if err == nil {
		err = o.MakeNext(func(next *DB) error { return RedoAll(next, whole) })
	}
	if err == nil {
		err = o.TakeName()
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err = viewSite(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer closeDB(t, d)
	for n := 13; n < 20; n++ {
		if v, err := get(d, fmt.Sprint(n%7)); v != fmt.Sprint("value ", n) || err != nil {
			t.Errorf("%d: %q, %v", n, v, err)
		}
	}
	if err := IsUpTo(d, whole, false); err != nil {
		t.Error(err)
	}
}

// Batches stay until they are folded, also when the log is begun again or the database is opened again.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	d := openSite(t, dir)
	batch := func(n uint32) []byte { // of one new URL
		b := binary.AppendUvarint(record.AppendEnd(nil, n+1, int64(n)*100), uint64(n))
		news := record.NewURL{URL: fmt.Sprintf("http://a.example/%d", n)}
		return append(news.Append(append(b, 1)), 0)
	}
	for n := range uint32(3) {
		if err := d.LogBatch(log.Batch, batch(n), n+1); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, numbers ...uint32) {
		t.Helper()
		var got []uint32
		err := d.Batches(func(_ uint64, v []byte) error {
			var b record.LogBatch
			err := b.Decode(v)
			got = append(got, b.First)
			return err
		})
		if err != nil || !slices.Equal(got, numbers) {
			t.Errorf("%s: batches %d, %v, want %d", what, got, err, numbers)
		}
	}
	want("written", 0, 1, 2)
	if b := d.Journal.Now(); b.Pack != 3 || b.Size != 200 || b.URLs != 3 {
		t.Errorf("packs end at %d in %d, %d URLs", b.Size, b.Pack, b.URLs)
	}
	closeDB(t, d)
	d = openSite(t, dir)
	want("opened again", 0, 1, 2)
	if err := d.LogBatch(log.Batch, batch(3), 4); err != nil {
		t.Fatal(err)
	}
	if err := d.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	want("log begun again", 0, 1, 2, 3)
	closeDB(t, d)
	d = openSite(t, dir) // no older than its log, which ended with a batch
	want("log begun again, opened again", 0, 1, 2, 3)
	entries := d.Journal.Now().Entries
	d.Journal.Drop(entries[1].Tx)
	want("folded", 2, 3)
	d.Journal.Drop(d.Journal.Now().Last())
	want("all folded")
	closeDB(t, d)
}

// A reader keeps what it has; its writer does not wait, and continues in another file.
func TestReaderBesideWriter(t *testing.T) {
	dir := t.TempDir()
	d := openSite(t, dir)
	defer closeDB(t, d)
	put(t, d, "a", "before")
	before, err := os.Stat(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	view, err := viewSite(dir)
	if err != nil {
		t.Fatal(err)
	}
	if view.Stale() {
		t.Error("it is stale at once")
	}
	put(t, d, "a", "after")
	after, err := os.Stat(d.Path)
	if err != nil || os.SameFile(before, after) {
		t.Errorf("the writer writes the file that is read: %v", err)
	}
	if v, err := get(view, "a"); v != "before" || err != nil || !view.Stale() {
		t.Errorf("the reader has %q, %v; stale: %v", v, err, view.Stale())
	}
	closeDB(t, view)
	if v, err := get(d, "a"); v != "after" || err != nil {
		t.Errorf("the writer has %q, %v", v, err)
	}
	if _, err := Open(d.Options); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if !IsWritten(root) {
		t.Error("it has no writer")
	}
}

// A database that is not shared is read as a copy while a process holds it.
func TestOpenCopy(t *testing.T) {
	o := Options{
		Path:  filepath.Join(t.TempDir(), "mirror.db"),
		Mode:  0o600,
		Depth: 2,
		Fresh: true,
	}
	if _, err := o.OpenCopy(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer closeDB(t, d)
	if err := d.Update(func(tx *Tx) error {
		b, err := tx.CreateBucket(things)
		if err != nil {
			return err
		}
		return b.PutJSON([]byte("a"), "held")
	}); err != nil {
		t.Fatal(err)
	}
	copied, err := o.OpenCopy(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if v, err := get(copied, "a"); v != `"held"` || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if err := copied.Update(func(*Tx) error { return nil }); err == nil {
		t.Error("a copy was written")
	}
	closeDB(t, copied)
}

// A file that is opened in turns is not checked each time.
func TestFileIsCheckedOnce(t *testing.T) {
	now := time.Now()
	known := &WholeFiles{Now: func() time.Time { return now }}
	o := Options{
		Path:  filepath.Join(t.TempDir(), "mirror.db"),
		Mode:  0o600,
		Depth: 2,
		Fresh: true,
		Known: known,
	}
	for _, use := range []func(d *DB, f func(*Tx) error) error{(*DB).Update, (*DB).View, (*DB).Update} {
		d, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := use(d, func(tx *Tx) error {
			if tx.Writable() {
				_, err := tx.CreateBucketIfNotExists(things)
				return err
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		closeDB(t, d)
	}
	f, err := os.Open(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fi, serr := f.Stat()
	commit, err := dbpages.ReadCommit(f)
	if err = errors.Join(err, serr); err != nil {
		t.Fatal(err)
	}
	if !known.has(o.Path, fi, commit) {
		t.Error("our own commit makes the next one look at all pages again")
	}
	if now = now.Add(checkedFor); known.has(o.Path, fi, commit) {
		t.Error("pages are never looked at again")
	}
}

// A database of which nothing can be read is damaged.
func TestUnreadableDatabase(t *testing.T) {
	f, err := os.Open("/proc/self/mem") // nothing is mapped at its beginning
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if _, err := f.ReadAt(make([]byte, 1), 0); err == nil || !strings.Contains(err.Error(), "input/output") {
		t.Skipf("it says %v", err)
	}
	o := Options{Site: "x", Path: "site.db"}
	if err := o.look(f); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("a database of which nothing can be read is whole: %v", err)
	}
}

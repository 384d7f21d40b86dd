// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"mirrord/fetch/robots"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/shared"
)

const (
	sealBytes    = 4 // of a value: its checksum
	lastUnsealed = 7 // the last format without those
)

// unseal makes a database one without checksums. Its format is that of site.db.
func unseal(t *testing.T, path string, format uint32) {
	t.Helper()
	var strip func(b *bolt.Bucket) error
	strip = func(b *bolt.Bucket) error {
		var keys, values [][]byte
		err := b.ForEach(func(k, v []byte) error {
			if v == nil {
				return strip(b.Bucket(k))
			}
			keys, values = append(keys, slices.Clone(k)), append(values, slices.Clone(v[:len(v)-sealBytes]))
			return nil
		})
		for i, k := range keys {
			if string(k) == string(db.KeyFormat) {
				values[i] = binary.BigEndian.AppendUint32(nil, format)
			}
			err = errors.Join(err, b.Put(k, values[i]))
		}
		return err
	}
	raw(t, path, func(tx *bolt.Tx) error {
		if err := tx.DeleteBucket([]byte("sums")); err != nil {
			return err
		}
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return strip(b) })
	})
}

// A database without checksums gets them when it is first opened for writing, in spite of what a killed
// process left: nothing is lost. A reader says which command does that, and changes nothing.
func TestConvert(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		t.Run(fmt.Sprint("volatile ", volatile), func(t *testing.T) {
			dir, path := sealedSite(t)
			want := content(t, path)
			unseal(t, path, lastUnsealed)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			st, err := OpenState(dir, Options{Volatile: volatile})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			half := filepath.Join(filepath.Dir(path), ".site.db.next")
			if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := st.ViewSite("x"); !errors.Is(err, db.ErrOldFormat) || !strings.Contains(err.Error(),
				"mirrord gc") {
				t.Errorf("a reader gets %v", err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
				t.Errorf("a reader has changed it: %v", err)
			}
			for range 2 {
				s, err := st.OpenSite("x")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := st.OpenSite("x"); !errors.Is(err, disk.ErrLocked) {
					t.Errorf("a second one: %v", err)
				}
				if err := errors.Join(s.DB.View((*db.Tx).CheckSums), s.Close()); err != nil {
					t.Fatal(err)
				}
			}
			if got := content(t, path); !maps.Equal(got, want) {
				t.Errorf("the database has %q, want %q", got, want)
			}
			if _, err := os.Lstat(half); err == nil {
				t.Error("what the killed process left is still there")
			}
		})
	}
}

// A database of a format before that is refused with what to do, and one whose checksums were lost is
// damaged:
// neither is treated as one that has none.
func TestNotConverted(t *testing.T) {
	for format, want := range map[uint32]error{lastUnsealed - 1: db.ErrOldFormat, db.FormatVersion: nil} {
		dir, path := sealedSite(t)
		unseal(t, path, format)
		before := content(t, path)
		st, err := OpenState(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.openSite("x", writing) // OpenSite would make it again from the log
		if damaged, is := errors.AsType[*db.DatabaseError](err); (want == nil) != is || (want != nil &&
			!errors.Is(err, want)) {
			t.Errorf("format %d: %v, %v", format, err, damaged)
		}
		if want != nil && !strings.Contains(err.Error(), "import") {
			t.Errorf("format %d: %v", format, err)
		}
		if got := content(t, path); !maps.Equal(got, before) {
			t.Errorf("format %d: the database was changed", format)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// mirror.db without checksums gets them too, with all that it has.
func TestConvertState(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, shared.FileName)
	for n := range 3 {
		st, err := OpenState(dir, Options{Volatile: n < 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Shared.AddRun(shared.RunRecord{Site: "x", Verdict: fmt.Sprint("verdict ", n)}); err != nil {
			t.Fatal(err)
		}
		err = st.Shared.SaveHost(fmt.Sprint("https://h", n), robots.FileCopy{Body: []byte("robots")})
		if err != nil {
			t.Fatal(err)
		}
		runs, err := st.Shared.Runs("x", 9)
		if err != nil || len(runs) != n+1 || runs[n].Verdict != "verdict 0" {
			t.Errorf("runs %+v, %v", runs, err)
		}
		if f, ok, err := st.Shared.LoadHost("https://h0"); err != nil || !ok || string(f.Body) != "robots" {
			t.Errorf("%+v, %v, %v", f, ok, err)
		}
		if err := errors.Join(st.Shared.Check(), st.Close()); err != nil {
			t.Fatal(err)
		}
		unseal(t, path, 0)
	}
}

// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"mirrord/store"
	"mirrord/store/blobs"
	"mirrord/store/disk"
	"mirrord/testing/storetest"
)

func TestBlobBodies(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		storetest.TestBodies(t, func(t *testing.T) storetest.Contract {
			st := openState(t, t.TempDir(), store.Options{Volatile: volatile})
			t.Cleanup(func() { st.Close() })
			return st.Bodies
		})
	}
}

func TestMemoryBodies(t *testing.T) {
	storetest.TestBodies(t, func(*testing.T) storetest.Contract { return new(storetest.Bodies) })
}

func blobsOf(t *testing.T, bodies map[string]time.Time) (*blobs.Blobs, func(text string) [32]byte) {
	t.Helper()
	st := openState(t, t.TempDir(), store.Options{})
	t.Cleanup(func() { st.Close() })
	for text, at := range bodies {
		if err := st.Bodies.Put(sha256.Sum256([]byte(text)), []byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	return st.Bodies, func(text string) [32]byte { return sha256.Sum256([]byte(text)) }
}

func TestBlobsAsFiles(t *testing.T) {
	text := strings.Repeat("of a body ", 300)
	b, of := blobsOf(t, map[string]time.Time{"": time.Unix(7, 0), text: time.Unix(7, 0)})
	for _, want := range []string{"", text} {
		f, err := b.OpenFile(of(want))
		if err != nil {
			t.Fatal(err)
		}
		fi, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if fi.Size() != int64(len(want)) || !fi.Mode().IsRegular() || !fi.ModTime().Equal(time.Unix(7, 0)) {
			t.Errorf("%d bytes, %s, %s", fi.Size(), fi.Mode(), fi.ModTime())
		}
		if err := iotest.TestReader(f, []byte(want)); err != nil { // it seeks too
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := f.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("after close: %v", err)
		}
	}
	if _, err := b.OpenFile(of("missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a body that is missing: %v", err)
	}
}

func TestBlobsArePlaced(t *testing.T) {
	b, of := blobsOf(t, map[string]time.Time{"text": time.Unix(7, 0)})
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := disk.NewOpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := b.Place(of("text"), dir, "x"); err != nil {
		t.Fatal(err)
	}
	if err := b.Place(of("text"), dir, "x"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	fi, err := root.Stat("x")
	if err != nil {
		t.Fatal(err)
	}
	if is, err := b.Is(fi, of("text")); !is || err != nil {
		t.Errorf("is the body: %t, %v", is, err)
	}
	if err := b.Delete(of("text")); err != nil {
		t.Error(err)
	}
	if got, err := root.ReadFile("x"); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	if err := b.Place(of("text"), dir, "y"); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("a body that is missing: %v", err)
	}
}

func TestBlobsAreDiscarded(t *testing.T) {
	b, of := blobsOf(t, map[string]time.Time{"good": time.Unix(1, 0)})
	if err := b.Put(of("right"), []byte("wrong"), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		text    string
		missing bool
	}{{"good", false}, {"right", true}, {"right", true}, {"", true}} {
		if missing, err := b.Discard(of(tc.text)); missing != tc.missing || err != nil {
			t.Errorf("%q: %t, %v", tc.text, missing, err)
		}
	}
	if _, err := b.Stat(of("good")); err != nil {
		t.Error(err)
	}
	if err := b.Put(of("right"), []byte("right"), time.Unix(1, 0)); err != nil {
		t.Error(err)
	}
	if !b.IsThere(of("right"), 5) {
		t.Error("the right body did not come")
	}
}

// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"mirrord/store/disk"
)

func TestCollectBlobs(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{Volatile: true})
	h := newPast(t, s, rand.New(rand.NewPCG(7, 7)), 6)
	other, err := st.OpenSite("other")
	if err != nil {
		t.Fatal(err)
	}
	commit(t, other, 0, newURLs(0, 1), blobOf(t, other, 0, "of the other site"))
	orphan := []byte("unreferenced")
	if err := s.Kept.Put([32]byte{1}, orphan, at(1)); err != nil { // under a name that is not its digest
		t.Fatal(err)
	}
	for n := 1; n < 6; n++ {
		h.drop(n)
	}
	compact(t, s, false)

	// Nothing is touched while a site is open.
	st2, err := OpenState(dir, Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st2.Close()
	if _, err := st2.CollectBlobs(t.Context(), false); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("while a site is open: %v", err)
	}
	if _, err := s.Kept.AsFile([32]byte{1}); err != nil {
		t.Error(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	closeSite(t, s)
	would, err := st2.CollectBlobs(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	blobs := filepath.Join(dir, "blobs")
	before := sizeOf(t, blobs)
	did, err := st.CollectBlobs(t.Context(), false)
	if err != nil || did != would || did.Blobs < 2 {
		t.Errorf("it did %+v (%v) and said %+v before", did, err, would)
	}
	if freed := before - sizeOf(t, blobs); freed != did.Freed {
		t.Errorf("%d bytes are free, it says %d", freed, did.Freed)
	}
	if _, err := st.Bodies.AsFile([32]byte{1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unreferenced blob: %v", err)
	}
	if s, err = st.OpenSite("x"); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h.check(s)
	if other, err = st.OpenSite("other"); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Kept.AsFile(resourcesOfJournal(t, other)[0].Digest); err != nil {
		t.Errorf("the blob of another site's unfinished run: %v", err)
	}
}

// A site that cannot be read may refer to anything.
func TestCollectBlobsRefusesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{Volatile: true})
	if err := s.Kept.Put([32]byte{1}, []byte("x"), at(1)); err != nil {
		t.Fatal(err)
	}
	closeSite(t, s)
	if err := os.MkdirAll(filepath.Join(dir, "sites", "broken"), 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "sites", "broken", "site.db")
	if err := os.WriteFile(name, bytes.Repeat([]byte("no database"), 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CollectBlobs(t.Context(), false); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if _, err := st.Bodies.AsFile([32]byte{1}); err != nil {
		t.Error(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if f, err := st.CollectBlobs(t.Context(), false); err != nil || f.Blobs != 1 {
		t.Errorf("a folder without database: %+v, %v", f, err)
	}
	// A blob that was collected is not waited for by the next sync, and the same body can come again.
	if err := st.Bodies.Sync(); err != nil {
		t.Error(err)
	}
	if err := st.Bodies.Put([32]byte{1}, []byte("x"), at(1)); err != nil {
		t.Error(err)
	}
}

// A site that this process has begun to mirror while the others were being opened keeps its blobs: the lock
// between processes does not see it.
func TestCollectBlobsBesideOurselves(t *testing.T) {
	st, s := openTest(t, t.TempDir(), Options{})
	closeSite(t, s)
	other, err := st.OpenSite("new") // after the list of sites was made
	if err != nil {
		t.Fatal(err)
	}
	s, err = st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	if ok, release, err := st.Spool.Alone(1); ok || err != nil {
		if ok {
			release()
		}
		t.Errorf("alone beside another writer: %v, %v", ok, err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	ok, release, err := st.Spool.Alone(1)
	if !ok || err != nil {
		t.Fatalf("not alone without another writer: %v", err)
	}
	release()
	closeSite(t, s)
}

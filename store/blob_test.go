// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"mirrord/store/disk"
)

func blobBytes(t *testing.T, b *Blobs, d [32]byte) []byte {
	t.Helper()
	f, err := b.AsFile(d)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// inTmp counts the bodies on their way in.
func inTmp(t *testing.T, dir string) int {
	t.Helper()
	es, err := os.ReadDir(filepath.Join(dir, "blobs/tmp"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range es {
		if e.Name() != ".lock" {
			n++
		}
	}
	return n
}

func inode(t *testing.T, p string) (ino uint64, links uint64) {
	t.Helper()
	fi, err := os.Stat(p)
	if err != nil {
		t.Fatal(err)
	}
	st := fi.Sys().(*syscall.Stat_t)
	return st.Ino, uint64(st.Nlink)
}

func TestBlobs(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	body := random(100<<10, 1)
	d := sha256.Sum256(body)
	if err := st.Blobs.Put(d, body, at(1234)); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(dir, "blobs", hex.EncodeToString(d[:1]), hex.EncodeToString(d[:]))
	ino, _ := inode(t, p)
	if fi, err := os.Stat(p); err != nil || !fi.ModTime().Equal(at(1234)) {
		t.Errorf("modified %v, %v", fi.ModTime(), err)
	}
	// The same body again, in both ways: nothing is written.
	if err := st.Blobs.Put(d, body, at(99)); err != nil {
		t.Fatal(err)
	}
	w, err := st.Spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	w.Write(body[:100])
	w.Write(body[100:])
	if w.Size() != int64(len(body)) || !bytes.Equal(w.Head(10), body[:10]) {
		t.Errorf("size %d, head %x", w.Size(), w.Head(10))
	}
	got, n, err := w.Commit(at(1))
	if err != nil || got != d || n != int64(len(body)) {
		t.Fatalf("%x, %d, %v", got, n, err)
	}
	if again, _ := inode(t, p); again != ino {
		t.Error("the blob was written again")
	}
	if !bytes.Equal(blobBytes(t, st.Blobs, d), body) {
		t.Error("the blob has other bytes")
	}
	w, err = st.Spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("not to be kept"))
	w.Abort()
	w, err = st.Spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	empty, n, err := w.Commit(at(1))
	if err != nil || empty != sha256.Sum256(nil) || n != 0 {
		t.Errorf("the empty body: %x, %d, %v", empty, n, err)
	}
	if n := inTmp(t, dir); n != 0 {
		t.Errorf("%d bodies are left in tmp", n)
	}
	closeTest(t, st, s)
}

// A blob that cannot be opened for a moment is synced by the next call, and one that was deleted meanwhile by
// none; a sync that failed holds for good. A body that cannot get its name leaves nothing on its way in.
func TestBlobPutFails(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	defer st.Close()
	defer s.Close()
	body := []byte("body")
	d := sha256.Sum256(body)
	must(t, os.WriteFile(filepath.Join(dir, "blobs", blobName(d)[:2]), nil, 0o644)) // instead of the folder
	if err := st.Bodies.Put(d, body, time.Time{}); err == nil {
		t.Error("it was put into a file")
	}
	if n := inTmp(t, dir); n != 0 {
		t.Errorf("%d bodies are left on their way", n)
	}
}

func TestBlobNotOpened(t *testing.T) {
	st, s := openTest(t, t.TempDir(), Options{})
	defer closeTest(t, st, s)
	body := random(1000, 1)
	digest := sha256.Sum256(body)
	if err := st.Blobs.Put(digest, body, at(1)); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(st.Dir, "blobs", blobName(digest)[:2])
	if err := errors.Join(os.Rename(folder, folder+"-aside"), os.Symlink("/", folder)); err != nil {
		t.Fatal(err)
	}
	if err := st.Blobs.Sync(); !errors.Is(err, errNotOpened) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(os.Remove(folder), os.Rename(folder+"-aside", folder)); err != nil {
		t.Fatal(err)
	}
	if _, waits := st.Blobs.fresh[blobName(digest)]; !waits {
		t.Error("the next sync does not have it")
	}
	if err := st.Blobs.Sync(); err != nil {
		t.Error(err)
	}
	if err := st.Blobs.Put([32]byte{2}, []byte("y"), at(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(st.Dir, "blobs", blobName([32]byte{2})[:2])); err != nil {
		t.Fatal(err)
	}
	if err := st.Blobs.Sync(); err != nil {
		t.Error(err)
	}
}

func TestBlobsConcurrentPuts(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 60 {
				body := random(1000+i%20, byte(i%20)) // each body many times at once
				if g%2 == 0 {
					if err := st.Blobs.Put(sha256.Sum256(body), body, at(1)); err != nil {
						t.Error(err)
					}
					continue
				}
				w, err := st.Spool.Create()
				if err != nil {
					t.Error(err)
					return
				}
				w.Write(body)
				if d, _, err := w.Commit(at(1)); err != nil || d != sha256.Sum256(body) {
					t.Error(err)
				}
				if i%10 == 0 {
					if err := st.Blobs.Sync(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for i := range 20 {
		body := random(1000+i, byte(i))
		if !bytes.Equal(blobBytes(t, st.Blobs, sha256.Sum256(body)), body) {
			t.Errorf("blob %d differs", i)
		}
	}
	if n := inTmp(t, dir); n != 0 {
		t.Errorf("%d bodies are left in tmp", n)
	}
	closeTest(t, st, s)
}

// A blob of the wrong size, as loss of power can leave, is replaced by the next body with its digest.
func TestBlobWrongSizeIsHealed(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{})
	d := blobOf(t, s, 0, "the right body")
	commit(t, s, 0, newURLs(0, 1), d)
	p := filepath.Join(dir, "blobs", blobName(d.Digest))
	if err := os.Truncate(p, 3); err != nil {
		t.Fatal(err)
	}
	if got := problems(t, s, false); len(got) != 1 || got[0].Kind != BadBlob {
		t.Errorf("verify: %v", got)
	}
	blobOf(t, s, 0, "the right body")
	if got := blobBytes(t, blobsOf(s), d.Digest); string(got) != "the right body" {
		t.Errorf("%q", got)
	}
}

// When the file system makes no more links to a blob it is copied, with its time.
func TestBlobTooManyLinks(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{})
	d := blobOf(t, s, 0, "popular")
	p := filepath.Join(dir, "blobs", blobName(d.Digest))
	many := t.TempDir()
	limit := 0
	for ; limit < 70000; limit++ { // ext4 stops at 65000
		err := os.Link(p,
			filepath.Join(many, hex.EncodeToString([]byte{byte(limit >> 16), byte(limit >> 8), byte(limit)})))
		if errors.Is(err, syscall.EMLINK) {
			break
		}
		if errors.Is(err, syscall.EXDEV) {
			many = filepath.Join(dir, "many")
			if err = os.Mkdir(many, 0o755); err == nil {
				continue
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tree, err := s.Trees.Build(TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	w := tree.Writer()
	defer w.Close()
	for range 2 {
		if err := w.LinkBlob("img/popular.png", d.Digest); err != nil {
			t.Fatal(err)
		}
	}
	if got := readFile(t, tree.Root, "img/popular.png"); got != "popular" {
		t.Errorf("%q", got)
	}
	fi, err := tree.Root.Stat("img/popular.png")
	if err != nil || !fi.ModTime().Equal(at(1000)) {
		t.Errorf("modified %v, %v", fi.ModTime(), err)
	}
	_, links := inode(t, filepath.Join(dir, "sites/x/trees/next/img/popular.png"))
	if copied := links == 1; copied != (limit < 70000) {
		t.Errorf("%d links to a file of which there can be %d", links, limit)
	}
}

// What killed processes left in tmp is removed when no other process runs, and their names do no harm.
func TestBlobsOfKilledProcesses(t *testing.T) {
	dir := t.TempDir()
	first, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := first.Spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("under way"))
	// another process: it has the same pid here, as in another container
	second, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w2, err := second.Spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	w2.Write([]byte("left behind"))
	if _, _, err := w.Commit(at(1)); err != nil {
		t.Errorf("the second process took the first one's body away: %v", err)
	}
	w2.f.Close() // killed
	for _, s := range []*State{first, second} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := inTmp(t, dir); n != 1 {
		t.Errorf("%d bodies in tmp", n)
	}
	_, s := openTest(t, dir, Options{})
	blobOf(t, s, 0, "next")
	if n := inTmp(t, dir); n != 0 {
		t.Errorf("%d bodies are left", n)
	}
}

func TestBlobsSyncOnce(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	blobOf(t, s, 0, "x")
	if len(blobsOf(s).fresh) != 0 {
		t.Error("a one-off state remembers what to sync")
	}
	_, s = openTest(t, t.TempDir(), Options{})
	blobOf(t, s, 0, "x")
	if len(blobsOf(s).fresh) != 1 || !blobsOf(s).newDirs {
		t.Error("nothing to sync")
	}
	commit(t, s, 0, nil)
	if len(blobsOf(s).fresh) != 0 || blobsOf(s).newDirs {
		t.Error("not synced")
	}
	blobOf(t, s, 0, "x") // is there, but who knows whether it is synced: its maker may be another process
	if len(blobsOf(s).fresh) != 1 {
		t.Error("a blob that is a moment old counts as synced")
	}
	blobsOf(s).failed = &disk.DiskError{Op: "sync", Err: syscall.EIO}
	if err := s.Records.Commit(0, nil, nil); !errors.Is(err, syscall.EIO) {
		t.Errorf("after a sync that failed: %v", err)
	}
}

// A blob of a one-off mirror that came lately is not read again when it comes once more; for another process,
// which knows nothing of it, one of wrong bytes is replaced.
func TestBlobsLately(t *testing.T) {
	dir := t.TempDir()
	body := []byte("a style that each folder has")
	d := sha256.Sum256(body)
	put := func(wrong bool) (now string) {
		st, s := openTest(t, dir, oneOff)
		defer st.Close()
		defer s.Close()
		b := blobsOf(s)
		if err := b.Put(d, body, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(b.dir.Root.Name(), blobName(d))
		if wrong {
			if err := os.WriteFile(file, bytes.ToUpper(body), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := b.Put(d, body, time.Unix(1e9, 0)); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if now := put(true); now == string(body) {
		t.Error("it was read again")
	}
	if now := put(false); now != string(body) {
		t.Errorf("it is %q", now)
	}
}

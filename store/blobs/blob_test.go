// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
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

func TestBlobs(t *testing.T) {
	dir := t.TempDir()
	st := openFolder(t, dir, true)
	body := bodyOfSize(100<<10, 1)
	d := sha256.Sum256(body)
	if err := st.blobs.Put(d, body, time.Unix(1234, 0)); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(dir, "blobs", hex.EncodeToString(d[:1]), hex.EncodeToString(d[:]))
	first, err := os.Stat(p)
	if err != nil || !first.ModTime().Equal(time.Unix(1234, 0)) {
		t.Errorf("modified %v, %v", first.ModTime(), err)
	}
	// The same body again, in both ways: nothing is written.
	if err := st.blobs.Put(d, body, time.Unix(99, 0)); err != nil {
		t.Fatal(err)
	}
	w, err := st.blobs.spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	w.Write(body[:100])
	w.Write(body[100:])
	if w.Size() != int64(len(body)) || !bytes.Equal(w.Head(10), body[:10]) {
		t.Errorf("size %d, head %x", w.Size(), w.Head(10))
	}
	got, n, err := w.Commit(time.Unix(1, 0))
	if err != nil || got != d || n != int64(len(body)) {
		t.Fatalf("%x, %d, %v", got, n, err)
	}
	if again, err := os.Stat(p); err != nil || !os.SameFile(first, again) {
		t.Error("the blob was written again")
	}
	if !bytes.Equal(blobBytes(t, st.blobs, d), body) {
		t.Error("the blob has other bytes")
	}
	w, err = st.blobs.spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("not to be kept"))
	w.Abort()
	w, err = st.blobs.spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	empty, n, err := w.Commit(time.Unix(1, 0))
	if err != nil || empty != sha256.Sum256(nil) || n != 0 {
		t.Errorf("the empty body: %x, %d, %v", empty, n, err)
	}
	if n := st.coming(t); n != 0 {
		t.Errorf("%d bodies are left in tmp", n)
	}
	st.close(t)
}

// A blob that cannot be opened for a moment is synced by the next call, and one that was deleted meanwhile by
// none; a sync that failed holds for good. A body that cannot get its name leaves nothing on its way in.
func TestBlobPutFails(t *testing.T) {
	dir := t.TempDir()
	st := openFolder(t, dir, true)
	defer st.close(t)
	body := []byte("body")
	d := sha256.Sum256(body)
	notFolder := filepath.Join(dir, "blobs", blobName(d)[:2])
	if err := os.WriteFile(notFolder, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := st.blobs.Put(d, body, time.Time{}); err == nil {
		t.Error("it was put into a file")
	}
	if n := st.coming(t); n != 0 {
		t.Errorf("%d bodies are left on their way", n)
	}
}

func TestBlobNotOpened(t *testing.T) {
	st := openFolder(t, t.TempDir(), true)
	defer st.close(t)
	body := bodyOfSize(1000, 1)
	digest := sha256.Sum256(body)
	if err := st.blobs.Put(digest, body, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(st.dir, "blobs", blobName(digest)[:2])
	if err := errors.Join(os.Rename(folder, folder+"-aside"), os.Symlink("/", folder)); err != nil {
		t.Fatal(err)
	}
	if err := st.blobs.Sync(); !errors.Is(err, errNotOpened) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(os.Remove(folder), os.Rename(folder+"-aside", folder)); err != nil {
		t.Fatal(err)
	}
	if _, waits := st.blobs.fresh[blobName(digest)]; !waits {
		t.Error("the next sync does not have it")
	}
	if err := st.blobs.Sync(); err != nil {
		t.Error(err)
	}
	if err := st.blobs.Put([32]byte{2}, []byte("y"), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(st.dir, "blobs", blobName([32]byte{2})[:2])); err != nil {
		t.Fatal(err)
	}
	if err := st.blobs.Sync(); err != nil {
		t.Error(err)
	}
}

func TestBlobsConcurrentPuts(t *testing.T) {
	dir := t.TempDir()
	st := openFolder(t, dir, true)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 60 {
				body := bodyOfSize(1000+i%20, byte(i%20)) // each body many times at once
				if g%2 == 0 {
					if err := st.blobs.Put(sha256.Sum256(body), body, time.Unix(1, 0)); err != nil {
						t.Error(err)
					}
					continue
				}
				w, err := st.blobs.spool.Create()
				if err != nil {
					t.Error(err)
					return
				}
				w.Write(body)
				if d, _, err := w.Commit(time.Unix(1, 0)); err != nil || d != sha256.Sum256(body) {
					t.Error(err)
				}
				if i%10 == 0 {
					if err := st.blobs.Sync(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for i := range 20 {
		body := bodyOfSize(1000+i, byte(i))
		if !bytes.Equal(blobBytes(t, st.blobs, sha256.Sum256(body)), body) {
			t.Errorf("blob %d differs", i)
		}
	}
	if n := st.coming(t); n != 0 {
		t.Errorf("%d bodies are left in tmp", n)
	}
	st.close(t)
}

// What killed processes left in tmp is removed when no other process runs, and their names do no harm.
func TestBlobsOfKilledProcesses(t *testing.T) {
	dir := t.TempDir()
	first := openBeside(t, dir, true)
	w, err := first.blobs.spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("under way"))
	// another process: it has the same pid here, as in another container
	second := openBeside(t, dir, true)
	w2, err := second.blobs.spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	w2.Write([]byte("left behind"))
	if _, _, err := w.Commit(time.Unix(1, 0)); err != nil {
		t.Errorf("the second process took the first one's body away: %v", err)
	}
	w2.f.Close() // killed
	first.close(t)
	second.close(t)
	if n := second.coming(t); n != 1 {
		t.Errorf("%d bodies in tmp", n)
	}
	st := openFolder(t, dir, true)
	defer st.close(t)
	if n := st.coming(t); n != 0 {
		t.Errorf("%d bodies are left", n)
	}
}

// A blob of a one-off mirror that came lately is not read again when it comes once more; for another process,
// which knows nothing of it, one of wrong bytes is replaced.
func TestBlobsLately(t *testing.T) {
	dir := t.TempDir()
	body := []byte("a style that each folder has")
	d := sha256.Sum256(body)
	put := func(wrong bool) (now string) {
		st := openFolder(t, dir, false)
		defer st.close(t)
		b := st.blobs
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

func TestBlobsSyncOnce(t *testing.T) {
	x := []byte("x")
	put := func(st *folder) {
		if err := st.blobs.Put(sha256.Sum256(x), x, time.Unix(1000, 0)); err != nil {
			t.Fatal(err)
		}
	}
	st := openFolder(t, t.TempDir(), false)
	put(st)
	for n := range 2*latelyBlobs + 1 {
		st.blobs.settled(fmt.Sprint(n))
	}
	if n := len(st.blobs.fresh); n > latelyBlobs {
		t.Errorf("a one-off state remembers %d blobs", n)
	}
	st = openFolder(t, t.TempDir(), true)
	if put(st); len(st.blobs.fresh) != 1 || !st.blobs.newDirs {
		t.Error("nothing to sync")
	}
	if err := st.blobs.Sync(); err != nil || len(st.blobs.fresh) != 0 || st.blobs.newDirs {
		t.Error("not synced", err)
	}
	put(st) // is there, but who knows whether it is synced: its maker may be another process
	if len(st.blobs.fresh) != 1 {
		t.Error("a blob that is a moment old counts as synced")
	}
	st.blobs.failed = &disk.DiskError{Op: "sync", Err: syscall.EIO}
	if err := st.blobs.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("after a sync that failed: %v", err)
	}
}

// The error of reading a body from a file reports that the disk lost it, not a failed system call.
func TestUnreadableBody(t *testing.T) {
	bad, err := os.Open("/proc/self/mem") // nothing is mapped at its beginning
	if err != nil {
		t.Skip(err)
	}
	defer bad.Close()
	if _, err := bad.ReadAt(make([]byte, 1), 0); !errors.Is(err, syscall.EIO) {
		t.Skipf("it says %v", err)
	}
	for what, r := range map[string]io.Reader{
		"a range": io.LimitReader(knownFile{bad}, 100),
		"a file":  knownFile{bad},
	} {
		_, err := io.Copy(io.Discard, r)
		if u, ok := errors.AsType[*disk.UnreadableError](err); !ok || !strings.Contains(u.Error(), "smartctl") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

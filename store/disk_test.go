// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/store/shared"
	"mirrord/store/trees"
)

// mountTmpfs mounts a file system of so many bytes; ok is false when this process may not.
func mountTmpfs(t *testing.T, size string) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Logf("mounting is not permitted here (%v): run as root to see a full and a read-only file system", err)
		return dir, false
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, true
}

// fill commits documents and blobs until the disk fails. It returns how many batches were kept and the error.
func fill(t *testing.T, s *Site, first int) (kept int, err error) {
	t.Helper()
	w := s.Frames.NewFrameWriter()
	for n := first; n < first+10000; n++ {
		body := random(20<<10, byte(n))
		body[0], body[1] = byte(n), byte(n>>8)
		d := &record.Done{Resource: record.Resource{
			ID:     uint32(n),
			URL:    testURL(n),
			Status: 200,
			InSet:  true,
			Size:   int64(len(body)),
			Digest: sha256.Sum256(body),
		}, Linked: true}
		if n%3 == 0 {
			d.Body = record.BlobBody
			err = s.Kept.Put(d.Digest, body, at(1))
		} else {
			d.Body = record.PackBody
			d.At, err = s.Frames.AppendFrame(w, bodies.FrameMetaOf(&d.Resource), nil, body)
		}
		if err == nil {
			err = s.Records.Commit(uint32(n), newURLs(n, n+1), []*record.Done{d})
		}
		if err != nil {
			return kept, err
		}
		kept++
	}
	t.Fatal("the disk is never full")
	return 0, nil
}

// A disk that is full: the error says what to do, what was committed stays, and with more space the work
// continues.
func TestDiskFull(t *testing.T) {
	check := func(t *testing.T, dir string, want syscall.Errno, hint string, less, more func()) {
		st, s := openTest(t, dir, Options{})
		less()
		kept, err := fill(t, s, 0)
		var disk *disk.DiskError
		if !errors.As(err, &disk) || !errors.Is(err, want) || !strings.Contains(err.Error(), hint) {
			t.Fatalf("%v", err)
		}
		if kept == 0 {
			t.Fatal("nothing was kept")
		}
		if err := s.Records.Fold(facts.Folding{
			Version: 1,
			Pending: func(uint32) bool { return true },
			Path:    func(*record.Resource) string { return "" },
		}); err != nil && !errors.As(err, &disk) {
			t.Errorf("fold: %v", err)
		}
		closeTest(t, st, s)
		more()
		st, s = openTest(t, dir, Options{})
		if n, err := s.Records.Known(); err != nil || int(n) != kept {
			t.Errorf("%d URLs are known, %d were kept, %v", n, kept, err)
		}
		commit(t, s, uint32(kept), newURLs(kept, kept+1), blobOf(t, s, kept, "after"))
		foldAll(t, s, 1)
		if n := len(resources(t, s)); n != kept+1 {
			t.Errorf("%d resources, want %d", n, kept+1)
		}
		publishTest(t, s, 1, map[string]string{"x": "y"})
		if n := inTmp(t, dir); n != 0 {
			t.Errorf("%d bodies are left in tmp", n)
		}
		closeTest(t, st, s)
		t.Logf("%d batches were kept", kept)
	}
	t.Run("file system", func(t *testing.T) {
		dir, ok := mountTmpfs(t, "1500k")
		if !ok {
			return // the limit below stands for it
		}
		check(t, dir, syscall.ENOSPC, "free some space", func() {}, func() {
			if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=20m"); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("limit", func(t *testing.T) {
		signal.Ignore(syscall.SIGXFSZ)
		defer signal.Reset(syscall.SIGXFSZ)
		var old unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
		restore := func() {
			if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
				t.Fatal(err)
			}
		}
		defer restore()
		check(t, t.TempDir(), syscall.EFBIG, "", func() {
			if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: old.Max}); err != nil {
				t.Fatal(err)
			}
		}, restore)
	})
}

// fillDisk makes a file of all the space that is left.
func fillDisk(t *testing.T, name string) {
	t.Helper()
	for n := 1 << 16; n > 0; n /= 2 {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		for err == nil {
			_, err = f.Write(make([]byte, n))
		}
		f.Close()
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

// A site whose log has no room on a full disk can be opened on that disk, so that gc can free space there.
func TestOpenOnFullDisk(t *testing.T) {
	dir, ok := mountTmpfs(t, "1500k")
	if !ok {
		return
	}
	st, s := openTest(t, dir, Options{})
	kept, err := fill(t, s, 0)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	closeTest(t, st, s)
	filler := filepath.Join(dir, "filler")
	fillDisk(t, filler)
	st, s = openTest(t, dir, Options{})
	if n, err := s.Records.Known(); err != nil || int(n) != kept {
		t.Errorf("%d URLs are known, %d were kept, %v", n, kept, err)
	}
	closeTest(t, st, s)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	st, s = openTest(t, dir, Options{})
	if s.DB.Segment() == nil {
		t.Error("with room there is no log")
	}
	closeTest(t, st, s)
}

// While a tree is built the disk becomes full: the published one stays, and the next build begins again.
func TestDiskFullWhilePublishing(t *testing.T) {
	dir, ok := mountTmpfs(t, "1500k")
	if !ok {
		return
	}
	st, s := openTest(t, dir, Options{})
	publishTest(t, s, 1, map[string]string{"page": "one"})
	tree, err := s.Trees.Build(trees.TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	w := tree.Writer()
	for n := 0; err == nil && n < 1000; n++ {
		err = w.Write(fmt.Sprintf("d/%d", n), random(10<<10, byte(n)), at(1))
	}
	w.Close()
	var disk *disk.DiskError
	if !errors.As(err, &disk) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%v", err)
	}
	tree.Close()
	if v := currentVersion(t, s); v != 1 {
		t.Errorf("version %d is published", v)
	}
	closeTest(t, st, s)
	_, s = openTest(t, dir, Options{})
	publishTest(t, s, 2, map[string]string{"page": "two"}) // there is room again: what was half made is gone
	if v := currentVersion(t, s); v != 2 {
		t.Errorf("version %d is published", v)
	}
}

// A state on a read-only file system can be read; writing says why it cannot.
func TestReadOnlyState(t *testing.T) {
	dir, ok := mountTmpfs(t, "20m")
	if !ok {
		return
	}
	st, s := verifySite(t, dir)
	closeTest(t, st, s)
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err = st.readSite("x")
	if err != nil {
		t.Fatal(err)
	}
	verifyTest(t, s)
	if v := currentVersion(t, s); v != 2 {
		t.Errorf("version %d", v)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	var disk *disk.DiskError
	_, err = st.OpenSite("x")
	if !errors.As(err, &disk) || !errors.Is(err, syscall.EROFS) ||
		!strings.Contains(err.Error(), "mount it writable)") {
		t.Errorf("%v", err)
	}
	if err := st.Shared.AddRun(shared.RunRecord{Site: "x"}); !errors.As(err, &disk) {
		t.Errorf("%v", err)
	}
	if err := st.RemoveSite("x"); !errors.As(err, &disk) {
		t.Errorf("%v", err)
	}
	if _, err := st.OpenSite("new"); !errors.As(err, &disk) {
		t.Errorf("%v", err)
	}
	if _, err := st.Spool.Create(); !errors.As(err, &disk) {
		t.Errorf("%v", err)
	}
}

// After an I/O error nothing more is written, even if later calls would succeed; reopening finds what was
// whole.
func TestIOErrorIsFinal(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 1), document(t, s, 0, "kept"))
	eio := &disk.DiskError{Op: "test", Err: syscall.EIO}
	if err := s.Update("test", func(*db.Tx) error { return eio }); err != error(eio) {
		t.Errorf("%v", err)
	}
	if err := s.Notes.SetRun(nil); err != error(eio) {
		t.Errorf("after an I/O error: %v", err)
	}
	closeTest(t, st, s)
	_, s = openTest(t, dir, Options{})
	if n, err := s.Records.Known(); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	commit(t, s, 1, newURLs(1, 2), document(t, s, 1, "again"))
	if _, err := os.Stat(filepath.Join(dir, "sites/x/packs/000001.pack")); err != nil {
		t.Error(err)
	}
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

// Where blobs lie on another file system than the sites a body is no part, and a blob all the same.
func TestPartAcrossFileSystems(t *testing.T) {
	tmpfs, ok := mountTmpfs(t, "10m")
	if !ok {
		return // nothing to see without two file systems
	}
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	closeTest(t, st, s)
	sites := filepath.Join(dir, "sites")
	if err := errors.Join(os.RemoveAll(sites), os.Mkdir(sites, 0o755),
		unix.Mount(tmpfs, sites, "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(sites, unix.MNT_DETACH) })
	_, s = openTest(t, dir, Options{})
	body := random(2<<20, 8)
	w, err := s.spool.Create()
	if err == nil {
		_, err = w.Write(body[:1<<20])
	}
	if err == nil {
		err = s.Parts.Keep(w, "http://h.example/big.iso", []byte("{}"))
	}
	if err == nil {
		_, err = w.Write(body[1<<20:])
	}
	if err != nil {
		t.Fatal(err)
	}
	if d, _, err := w.Commit(at(3)); err != nil || d != sha256.Sum256(body) {
		t.Errorf("%x, %v", d, err)
	}
	if n := inTmp(t, dir); n != 0 {
		t.Errorf("%d bodies are left in tmp", n)
	}
}

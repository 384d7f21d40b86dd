// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// badDisk is a file of which nothing can be read: EIO, as from a bad sector.
func badDisk(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open("/proc/self/mem") // nothing is mapped at its beginning
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, syscall.EIO) {
		t.Skipf("it says %v", err)
	}
	return f
}

// What the disk has lost of a pack is damage, for each way of reading it: it is repaired where there is a
// copy, and not where it was.
func TestUnreadablePack(t *testing.T) {
	st, s := openTest(t, t.TempDir(), Options{})
	defer st.Close()
	defer s.Close()
	commit(t, s, 0, newURLs(0, 2), document(t, s, 0, "lost"), document(t, s, 1, "copied"))
	foldAll(t, s, 1)
	get := func(id int) record.Resource {
		rec, ok, err := s.Records.Get(testURL(id))
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return rec
	}
	recs := []record.Resource{get(0), get(1)}
	copies := func(r *record.Resource) iter.Seq[BodyCopy] {
		return slices.Values([]BodyCopy{{Body: []byte("copied")}})
	}
	good, err := s.packs.file(1)
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	s.packs.files[1] = badDisk(t)
	for what, read := range map[string]func() error{
		"read":   func() error { _, err := s.Frames.ReadFrame(NewFrameReader(), recs[0].At); return err },
		"header": func() error { _, err := s.packs.header(recs[0].At); return err },
		"move":   func() error { _, err := s.packs.frame(NewFrameReader(), recs[0].At); return err },
	} {
		err := read()
		isDisk := err != nil && strings.Contains(err.Error(), "smartctl")
		if what == "move" && err != nil { // which looks at the size first, and that of our bad disk is 0
			isDisk = true
		}
		if !errors.Is(err, disk.ErrDamaged) || !isDisk {
			t.Errorf("%s: %v", what, err)
		}
	}
	urls := []string{recs[0].URL.String(), recs[1].URL.String()}
	h, err := Heal(t.Context(), s, urls, copies)
	if err != nil {
		t.Fatal(err)
	}
	s.packs.files[1] = good // the appended frame is in a good sector
	s.packs.forget()
	if f, err := s.Frames.ReadFrame(NewFrameReader(), get(1).At); err != nil || string(f.Body) != "copied" {
		t.Errorf("repaired: %q, %v", f.Body, err)
	}
	if get(1).At == recs[1].At {
		t.Error("it was written into the bad sector")
	}
	if len(h.Lost) == 0 || h.Lost[0].URL != urls[0] {
		t.Errorf("lost: %v", h.Lost)
	}
}

// A page of a database that the kernel cannot read while it is mapped is a fault that ends the transaction,
// and names the disk; the database is made again from its log.
func TestUnreadablePage(t *testing.T) {
	st, s := openTest(t, t.TempDir(), Options{})
	defer st.Close()
	commit(t, s, 0, newURLs(0, 3000))
	foldAll(t, s, 1)
	info := boltOf(t, s).Info()
	meta := uintptr(2 * os.Getpagesize())
	fi, err := s.db.File.Stat()
	if err != nil {
		t.Fatal(err)
	}
	n := uintptr(fi.Size()) - meta
	if _, _, errno := unix.Syscall(unix.SYS_MPROTECT, info.Data+meta, n, unix.PROT_NONE); errno != 0 {
		t.Skip(errno)
	}
	err = s.Records.Resources(func(*record.Resource) error { return nil })
	bad, ok := errors.AsType[*db.DatabaseError](err)
	if !ok || bad.Site != "x" || !strings.Contains(err.Error(), "smartctl") {
		t.Errorf("%v", err)
	}
	s.Close()
	if s, err = st.OpenSite("x"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Records.Known(); n != 3000 || err != nil {
		t.Errorf("%d URLs, %v", n, err)
	}
	s.Close()
}

// The message of a disk that failed names the file and the job that can be repaired.
func TestUnreadableNames(t *testing.T) {
	for file, want := range map[string]string{
		"/s/sites/a/packs/000001.pack":              "a",
		"/s/sites/a/site.db":                        "a",
		"/s/sites/a/log/000001.log":                 "a",
		"/srv/sites/m/sites/a/trees/000001/sites/x": "a",
		"/s/blobs/ab/abcd":                          "JOB",
		"/s/mirror.db":                              "",
		"/home/me/x.phm":                            "",
	} {
		err := disk.Unreadable(&fs.PathError{Op: "read", Path: file, Err: syscall.EIO})
		u, ok := errors.AsType[*disk.UnreadableError](err)
		if got := disk.JobOfFile(file); !ok || got != want || !strings.Contains(err.Error(), file) ||
			u.File != file {
			t.Errorf("%s: job %q, want %q: %v", file, got, want, err)
		}
		if !errors.Is(err, disk.ErrDamaged) || !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, err := range []error{
		nil, fs.ErrNotExist, &fs.PathError{Op: "write", Path: "x", Err: syscall.EIO},
		&fs.PathError{Op: "read", Path: "x", Err: syscall.EACCES},
	} {
		if got := disk.Unreadable(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}

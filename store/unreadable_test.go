// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// A page of a database that the kernel cannot read while it is mapped is a fault that ends the transaction,
// and names the disk; the database is made again from its log.
func TestUnreadablePage(t *testing.T) {
	st, s := openTest(t, t.TempDir(), Options{})
	defer st.Close()
	commit(t, s, 0, newURLs(0, 3000))
	foldAll(t, s, 1)
	info := boltOf(t, s).Info()
	meta := uintptr(2 * os.Getpagesize())
	fi, err := s.DB.File.Stat()
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

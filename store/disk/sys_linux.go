// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// linkat makes newName in newDir another name of oldName in oldDir; both are folders held open. Both names
// are relative and free of "..": they are digests and single elements made by this package.
func linkat(oldDir int, oldName string, newDir int, newName string) error {
	return linkError("link", oldName, newName, unix.Linkat(oldDir, oldName, newDir, newName, 0))
}

// Renameat moves a file from one folder to another, and replaces the one there. The names are as those
// of LinkOrCopy.
func Renameat(oldDir *OpenDir, oldName string, newDir *OpenDir, newName string) error {
	return linkError("rename", oldName, newName, unix.Renameat(oldDir.FD, oldName, newDir.FD, newName))
}

func linkError(op, old, name string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{
		Op:  op,
		Old: old,
		New: name,
		Err: err,
	}
}

// flock is flock(2), again after a signal.
func flock(f *os.File, how int) (err error) {
	for {
		if err = unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

// Mapped returns n bytes of memory beside that of the Go heap; free unmaps them. Untouched pages cost
// nothing, unless the caller fills all of it: then they are mapped at once, because a fault for each takes
// longer than filling it.
func Mapped(n int, whole bool) (b []byte, free func(), err error) {
	if n == 0 {
		return nil, func() {}, nil
	}
	flags := unix.MAP_PRIVATE | unix.MAP_ANON
	if whole {
		flags |= unix.MAP_POPULATE
	}
	b, err = unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, flags)
	return b, func() { unix.Munmap(b) }, err
}

// SyncFS flushes the file system that holds a folder: one call for many small files.
func SyncFS(fd int) error { return unix.Syncfs(fd) }

// FreeBytes is the room that is left for us on the file system of a folder.
func FreeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// IsMountPoint reports whether another file system, or another folder of this one, is mounted there.
func IsMountPoint(path string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, 0, &st)
	return (err == nil) && (st.Attributes&st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0)
}

// Flock locks a file, alone or shared. ok is false when others hold it and wait is false.
func Flock(f *os.File, alone, wait bool) (ok bool, err error) {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	if !wait {
		how |= unix.LOCK_NB
	}
	if err = flock(f, how); err == unix.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}

// lockPause is the longest pause between two attempts to lock a file.
const lockPause = 20 * time.Millisecond

// FlockFor is Flock that tries for some time.
func FlockFor(f *os.File, alone bool, wait time.Duration) (ok bool, err error) {
	pause := 100 * time.Microsecond
	for end := time.Now().Add(wait); ; time.Sleep(pause) {
		if ok, err = Flock(f, alone, false); ok || err != nil || !time.Now().Before(end) {
			return ok, err
		}
		pause = min(2*pause, lockPause)
	}
}

// Funlock gives back a lock of flock at once. Closing the file does not while it is mapped.
func Funlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

// ShareBlocks makes dst share the blocks of src, where the file system can do that.
func ShareBlocks(dst, src *os.File) error { return unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) }

// Changed is when a file was last written, renamed or linked, even if its modification time was set back.
func Changed(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return fi.ModTime()
}

// DropPages gives the memory of a read-only shared mapping of a file back to the kernel (madvise(2): for such
// mappings only the page tables change). The next access maps the page again from the page cache.
func DropPages(addr uintptr, size int64) error {
	if addr == 0 || size <= 0 {
		return nil
	}
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, addr, uintptr(size), unix.MADV_DONTNEED); errno != 0 {
		return errno
	}
	return nil
}

// FileStat is the size and time of a file, as the file system has them.
type FileStat struct {
	Size    int64
	Time    time.Time // of the last modification
	Regular bool
}

// StatOf is what a file system says of a file.
func StatOf(fi fs.FileInfo) FileStat {
	return FileStat{Size: fi.Size(), Time: fi.ModTime(), Regular: fi.Mode().IsRegular()}
}

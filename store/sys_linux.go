package store

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// linkat makes newName in newDir another name of oldName in oldDir. Both names are relative and free of "..": they are
// digests and single elements made by this package.
func linkat(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	if err := unix.Linkat(int(oldDir.Fd()), oldName, int(newDir.Fd()), newName, 0); err != nil {
		return &os.LinkError{Op: "link", Old: oldName, New: newName, Err: err}
	}
	return nil
}

// syncFS flushes the file system that holds the folder: one call for many small files.
func syncFS(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }

// FreeBytes is the room that is left for us on the file system of a folder.
func FreeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// setTimes sets the modification time of an open file without looking its name up again.
func setTimes(f *os.File, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	ts := unix.NsecToTimespec(t.UnixNano())
	err := unix.UtimesNanoAt(int(f.Fd()), "", []unix.Timespec{ts, ts}, unix.AT_EMPTY_PATH)
	if err == unix.EINVAL || err == unix.ENOENT { // Linux before 5.8
		tv := unix.NsecToTimeval(t.UnixNano())
		err = unix.Futimes(int(f.Fd()), []unix.Timeval{tv, tv})
	}
	return err
}

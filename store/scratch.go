// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"mirrord/internal/dbpages"
	"mirrord/store/disk"
)

// copyShared makes a copy, without a name, of a database that is not shared, as it was after its last commit,
// also while a process has it locked. dbpages.Commit says why the copy is whole.
func copyShared(path string, dirs ...string) (*os.File, error) {
	src, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	still, err := disk.Flock(src, false, false)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(viewFor); ; time.Sleep(time.Millisecond) {
		before, err := dbpages.ReadCommit(src)
		var dst *os.File
		if err == nil {
			dst, err = scratchFile(dirs)
		}
		if err == nil {
			_, err = io.Copy(dst, io.NewSectionReader(src, 0, before.Size))
		}
		after, aerr := dbpages.ReadCommit(src)
		if err == nil && aerr == nil && before == after {
			return dst, nil
		}
		if dst != nil {
			dst.Close()
		}
		if aerr != nil {
			err = aerr
		}
		fault := (*dbpages.Fault)(nil)
		switch {
		case err != nil && (still || !errors.As(err, &fault)):
			return nil, err
		case !time.Now().Before(end):
			return nil, errors.Join(err, ErrBusy)
		}
	}
}

// scratchFile makes a file without a name in the first of some folders that takes it. In the last one it has
// a name for a moment where the file system makes none without.
func scratchFile(dirs []string) (f *os.File, err error) {
	for _, dir := range dirs {
		if f, err = disk.NamelessFile(dir); err == nil || !isNoRoom(err) {
			return f, err
		}
	}
	if f, err = os.CreateTemp(dirs[len(dirs)-1], ".mirrord-scratch-"); err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isNoRoom reports whether a file cannot be made because there is no place for it.
func isNoRoom(err error) bool {
	for _, why := range []error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EOPNOTSUPP, fs.ErrPermission, fs.ErrNotExist,
	} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

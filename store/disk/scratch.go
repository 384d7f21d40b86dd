// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Scratch makes a file without a name in the first of some folders that takes it. In the last one it has
// a name for a moment where the file system makes none without.
func Scratch(dirs ...string) (f *os.File, err error) {
	for _, dir := range dirs {
		if f, err = NamelessFile(dir); err == nil || !isNoRoom(err) {
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

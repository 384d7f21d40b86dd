// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// SyncDir makes the names in a folder survive loss of power.
func SyncDir(name string) error { return closedAfter((*os.File).Sync)(os.Open(name)) }

// SyncIn is SyncDir for a folder below one that is open.
func SyncIn(root *os.Root, name string) error { return closedAfter((*os.File).Sync)(root.Open(name)) }

// SyncFSOf is SyncFS for the file system of a folder.
func SyncFSOf(dir string) error {
	return closedAfter(func(d *os.File) error { return SyncFS(int(d.Fd())) })(os.Open(dir))
}

// closedAfter makes a function of a file that was opened, which is closed then.
func closedAfter(f func(*os.File) error) func(d *os.File, err error) error {
	return func(d *os.File, err error) error {
		if err == nil {
			err = errors.Join(f(d), d.Close())
		}
		return err
	}
}

// Replace replaces a file of a folder by one that is written aside; nil removes it.
func Replace(dir *os.Root, name string, v []byte, mode os.FileMode, sync bool) error {
	if v == nil {
		return RemoveIn(dir, name)
	}
	aside := "." + name + ".new"
	if err := RemoveIn(dir, aside); err != nil { // of a process that was killed, with another mode, maybe
		return err
	}
	f, err := dir.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err = f.Write(v); err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return dir.Rename(aside, name)
}

// RemoveIn removes a file that may be missing.
func RemoveIn(dir *os.Root, name string) error {
	return UnlessGone(dir.Remove(name))
}

// NumberOf is the number to which nameOf gives a name, 0 for other names.
func NumberOf(name string, nameOf func(n uint32) string) uint32 {
	digits := strings.TrimFunc(name, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || nameOf(uint32(n)) != name {
		return 0
	}
	return uint32(n)
}

// NumbersIn lists the numbers of the files of a folder to which nameOf gives names, ascending.
func NumbersIn(root *os.Root, dir string, nameOf func(n uint32) string) (nums []uint32, err error) {
	entries, err := fs.ReadDir(root.FS(), dir)
	for _, e := range entries {
		if n := NumberOf(e.Name(), nameOf); n > 0 {
			nums = append(nums, n)
		}
	}
	slices.Sort(nums)
	return nums, Err("list files", err)
}

// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"io/fs"
	"os"
)

// SyncDir makes the names in a folder survive loss of power.
func SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SyncIn is SyncDir for a folder below one that is open.
func SyncIn(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
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
	if err := dir.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

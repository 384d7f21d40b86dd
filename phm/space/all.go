// SPDX-License-Identifier: Apache-2.0

package space

import (
	"errors"
	"os"
	"path/filepath"
)

// TakeAll makes a space the one of all jobs that name no space; "": no space is.
func TakeAll(state, name string) error {
	names, err := Names(state)
	for _, n := range names {
		if n != name {
			err = errors.Join(err, gone(os.Remove(markOfAll(state, n))))
		}
	}
	if err != nil || name == "" || TakesAll(state, name) {
		return err
	}
	if err := os.MkdirAll(filepath.Join(state, FilesDir(name)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(markOfAll(state, name), nil, 0o644)
}

// TakesAll reports whether the mirrors of jobs that name no space belong to this one.
func TakesAll(state, name string) bool {
	_, err := os.Lstat(markOfAll(state, name))
	return err == nil
}

func markOfAll(state, name string) string { return filepath.Join(state, Folder, name, allName) }

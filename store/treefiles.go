// SPDX-License-Identifier: Apache-2.0

package store

import (
	"io/fs"
	"sync"

	"mirrord/internal/regular"
	"mirrord/store/disk"
)

// treeFiles opens the files of a tree by way of folders that stay open: one look-up for each file, and not
// one for each folder above it.
type treeFiles struct {
	fs.FS // for all other names

	mu   sync.Mutex // guards what follows
	dirs disk.OpenDirs
}

// Open opens a file.
func (t *treeFiles) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) || name == "." {
		return t.FS.Open(name)
	}
	if dir, base := t.folder(name); dir.Root != nil {
		if f, err := dir.Open(base); err == nil {
			return f, nil
		}
	}
	// which reports the error; or the folder was closed meanwhile
	return t.FS.Open(name)
}

func (t *treeFiles) folder(name string) (dir regular.Root, base string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, base, err := t.dirs.Of(name)
	if err != nil {
		return regular.Root{}, ""
	}
	return d.Root, base
}

func (t *treeFiles) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirs.Close()
}

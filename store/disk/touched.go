// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"sync"

	"mirrord/internal/regular"
)

// manyTouched is how many files and folders of a tree are synced one by one. One call for the whole file
// system is faster for more, but waits for what all other programs have written.
const manyTouched = 48

// Touched is what was changed in a tree since it was last synced. Safe for concurrent use; the zero value is
// ready.
type Touched struct {
	mu    sync.Mutex
	names map[string]struct{} // files that were written, and folders whose names changed
	many  bool                // they are too many
}

// File notes that the file at a mirror path was written or linked.
func (c *Touched) File(p string) { c.Note(p, path.Dir(p)) }

// Gone notes that what was at a mirror path is there no more.
func (c *Touched) Gone(p string) { c.Note(path.Dir(p)) }

// Note notes names, and the folders above them, any of which may be new.
func (c *Touched) Note(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil {
		c.names = map[string]struct{}{}
	}
	for _, p := range names {
		for !c.many {
			if _, known := c.names[p]; known {
				break
			}
			c.names[p] = struct{}{}
			c.many = len(c.names) > manyTouched
			if p == "." {
				break
			}
			p = path.Dir(p)
		}
	}
	if c.many {
		c.names = nil
	}
}

// Sync makes what was changed below a root survive loss of power. dir is that folder, opened before the first
// change; nil when there was little time since. The kernel tells a loss to each file that was open then, but
// to only one of those that are opened after it, which may be another program's.
func (c *Touched) Sync(root regular.Root, dir *os.File) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.syncNames(root, dir)
	if err == nil {
		c.names, c.many = nil, false
	}
	return err
}

func (c *Touched) syncNames(root regular.Root, dir *os.File) error {
	if c.many && dir != nil {
		return SyncFS(int(dir.Fd()))
	}
	if c.many {
		f, err := root.Open(".")
		if err != nil {
			return err
		}
		return errors.Join(SyncFS(int(f.Fd())), f.Close())
	}
	for p := range c.names {
		f, err := root.Open(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is gone again, which the folder above it says
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"io/fs"
	"iter"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store/disk"
)

// tableCursor reads a file table path by path.
type tableCursor struct {
	next func() (*phm.File, error, bool)
	stop func()
	cur  phm.File
	ok   bool
	err  error
}

// openTable opens phm.files of a tree; no tree, or one without, is empty.
func openTable(tree regular.Root) (*tableCursor, error) {
	c := &tableCursor{stop: func() {}}
	if tree.Root == nil {
		return c, nil
	}
	f, err := tree.Open(phm.FilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	} else if err != nil {
		return nil, err
	}
	next, stop := iter.Pull2(phm.Files(f))
	c.next = next
	c.stop = func() {
		stop()
		f.Close()
	}
	c.advance()
	return c, disk.Unreadable(c.err)
}

func (c *tableCursor) advance() {
	f, err, ok := c.next()
	if err != nil {
		c.err, ok = err, false
	}
	if c.ok = ok; ok {
		c.cur = *f
	}
}

// seek skips all files before path, calls passed for each, and returns the one at path, nil when there is
// none.
func (c *tableCursor) seek(path string, passed func(*phm.File)) *phm.File {
	for c.ok && c.cur.Path < path {
		if passed != nil {
			passed(&c.cur)
		}
		c.advance()
	}
	if !c.ok || c.cur.Path != path {
		return nil
	}
	f := c.cur
	c.advance()
	return &f
}

// rest calls passed for all files that are left.
func (c *tableCursor) rest(passed func(*phm.File)) {
	for c.ok {
		passed(&c.cur)
		c.advance()
	}
}

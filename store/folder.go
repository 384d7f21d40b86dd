// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

// folder is one directory held open, so that work on its files costs one look-up of one name.
type folder struct {
	root *os.Root
	f    *os.File
	fd   int // of f
}

func newFolder(root *os.Root) (*folder, error) {
	f, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	return &folder{root: root, f: f, fd: int(f.Fd())}, nil
}

func (d *folder) close() {
	if d != nil {
		d.f.Close()
		d.root.Close()
	}
}

// folders opens folders below a root by mirror path; it keeps the last one, which sorted work asks for again
// and again. It is not safe for concurrent use.
type folders struct {
	root *os.Root
	look bool // a missing folder is an error
	name string
	last *folder
}

// of returns the folder that holds the file at a mirror path, and the file's name in it. It is made when
// missing, unless look is set.
func (c *folders) of(p string) (*folder, string, error) {
	dir, name := path.Split(p)
	if dir == "" {
		dir = "."
	} else {
		dir = dir[:len(dir)-1]
	}
	if c.last != nil && c.name == dir {
		return c.last, name, nil
	}
	c.close()
	r, err := c.root.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && !c.look {
		if err = c.root.MkdirAll(dir, 0o755); err == nil {
			r, err = c.root.OpenRoot(dir)
		}
	}
	if err != nil {
		return nil, "", err
	}
	f, err := newFolder(r)
	if err != nil {
		return nil, "", err
	}
	c.name, c.last = dir, f
	return f, name, nil
}

func (c *folders) close() {
	c.last.close()
	c.last = nil
}

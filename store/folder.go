// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
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

// folders opens folders below a root by mirror path; it keeps the last ones, which sorted work asks for again
// and again. It is not safe for concurrent use.
type folders struct {
	root *os.Root
	look bool         // a missing folder is an error
	open []openFolder // the one that was used last at the end
}

type openFolder struct {
	name string
	*folder
}

// maxFolders is how many folders are kept open, with two descriptors each: work in the order in which pages
// were found goes back and forth between some.
const maxFolders = 96

// of returns the folder that holds the file at a mirror path, and the file's name in it. It is made when
// missing, unless look is set.
func (c *folders) of(p string) (*folder, string, error) {
	dir, name := path.Split(p)
	if dir == "" {
		dir = "."
	} else {
		dir = dir[:len(dir)-1]
	}
	for i := len(c.open) - 1; i >= 0; i-- {
		if o := c.open[i]; o.name == dir {
			copy(c.open[i:], c.open[i+1:])
			c.open[len(c.open)-1] = o
			return o.folder, name, nil
		}
	}
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
	if len(c.open) == maxFolders {
		c.open[0].close()
		c.open = slices.Delete(c.open, 0, 1)
	}
	c.open = append(c.open, openFolder{dir, f})
	return f, name, nil
}

func (c *folders) close() {
	for _, o := range c.open {
		o.close()
	}
	c.open = nil
}

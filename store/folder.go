// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"mirrord/internal/regular"
)

// folder is one directory held open, so that work on its files costs one look-up of one name.
type folder struct {
	root regular.Root
	f    *os.File
	fd   int // of f
}

func newFolder(root *os.Root) (*folder, error) {
	f, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	return &folder{root: regular.Root{Root: root}, f: f, fd: int(f.Fd())}, nil
}

func (d *folder) close() {
	if d != nil {
		d.f.Close()
		d.root.Close()
	}
}

// folders opens folders below a root by mirror path. It keeps those that were used last: sorted work asks for
// the same one again and again, and work in the order in which pages were found goes back and forth between
// many. It is not safe for concurrent use.
type folders struct {
	root regular.Root
	look bool // a missing folder is an error
	most int  // so many are kept, with two descriptors each; 0: fewFolders
	high int  // a higher descriptor says that the process has many; 0: none does
	open map[string]*openFolder
	uses uint64
}

type openFolder struct {
	*folder
	used uint64 // by folders.uses
}

// How many folders are kept open where many are read, and where pages are written as they come.
const (
	fewFolders   = 32
	leastFolders = 4
	manyFolders  = 512
)

// folderShare is which part of the descriptors that the process may have a writer may take, about.
const folderShare = 32

func writerFolders(root regular.Root) folders {
	most := maxDescriptors()
	return folders{
		root: root,
		most: min(max(most/(2*folderShare), leastFolders), manyFolders),
		high: most / 2,
	}
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
	c.uses++
	if o := c.open[dir]; o != nil {
		o.used = c.uses
		return o.folder, name, nil
	}
	f, err := c.begin(dir)
	if c.yields(err) {
		f, err = c.begin(dir)
	}
	if err != nil {
		return nil, "", err
	}
	if c.open == nil {
		c.open = map[string]*openFolder{}
	}
	if c.high > 0 && f.fd > c.high { // the kernel gives the lowest that is free: other runs are at work too
		c.most = max(len(c.open)/2, leastFolders)
	}
	for len(c.open) >= cmp.Or(c.most, fewFolders) {
		c.drop()
	}
	c.open[dir] = &openFolder{f, c.uses}
	return f, name, nil
}

// create makes a file that must not exist yet. It returns its folder too, nil when that could not be opened.
// newFile.finish must follow.
func (c *folders) create(p string) (d *folder, f newFile, err error) {
	d, name, err := c.of(p)
	if err != nil {
		return nil, f, err
	}
	if f, err = createNew(d, name); c.yields(err) {
		if d, name, err = c.of(p); err == nil {
			f, err = createNew(d, name)
		}
	}
	return d, f, err
}

// yields closes all folders when an error says that there is no descriptor left, and keeps half as many from
// then on: others need more than was thought.
func (c *folders) yields(err error) bool {
	if (len(c.open) == 0) || (!errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE)) {
		return false
	}
	c.most = max(len(c.open)/2, 1)
	c.close()
	return true
}

// begin opens a folder, from the nearest one above it that is open if that can be.
func (c *folders) begin(dir string) (*folder, error) {
	for above := path.Dir(dir); above != "."; above = path.Dir(above) {
		if o := c.open[above]; o != nil {
			if f, err := c.below(o.root, dir[len(above)+1:]); err == nil {
				return f, nil
			}
			break // it is gone, or a link leads out of it
		}
	}
	return c.below(c.root, dir)
}

// below opens a folder below a root.
func (c *folders) below(root regular.Root, dir string) (*folder, error) {
	r, err := root.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && !c.look {
		if err = root.MkdirAll(dir, 0o755); err == nil {
			r, err = root.OpenRoot(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	return newFolder(r.Root)
}

// drop closes the eighth of the folders that was used longest ago: to find one takes as long.
func (c *folders) drop() {
	uses := make([]uint64, 0, len(c.open))
	for _, o := range c.open {
		uses = append(uses, o.used)
	}
	slices.Sort(uses)
	last := uses[len(uses)/8]
	for dir, o := range c.open {
		if o.used <= last {
			o.close()
			delete(c.open, dir)
		}
	}
}

func (c *folders) close() {
	for _, o := range c.open {
		o.close()
	}
	c.open = nil
}

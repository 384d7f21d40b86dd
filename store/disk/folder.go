// SPDX-License-Identifier: Apache-2.0

package disk

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

// OpenDir is one directory held open, so that work on its files costs one look-up of one name.
type OpenDir struct {
	Root regular.Root
	F    *os.File
	FD   int // of f
}

func NewOpenDir(root *os.Root) (*OpenDir, error) {
	f, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	return &OpenDir{Root: regular.Root{Root: root}, F: f, FD: int(f.Fd())}, nil
}

func (d *OpenDir) Close() {
	if d != nil {
		d.F.Close()
		d.Root.Close()
	}
}

// OpenDirs opens folders below a root by mirror path. It keeps those that were used last: sorted work asks
// for the same one again and again, and work in the order in which pages were found goes back and forth
// between many. It is not safe for concurrent use.
type OpenDirs struct {
	Root regular.Root
	Look bool // a missing folder is an error
	most int  // so many are kept, with two descriptors each; 0: FewFolders
	high int  // a higher descriptor says that the process has many; 0: none does
	open map[string]*openFolder
	uses uint64
}

type openFolder struct {
	*OpenDir
	used uint64 // by folders.uses
}

// How many folders are kept open where many are read, and where pages are written as they come.
const (
	FewFolders   = 32
	leastFolders = 4
	manyFolders  = 512
)

// folderShare is which part of the descriptors that the process may have a writer may take, about.
const folderShare = 32

func WriterFolders(root regular.Root) OpenDirs {
	most := maxDescriptors()
	return OpenDirs{
		Root: root,
		most: min(max(most/(2*folderShare), leastFolders), manyFolders),
		high: most / 2,
	}
}

// Of returns the folder that holds the file at a mirror path, and the file's name in it. It is made when
// missing, unless look is set.
func (c *OpenDirs) Of(p string) (*OpenDir, string, error) {
	dir, name := path.Split(p)
	if dir == "" {
		dir = "."
	} else {
		dir = dir[:len(dir)-1]
	}
	c.uses++
	if o := c.open[dir]; o != nil {
		o.used = c.uses
		return o.OpenDir, name, nil
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
	if c.high > 0 && f.FD > c.high { // the kernel gives the lowest that is free: other runs are at work too
		c.most = max(len(c.open)/2, leastFolders)
	}
	for len(c.open) >= cmp.Or(c.most, FewFolders) {
		c.drop()
	}
	c.open[dir] = &openFolder{f, c.uses}
	return f, name, nil
}

// Create makes a file that must not exist yet. It returns its folder too, nil when that could not be opened.
// NewFile.finish must follow.
func (c *OpenDirs) Create(p string) (d *OpenDir, f NewFile, err error) {
	d, name, err := c.Of(p)
	if err != nil {
		return nil, f, err
	}
	if f, err = CreateNew(d, name); c.yields(err) {
		if d, name, err = c.Of(p); err == nil {
			f, err = CreateNew(d, name)
		}
	}
	return d, f, err
}

// yields closes all folders when an error says that there is no descriptor left, and keeps half as many from
// then on: others need more than was thought.
func (c *OpenDirs) yields(err error) bool {
	if (len(c.open) == 0) || (!errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE)) {
		return false
	}
	c.most = max(len(c.open)/2, 1)
	c.Close()
	return true
}

// begin opens a folder, from the nearest one above it that is open if that can be.
func (c *OpenDirs) begin(dir string) (*OpenDir, error) {
	for above := path.Dir(dir); above != "."; above = path.Dir(above) {
		if o := c.open[above]; o != nil {
			if f, err := c.below(o.Root, dir[len(above)+1:]); err == nil {
				return f, nil
			}
			break // it is gone, or a link leads out of it
		}
	}
	return c.below(c.Root, dir)
}

// below opens a folder below a root.
func (c *OpenDirs) below(root regular.Root, dir string) (*OpenDir, error) {
	r, err := root.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && !c.Look {
		if err = root.MkdirAll(dir, 0o755); err == nil {
			r, err = root.OpenRoot(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	return NewOpenDir(r.Root)
}

// drop closes the eighth of the folders that was used longest ago: to find one takes as long.
func (c *OpenDirs) drop() {
	uses := make([]uint64, 0, len(c.open))
	for _, o := range c.open {
		uses = append(uses, o.used)
	}
	slices.Sort(uses)
	last := uses[len(uses)/8]
	for dir, o := range c.open {
		if o.used <= last {
			o.Close()
			delete(c.open, dir)
		}
	}
}

func (c *OpenDirs) Close() {
	for _, o := range c.open {
		o.Close()
	}
	c.open = nil
}

// Links is how many names a file has.
func Links(fi os.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"syscall"
	"time"

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

// Create makes a file that must not exist yet. Finish must follow. For a file, O_NONBLOCK changes nothing but
// that os makes four system calls less.
func (d *OpenDir) Create(name string) (*os.File, error) {
	return d.Root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NONBLOCK, 0o644)
}

// Finish closes a file that was made and gives it its modification time, unless that is zero. err is what
// went wrong before.
func (d *OpenDir) Finish(f *os.File, name string, mtime time.Time, err error) error {
	err = cmp.Or(err, f.Close())
	if err == nil && !mtime.IsZero() {
		err = d.Root.Chtimes(name, mtime, mtime)
	}
	return err
}

// Stat looks at a file of the folder.
func (d *OpenDir) Stat(name string) (FileStat, error) {
	fi, err := d.Root.Lstat(name)
	if err != nil {
		return FileStat{}, err
	}
	return StatOf(fi), nil
}

func (d *OpenDir) Close() {
	if d != nil {
		d.F.Close()
		d.Root.Close()
	}
}

// LinkOrCopy makes a name in a folder another name of a file of another folder, or a copy where that has too
// many names, or the file system has no links. fs.ErrExist when the name is taken.
func LinkOrCopy(from *OpenDir, file string, to *OpenDir, name string) error {
	err := linkat(from.FD, file, to.FD, name)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	src, err := from.Root.Open(file)
	if err != nil {
		return err
	}
	defer src.Close()
	fi, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := to.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return to.Finish(dst, name, fi.ModTime(), err)
}

// OpenDirs opens folders below a root by mirror path. It keeps those that were used last: sorted work asks
// for the same one again and again, and work in the order in which pages were found goes back and forth
// between many. It is not safe for concurrent use.
type OpenDirs struct {
	Root regular.Root
	Look bool // a missing folder is an error
	most int  // so many are kept, with two descriptors each; 0: fewFolders
	open map[string]*openFolder
	uses uint64
}

type openFolder struct {
	*OpenDir
	used uint64 // by folders.uses
}

// fewFolders is how many are kept: 32, or fewer where the process may have few descriptors, of which those of
// a worker on each core take a quarter.
func fewFolders() int {
	few := uint64(32)
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		few = min(few, max(uint64(limit.Cur)/8/uint64(runtime.GOMAXPROCS(0)), 1))
	}
	return int(few)
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
	if c.most == 0 {
		c.most = fewFolders()
	}
	for len(c.open) >= c.most {
		c.drop()
	}
	c.open[dir] = &openFolder{f, c.uses}
	return f, name, nil
}

// Stat looks at the file at a mirror path; fs.ErrNotExist when it is missing.
func (c *OpenDirs) Stat(p string) (FileStat, error) {
	d, name, err := c.Of(p)
	if err == nil {
		return d.Stat(name)
	}
	// a file stands where a folder should
	if _, lerr := c.Root.Lstat(p); errors.Is(lerr, syscall.ENOTDIR) {
		err = fs.ErrNotExist
	}
	return FileStat{}, err
}

// Create makes a file that must not exist yet. It returns its folder too, nil when that could not be opened.
// OpenDir.Finish must follow.
func (c *OpenDirs) Create(p string) (d *OpenDir, f *os.File, err error) {
	d, name, err := c.Of(p)
	if err != nil {
		return nil, nil, err
	}
	if f, err = d.Create(name); c.yields(err) {
		if d, name, err = c.Of(p); err == nil {
			f, err = d.Create(name)
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

func (c *OpenDirs) begin(dir string) (*OpenDir, error) {
	r, err := c.Root.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && !c.Look {
		if err = c.Root.MkdirAll(dir, 0o755); err == nil {
			r, err = c.Root.OpenRoot(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	return NewOpenDir(r.Root)
}

// drop closes the folder that was used longest ago.
func (c *OpenDirs) drop() {
	oldest := ""
	for dir, o := range c.open {
		if oldest == "" || o.used < c.open[oldest].used {
			oldest = dir
		}
	}
	c.open[oldest].Close()
	delete(c.open, oldest)
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

// SPDX-License-Identifier: Apache-2.0

package db

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"mirrord/internal/dbpages"
	"mirrord/store/disk"
)

// checkedFor is how long a file that has not changed is taken to be as whole as it was.
const checkedFor = 10 * time.Minute

// WholeFiles remembers which database files were found whole, and when: opening one again right away need not
// read it all. Two changes within one tick of the kernel's clock leave the same times, so it is also known by
// its last commit, which each process that writes it changes. A nil one has nothing to forget.
type WholeFiles struct {
	Now func() time.Time

	mu    sync.Mutex
	files map[string]checkedFile
}

type checkedFile struct {
	info   fs.FileInfo
	commit dbpages.Commit
	at     time.Time
}

func (c *WholeFiles) has(path string, fi fs.FileInfo, commit dbpages.Commit) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.files[path]
	if !ok || c.Now().Sub(k.at) >= checkedFor {
		return false
	}
	same := os.SameFile(k.info, fi) && k.info.Size() == fi.Size() && k.commit == commit
	return same && k.info.ModTime().Equal(fi.ModTime()) && changed(k.info).Equal(changed(fi))
}

// changed is when a file was last written or renamed, even if its modification time was set back.
func changed(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return fi.ModTime()
}

func (c *WholeFiles) add(path string, fi fs.FileInfo, commit dbpages.Commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]checkedFile{}
	}
	c.files[path] = checkedFile{fi, commit, c.Now()}
}

// renew takes in that we wrote a file that was whole.
func (c *WholeFiles) renew(path string, fi fs.FileInfo, commit dbpages.Commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.files[path]; ok {
		c.files[path] = checkedFile{fi, commit, k.at}
	}
}

func (c *WholeFiles) forget(path string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.files, path)
}

// pageFault reports whether a panic is a memory fault within the pages of the database file: the kernel could
// not read one from the disk, or the file was cut.
func (d *DB) pageFault(p any) error {
	at, ok := p.(interface{ Addr() uintptr })
	if !ok || (d.File == nil) {
		return nil
	}
	if d.bolt == nil { // while bbolt looks at its first pages
		return &disk.UnreadableError{File: d.Path, Err: syscall.EIO}
	}
	off := int64(at.Addr()) - int64(d.bolt.Info().Data)
	fi, err := d.File.Stat()
	if err != nil || off < 0 || off >= fi.Size() {
		return nil
	}
	size := int64(os.Getpagesize())
	err = fmt.Errorf("page %d: %w", off/size, syscall.EIO)
	return &disk.UnreadableError{File: d.Path, Err: err}
}

// isUnborn reports whether a damaged database is one that lost power while it was made, before anything was
// committed to it: of the pages that bbolt begins with, each sector is there or empty.
func (o *Options) isUnborn(f *os.File, fi fs.FileInfo) bool {
	const sector = 512
	newborn, err := newbornDatabase()
	if (err != nil) || (fi.Size() > int64(len(newborn))) {
		return false
	}
	got := make([]byte, fi.Size())
	if _, err := f.ReadAt(got, 0); err != nil {
		return false
	}
	empty := make([]byte, sector)
	for at := 0; at < len(got); at += sector {
		end := min(len(got), at+sector)
		if part := got[at:end]; !bytes.Equal(part, newborn[at:end]) && !bytes.Equal(part, empty[:len(part)]) {
			return false
		}
	}
	return true
}

// newbornDatabase returns the bytes of a database that was just made.
func newbornDatabase() ([]byte, error) {
	dir, err := os.MkdirTemp("", "mirrord-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "new")
	d, err := Open(Options{
		Path:     name,
		Mode:     0o600,
		Depth:    1,
		Fresh:    true,
		Volatile: true,
	})
	if err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

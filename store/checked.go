// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"mirrord/internal/dbpages"
	"mirrord/store/disk"
)

// checkedFor is how long a file that has not changed is taken to be as whole as it was.
const checkedFor = 10 * time.Minute

// checked remembers which database files were found whole, and when: opening one again right away need not
// read it all. Two changes within one tick of the kernel's clock leave the same times, so it is also known by
// its last commit, which each process that writes it changes. A nil one remembers nothing.
type checked struct {
	now func() time.Time

	mu    sync.Mutex
	files map[string]checkedFile
}

type checkedFile struct {
	info   fs.FileInfo
	commit dbpages.Commit
	at     time.Time
}

func (c *checked) has(path string, fi fs.FileInfo, commit dbpages.Commit) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.files[path]
	if !ok || c.now().Sub(k.at) >= checkedFor {
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

func (c *checked) add(path string, fi fs.FileInfo, commit dbpages.Commit) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]checkedFile{}
	}
	c.files[path] = checkedFile{fi, commit, c.now()}
}

// renew takes in that we wrote a file that was whole.
func (c *checked) renew(path string, fi fs.FileInfo, commit dbpages.Commit) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.files[path]; ok {
		c.files[path] = checkedFile{fi, commit, k.at}
	}
}

func (c *checked) forget(path string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.files, path)
}

// pageFault reports whether a panic is a memory fault within the pages of the database file: the kernel could
// not read one from the disk, or the file was cut.
func (d *database) pageFault(p any) error {
	at, ok := p.(interface{ Addr() uintptr })
	if !ok || (d.file == nil) {
		return nil
	}
	if d.bolt == nil { // while bbolt looks at its first pages
		return &disk.UnreadableError{File: d.path, Err: syscall.EIO}
	}
	off := int64(at.Addr()) - int64(d.bolt.Info().Data)
	fi, err := d.file.Stat()
	if err != nil || off < 0 || off >= fi.Size() {
		return nil
	}
	size := int64(os.Getpagesize())
	err = fmt.Errorf("page %d: %w", off/size, syscall.EIO)
	return &disk.UnreadableError{File: d.path, Err: err}
}

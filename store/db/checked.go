// SPDX-License-Identifier: Apache-2.0

package db

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"slices"
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
	return same && k.info.ModTime().Equal(fi.ModTime()) && disk.Changed(k.info).Equal(disk.Changed(fi))
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

// Of a new database, bytes behind newbornUsed of each page are zeros, and the number of the last transaction,
// which the first two pages have at newbornTx, is 0 or 1.
const (
	newbornUsed = 128
	newbornTx   = 64
)

// isUnborn reports whether a damaged database is one that lost power while it was made, before anything was
// committed to it: of the pages that bbolt begins with, each sector is there or empty.
func isUnborn(f *os.File, fi fs.FileInfo) bool {
	page := os.Getpagesize()
	got := make([]byte, min(fi.Size(), int64(4*page)+1))
	if _, err := f.ReadAt(got, 0); err != nil || len(got) > 4*page {
		return false
	}
	for part := range slices.Chunk(got, page) {
		if len(part) > newbornUsed && (len(bytes.Trim(part[newbornUsed:], "\x00")) > 0 ||
			binary.LittleEndian.Uint64(part[newbornTx:]) > 1) {
			return false
		}
	}
	return true
}

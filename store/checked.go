// SPDX-License-Identifier: Apache-2.0

package store

import (
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// checkedFor is how long a file that has not changed is taken to be as whole as it was.
const checkedFor = 10 * time.Minute

// checked remembers which files were found whole, and when: opening one again right away need not read it
// all. A nil one remembers nothing.
type checked struct {
	now func() time.Time

	mu    sync.Mutex
	files map[string]checkedFile
}

type checkedFile struct {
	fs.FileInfo
	at time.Time
}

func (c *checked) has(path string, fi fs.FileInfo) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.files[path]
	if !ok || c.now().Sub(k.at) >= checkedFor {
		return false
	}
	same := os.SameFile(k.FileInfo, fi) && k.Size() == fi.Size()
	return same && k.ModTime().Equal(fi.ModTime()) && changed(k).Equal(changed(fi))
}

// changed is when a file was last written or renamed, also by somebody who set its modification time back.
func changed(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return fi.ModTime()
}

// tooFresh is how long after a change of a file another one may leave it with the same times: the kernel's
// clock goes in steps.
const tooFresh = 50 * time.Millisecond

func (c *checked) add(path string, fi fs.FileInfo) {
	if c == nil || changedWithin(fi, tooFresh) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]checkedFile{}
	}
	c.files[path] = checkedFile{fi, c.now()}
}

// renew takes in that we wrote a file that was whole.
func (c *checked) renew(path string, fi fs.FileInfo) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch k, ok := c.files[path]; {
	case ok && changedWithin(fi, tooFresh):
		delete(c.files, path)
	case ok:
		c.files[path] = checkedFile{fi, k.at}
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

// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
)

// isUnborn reports whether a damaged database is one that lost power while it was made, before anything was
// committed to it: of the pages that bbolt begins with, each sector is there or empty.
func (o *doorOptions) isUnborn(f *os.File, fi fs.FileInfo) bool {
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
	name := filepath.Join(dir, siteDB)
	d, err := openDatabase(doorOptions{
		path:     name,
		mode:     0o600,
		depth:    1,
		fresh:    true,
		volatile: true,
	})
	if err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

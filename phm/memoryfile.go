// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"io/fs"
	"path"
	"time"
)

// MemoryFile is an fs.File whose bytes are held in memory.
type MemoryFile struct {
	*bytes.Reader
	info fileInfo
}

// NewMemoryFile returns a file of that body, last changed at a time.
func NewMemoryFile(name string, body []byte, at time.Time) *MemoryFile {
	return &MemoryFile{bytes.NewReader(body), fileInfo{path.Base(name), int64(len(body)), at}}
}

// Stat implements fs.File.
func (f *MemoryFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements fs.File.
func (f *MemoryFile) Close() error { return nil }

// fileInfo is that of a regular file.
type fileInfo struct {
	name string
	size int64
	at   time.Time
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (fileInfo) Mode() fs.FileMode    { return 0o444 }
func (i fileInfo) ModTime() time.Time { return i.at }
func (fileInfo) IsDir() bool          { return false }
func (fileInfo) Sys() any             { return nil }

// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"time"
)

// pastFile is a file in memory.
type pastFile struct {
	*bytes.Reader
	name string
	at   time.Time
}

func newPastFile(name string, data []byte, at time.Time) *pastFile {
	return &pastFile{bytes.NewReader(data), path.Base(name), at}
}

func (f *pastFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *pastFile) Close() error               { return nil }
func (f *pastFile) Name() string               { return f.name }
func (f *pastFile) Mode() fs.FileMode          { return 0o444 }
func (f *pastFile) ModTime() time.Time         { return f.at }
func (f *pastFile) IsDir() bool                { return false }
func (f *pastFile) Sys() any                   { return nil }

var _ io.ReadSeeker = (*pastFile)(nil)

// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"time"

	"mirrord/store/disk"
)

// bodyFile is a body of Bodies that have no files. One goroutine uses it.
type bodyFile struct {
	bodies Bodies
	digest [32]byte
	stat   disk.FileStat
	at     int64
	in     io.ReadCloser // at the offset; nil before the first read, and after Seek
	closed bool
}

// Read implements fs.File.
func (f *bodyFile) Read(p []byte) (n int, err error) {
	if f.closed {
		return 0, fs.ErrClosed
	}
	if f.in == nil {
		if f.at >= f.stat.Size {
			return 0, io.EOF
		}
		if f.in, err = f.bodies.Open(f.digest, f.at, -1); err != nil {
			return 0, err
		}
	}
	n, err = f.in.Read(p)
	f.at += int64(n)
	return n, err
}

// Seek implements io.Seeker.
func (f *bodyFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.stat.Size
	}
	if f.closed {
		return 0, fs.ErrClosed
	}
	if offset < 0 {
		return 0, errors.New("seek: before the beginning of the body")
	}
	err := f.stop()
	f.at = offset
	return offset, err
}

func (f *bodyFile) stop() (err error) {
	if f.in != nil {
		err = f.in.Close()
		f.in = nil
	}
	return err
}

// Close implements fs.File.
func (f *bodyFile) Close() error {
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	return f.stop()
}

// Stat implements fs.File.
func (f *bodyFile) Stat() (fs.FileInfo, error) { return bodyInfo{f.digest, f.stat}, nil }

// bodyInfo is a body's fs.FileInfo.
type bodyInfo struct {
	digest [32]byte
	stat   disk.FileStat
}

func (i bodyInfo) Name() string       { return hex.EncodeToString(i.digest[:]) }
func (i bodyInfo) Size() int64        { return i.stat.Size }
func (i bodyInfo) Mode() fs.FileMode  { return 0o444 }
func (i bodyInfo) ModTime() time.Time { return i.stat.Time }
func (i bodyInfo) IsDir() bool        { return false }
func (i bodyInfo) Sys() any           { return nil }

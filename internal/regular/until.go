// SPDX-License-Identifier: Apache-2.0

package regular

import (
	"context"
	"io"
	"io/fs"
	"sync"
)

// Until is a tree whose files are read until a context ends, and then in its error: one that another user
// has made may be of any size. Names that are no UTF-8 are passed on.
func Until(ctx context.Context, fsys fs.FS) fs.FS { return until{fsys, ctx} }

type until struct {
	fs.FS
	ctx context.Context
}

// Open opens a file, or a folder.
func (t until) Open(name string) (fs.File, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := t.FS.Open(name)
	if err != nil {
		return nil, err
	}
	s := stream{f, t.ctx}
	if at, ok := f.(placed); ok {
		return &file{s, at, UntilAt(t.ctx, at)}, nil
	}
	return &s, nil
}

// Stat describes a file.
func (t until) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.FS, name) }

// Lstat describes a file, or a symbolic link.
func (t until) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(t.FS, name) }

// ReadLink returns where a symbolic link leads.
func (t until) ReadLink(name string) (string, error) { return fs.ReadLink(t.FS, name) }

// ReadDir lists a folder.
func (t until) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.FS, name) }

// UntilReader reads until a context ends, and then its error, also while nothing comes. It begins with the
// first Read. Close ends it, and does not close r.
func UntilReader(ctx context.Context, r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	return &waiting{out, sync.OnceFunc(func() {
		go func() {
			_, err := io.Copy(in, r)
			in.CloseWithError(err)
		}()
	})}
}

type waiting struct {
	*io.PipeReader
	begin func()
}

func (w *waiting) Read(p []byte) (int, error) {
	w.begin()
	return w.PipeReader.Read(p)
}

// stream is a file that can only be read from its beginning.
type stream struct {
	fs.File
	ctx context.Context
}

func (s *stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.File.Read(p)
}

// placed is what a file can do that is read anywhere.
type placed interface {
	io.ReaderAt
	io.Seeker
}

type file struct {
	stream
	io.Seeker
	io.ReaderAt
}

// UntilAt reads until a context ends, and then returns its error.
func UntilAt(ctx context.Context, r io.ReaderAt) io.ReaderAt { return &readerAt{r, ctx} }

type readerAt struct {
	io.ReaderAt
	ctx context.Context
}

func (r *readerAt) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, off)
}

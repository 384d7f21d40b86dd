// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"fmt"
	"io"
	"io/fs"

	"mirrord/internal/inorder"
)

// Visitor takes the files of a tree; see Visit. What its functions return as errors ends the visit.
type Visitor[T any] struct {
	Crew inorder.Crew // reads beside the caller; the tree must be safe for concurrent use then

	// Look receives each line of the table, and then Begin what the set says of itself, before the first file is
	// read. Both may be nil.
	Look  func(*File)
	Begin func(*Meta) error

	// Small reports whether a file is read into memory as a whole.
	Small func(*File) bool

	// Buffer returns memory for such a file, nil for none. Workers call it.
	Buffer func() []byte

	// Work makes something of such a file. body, which may lie in what Buffer returned, is Work's.
	Work func(worker int, f *File, body []byte) (T, error)

	// Take receives what Work made, in the order of the table.
	Take func(T) error

	// Large begins any other file, and at the end phm.files and phm.json, for which f is nil. Its content is
	// written to what it returns, which is closed after it.
	Large func(path string, size int64, f *File) (io.WriteCloser, error)
}

// Visit reads all files of a tree in the order of the table, then phm.files and phm.json, each checked
// against the table. Nothing is read when the table is not right.
func Visit[T any](fsys fs.FS, v Visitor[T]) (*Meta, error) {
	m, err := checkTable(fsys, v.Look)
	if (err == nil) && v.Begin != nil {
		err = v.Begin(m)
	}
	if err == nil {
		err = v.visit(fsys, m)
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return m, nil
}

func (v *Visitor[T]) visit(fsys fs.FS, m *Meta) error {
	files := inorder.New(v.Crew, packAhead, func(made T, err error) error {
		if err != nil {
			return err
		}
		return v.Take(made)
	})
	defer files.Close()
	copies := sinkFunc(v.Large)
	buf := make([]byte, 64<<10)
	for f, err := range tableOf(fsys) {
		if err != nil {
			return err
		}
		it := item{
			fsys: fsys,
			path: f.Path,
			size: f.Size,
			sum:  f.SHA256,
		}
		if v.Small(f) {
			err = files.Add(f.Size, func(worker int) (made T, err error) {
				body, err := it.read(v.Buffer())
				if err != nil {
					return made, err
				}
				return v.Work(worker, f, body)
			})
		} else if err = files.Flush(); err == nil {
			err = copies.copy(it, f, buf)
		}
		if err != nil {
			return err
		}
	}
	if err := files.Flush(); err != nil {
		return err
	}
	for _, name := range []string{FilesName, MetaName} {
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return err
		}
		it := item{fsys: fsys, path: name, size: info.Size()}
		if name == FilesName {
			it.sum = m.TableSum
		}
		if err := copies.copy(it, nil, buf); err != nil {
			return err
		}
	}
	return nil
}

// sinkFunc begins a file.
type sinkFunc func(path string, size int64, f *File) (io.WriteCloser, error)

func (begin sinkFunc) copy(it item, f *File, buf []byte) error {
	w, err := begin(it.path, it.size, f)
	if err != nil {
		return fmt.Errorf("create %q: %w", it.path, err)
	}
	if err := it.copyTo(w, buf); err != nil {
		w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("create %q: %w", it.path, err)
	}
	return nil
}

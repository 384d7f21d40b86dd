// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"fmt"
	"io"
	"io/fs"
)

// Visitor takes what a tree holds; see Visit. What its functions return as errors ends the visit.
type Visitor struct {
	// Look receives each line of the table, and then Begin what the set says of itself, before the first File.
	// Both may be nil.
	Look  func(*File)
	Begin func(*Meta) error

	// Own receives phm.files and phm.json, and then File each file in the order of the table, to read them with
	// ReadFile or CopyFile. The first two have only the fields needed for that.
	Own  func(*File) error
	File func(*File) error
}

// Visit goes through phm.files and phm.json of a tree, then through its files in the order of the table.
// Nothing is read when the table is not right.
func Visit(fsys fs.FS, v Visitor) (*Meta, error) {
	m, err := checkTable(fsys, v.Look)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if v.Begin != nil {
		err = v.Begin(m)
	}
	if err == nil {
		err = v.visit(fsys, m)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (v *Visitor) visit(fsys fs.FS, m *Meta) error {
	for _, name := range []string{FilesName, MetaName} {
		f, err := ownFile(fsys, m, name)
		if err == nil {
			err = v.Own(f)
		}
		if err != nil {
			return err
		}
	}
	for f, err := range tableOf(fsys) {
		if err == nil {
			err = v.File(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ReadFile reads a file of a tree and checks it against the table. It uses room when that has one byte more
// than the file.
func ReadFile(fsys fs.FS, f *File, room []byte) ([]byte, error) {
	return item{fsys, f}.read(room)
}

// CopyFile copies a file of a tree to w, checks it against the table, and closes w.
func CopyFile(fsys fs.FS, f *File, w io.WriteCloser) error {
	return item{fsys, f}.copyInto(w, make([]byte, 64<<10))
}

// copyInto copies the file to w, and closes w.
func (it item) copyInto(w io.WriteCloser, buf []byte) error {
	if err := it.copyTo(w, buf); err != nil {
		w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("create %q: %w", it.Path, err)
	}
	return nil
}

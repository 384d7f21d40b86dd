// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"mirrord/archive/zim"
	"mirrord/phm"
)

// ZimTree is the PHM that a ZIM file was made of. It is not safe for concurrent use.
type ZimTree struct{ zim *zim.Reader }

// Open opens a ZIM file that Pack wrote.
func Open(r io.ReaderAt, size int64, l phm.Limits) (*ZimTree, error) {
	z, err := zim.Open(r, size, zim.Limits{Entries: l.Entries})
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	t := &ZimTree{z}
	if z.Minor < 1 {
		return nil, fmt.Errorf("open archive: %w: the ZIM file has the namespaces of before 2021 (version %d.%d): "+
			"another program wrote it", phm.ErrNotPHM, z.Major, z.Minor)
	}
	if _, ok := z.Find(zim.Index, kept+phm.MetaName); !ok {
		return nil, fmt.Errorf("open archive: %w: the ZIM file was not written by mirrord export", phm.ErrNotPHM)
	}
	if err := phm.CheckTotals(t, size, l); err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	return t, nil
}

// Foreign reports whether a file is a ZIM file that another program wrote.
func Foreign(r io.ReaderAt, size int64) bool {
	b, err := zim.Browse(r, size)
	if err != nil {
		return false
	}
	_, ours, err := b.Find(zim.Index, kept+phm.MetaName)
	return err == nil && (b.Old() || !ours)
}

// Names returns the names of all files.
func (t *ZimTree) Names() (names []string) {
	names = append(names, phm.MetaName, phm.FilesName)
	for i := range t.zim.Len() {
		if e, target := t.zim.Entry(i); e.Namespace == zim.Content && target < 0 {
			names = append(names, e.Path)
		}
	}
	return names
}

// CheckSum checks what the file says of itself as a whole.
func (t *ZimTree) CheckSum() error { return t.zim.CheckSum() }

// Open opens a file as it is in the PHM.
func (t *ZimTree) Open(name string) (fs.File, error) {
	i, ok := t.zim.Find(zim.Index, kept+name)
	if !ok && name != phm.MetaName && name != phm.FilesName {
		i, ok = t.zim.Find(zim.Content, name)
	}
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if _, target := t.zim.Entry(i); target >= 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("a redirect, not a file")}
	}
	b, err := t.zim.Blob(i)
	if u, changed := t.zim.Find(zim.Index, undone+name); changed && err == nil {
		b, err = t.restored(b, u)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &file{b, path.Base(name)}, nil
}

// restored returns the original page, made from the shown one and the entry with the differences.
func (t *ZimTree) restored(shown *zim.Blob, undo int) (*zim.Blob, error) {
	page, err := readBlob(shown)
	if err != nil {
		return nil, err
	}
	b, err := t.zim.Blob(undo)
	if err != nil {
		return nil, err
	}
	changes, err := readBlob(b)
	if err != nil {
		return nil, err
	}
	raw, err := restore(page, changes)
	return &zim.Blob{Reader: bytes.NewReader(raw), Size: int64(len(raw))}, err
}

func readBlob(b *zim.Blob) ([]byte, error) {
	defer b.Close()
	if b.Size > 2*maxPage {
		return nil, fmt.Errorf("a changed page of %d bytes", b.Size)
	}
	data := make([]byte, b.Size)
	_, err := io.ReadFull(b, data)
	return data, err
}

// file is a file of a Tree, and its fs.FileInfo.
type file struct {
	*zim.Blob
	name string
}

func (f *file) Stat() (fs.FileInfo, error) { return fileInfo{f}, nil }

type fileInfo struct{ f *file }

func (i fileInfo) Name() string     { return i.f.name }
func (i fileInfo) Size() int64      { return i.f.Blob.Size }
func (fileInfo) Mode() fs.FileMode  { return 0o444 }
func (fileInfo) ModTime() time.Time { return time.Time{} }
func (fileInfo) IsDir() bool        { return false }
func (fileInfo) Sys() any           { return nil }

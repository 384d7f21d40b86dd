// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	"cmp"
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
type ZimTree struct {
	zim   *zim.Reader
	names []string
	at    map[string]int // entries by namespace and path
}

// mostEntries is how many entries a file has at most, unless limits say so.
const mostEntries = 4 << 20

// Open opens a ZIM file that Pack wrote.
func Open(r io.ReaderAt, size int64, l phm.Limits) (*ZimTree, error) {
	t, err := open(r, size, cmp.Or(l.Entries, mostEntries))
	if err == nil {
		err = phm.CheckTotals(t, size, l)
	}
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	return t, nil
}

func open(r io.ReaderAt, size int64, most int) (*ZimTree, error) {
	z, err := zim.Open(r, size)
	switch {
	case err != nil:
		return nil, err
	case z.Len() > most:
		return nil, fmt.Errorf("%w: it has %d entries, over %d", zim.ErrUnread, z.Len(), most)
	}
	t := &ZimTree{zim: z, names: []string{phm.MetaName, phm.FilesName}, at: map[string]int{}}
	if err := z.Each(func(f zim.Located) error {
		t.at[string(f.Namespace)+f.Path] = f.Index
		if f.Namespace == zim.Content && f.Target < 0 {
			t.names = append(t.names, f.Path)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if z.Old() {
		return nil, fmt.Errorf("%w: the ZIM file has the namespaces of before 2021 (version %d.%d): another "+
			"program wrote it", phm.ErrNotPHM, z.Major, z.Minor)
	}
	if _, ok := t.find(zim.Index, kept+phm.MetaName); !ok {
		return nil, fmt.Errorf("%w: the ZIM file was not written by mirrord export", phm.ErrNotPHM)
	}
	return t, nil
}

func (t *ZimTree) find(namespace byte, path string) (i int, ok bool) {
	i, ok = t.at[string(namespace)+path]
	return i, ok
}

// Foreign reports whether a file is a ZIM file that another program wrote.
func Foreign(r io.ReaderAt, size int64) bool {
	b, err := zim.Open(r, size)
	if err != nil {
		return false
	}
	_, ours, err := b.Find(zim.Index, kept+phm.MetaName)
	return err == nil && (b.Old() || !ours)
}

// Names returns the names of all files.
func (t *ZimTree) Names() []string { return t.names }

// CheckSum checks what the file says of itself as a whole.
func (t *ZimTree) CheckSum() error { return t.zim.CheckSum() }

// Open opens a file as it is in the PHM.
func (t *ZimTree) Open(name string) (fs.File, error) {
	i, ok := t.find(zim.Index, kept+name)
	if !ok && name != phm.MetaName && name != phm.FilesName {
		i, ok = t.find(zim.Content, name)
	}
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := t.zim.At(i)
	if err == nil && f.Target >= 0 {
		err = errors.New("a redirect, not a file")
	}
	var b *zim.Blob
	if err == nil {
		b, err = t.zim.Blob(f)
	}
	if u, changed := t.find(zim.Index, undone+name); changed && err == nil {
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
	f, err := t.zim.At(undo)
	if err != nil {
		return nil, err
	}
	b, err := t.zim.Blob(f)
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

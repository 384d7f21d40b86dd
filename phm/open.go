// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// packed is a PHM in one file, opened.
type packed interface {
	fs.StatFS
	Names() []string // of all files, in the order in which they lie there
}

// Open opens a PHM that is one file: the archive form, or a tar of the directory form, plain or compressed
// with zstd or gzip. The result is an *Archive or a *Tar. OpenArchive and OpenTar describe the checks.
func Open(r io.ReaderAt, size int64, l Limits) (fs.FS, error) {
	head := make([]byte, 512)
	n, err := r.ReadAt(head[:min(size, 512)], 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	head = head[:n]
	if compressionOf(head) != plainTar || (len(head) > 262 && bytes.Equal(head[257:262], []byte("ustar"))) {
		return OpenTar(r, size, l)
	}
	return OpenArchive(r, size, l)
}

var errNotRegular = fmt.Errorf("%w: it is not a regular file", ErrDamaged)

// OpenRegular opens a regular file of a tree, and fails for everything else. Where the tree has a Stat it
// fails at once: opening a named pipe would wait for a writer.
func OpenRegular(fsys fs.FS, name string) (fs.File, error) {
	regular := func(info fs.FileInfo, err error) error {
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("open %q: %w but %s", name, errNotRegular, info.Mode().Type())
		}
		return err
	}
	if s, ok := fsys.(fs.StatFS); ok {
		if err := regular(s.Stat(name)); err != nil {
			return nil, err
		}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	if err := regular(f.Stat()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// folder opens files of a tree, one after the other. The folder in which one is stays open until a file of
// another folder is due: below an [os.Root] each part of a path is a call of the system. The zero value is
// ready.
type folder struct {
	name string
	fsys fs.FS // nil before the first file
}

// open is OpenRegular.
func (d *folder) open(fsys fs.FS, name string) (fs.File, error) {
	in, base := path.Split(name)
	if in = path.Clean(in); d.fsys == nil || in != d.name {
		d.close()
		sub, err := fs.Sub(fsys, in)
		if err != nil {
			return nil, err
		}
		d.name, d.fsys = in, sub
	}
	return OpenRegular(d.fsys, base)
}

// close closes the folder that is open.
func (d *folder) close() {
	if c, ok := d.fsys.(io.Closer); ok && d.name != "." {
		c.Close() // of a folder nothing is lost
	}
	d.fsys = nil
}

// Unpack writes the files of a PHM that Open opened to sink, each verified on its way. Nothing is written
// unless the archive and its table name the same files; see Sink for what an error later on means. Another
// tree is copied.
func Unpack(tree fs.FS, sink Sink) (*Meta, error) {
	a, ok := tree.(packed)
	if !ok {
		return Copy(tree, sink)
	}
	named := 0
	for f, err := range tableOf(a) {
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		switch info, err := a.Stat(f.Path); {
		case err != nil:
			return nil, fmt.Errorf("unpack: %q: %w: the archive does not have it", f.Path, ErrDamaged)
		case info.Size() != f.Size:
			return nil, fmt.Errorf("unpack: %q: %w: it has %d bytes, not %d", f.Path, ErrDamaged, info.Size(),
				f.Size)
		}
		named++
	}
	if named+2 != len(a.Names()) {
		return nil, fmt.Errorf("unpack: %w: %s does not name %q", ErrDamaged, FilesName, unnamed(a))
	}
	return Copy(a, sink)
}

// unnamed returns a file that the table does not name.
func unnamed(a packed) string {
	named := map[string]bool{MetaName: true, FilesName: true}
	for f, err := range tableOf(a) {
		if err == nil {
			named[f.Path] = true
		}
	}
	for _, name := range a.Names() {
		if !named[name] {
			return name
		}
	}
	return ""
}

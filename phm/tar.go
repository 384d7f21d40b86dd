// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is how far back a zstd stream may refer, which is what its reader holds in memory: as much as
// "zstd --long" uses.
const maxWindow = 128 << 20

// A Tar is an opened tar of the directory form. It is an fs.FS of regular files like an Archive, but a stream
// beneath: files are read fast in the order of the tar only (see inReach), a file is valid until the next one
// is opened, and it is not safe for concurrent use. phm.json and phm.files are exempt from the last two.
type Tar struct {
	r      io.ReaderAt
	size   int64
	l      Limits
	prefix string // of the names in the tar: "" or a directory
	order  []string
	sorted bool // the files lie in the order of the table
	index  map[string]tarEntry
	cursor *tarStream
}

type tarEntry struct {
	at   int // among the regular files
	info fs.FileInfo
}

// OpenTar reads a whole tar once, plain or compressed with zstd or gzip, and checks the name, type and size
// of every file under the rules of OpenArchive. All names lie below one directory, or phm.json lies at the
// root. The order does not matter.
func OpenTar(r io.ReaderAt, size int64, l Limits) (*Tar, error) {
	t := &Tar{
		r:     r,
		size:  size,
		l:     l.withDefaults(),
		index: map[string]tarEntry{},
	}
	if err := t.scan(); err != nil {
		return nil, fmt.Errorf("open tar: %w", err)
	}
	return t, nil
}

// scan fills order and index.
func (t *Tar) scan() error {
	s, err := t.stream()
	if err != nil {
		return err
	}
	defer s.close()
	var infos []fs.FileInfo // of the files
	var names, dirs []string
	var total int64
	for {
		h, err := s.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		name := tarName(h.Name)
		refuse := func(reason string) error { return fmt.Errorf("%q: %w: %s", abbreviate(name), ErrUnsafe, reason) }
		if len(names)+len(dirs) >= t.l.Entries {
			return fmt.Errorf("%w: it has more than %d entries", ErrUnsafe, t.l.Entries)
		}
		if isSparse(h) {
			return refuse(
				"it is a sparse file, whose size says nothing of what it takes; make the tar without --sparse")
		}
		switch h.Typeflag {
		case tar.TypeReg:
			names, infos = append(names, name), append(infos, h.FileInfo())
		case tar.TypeDir:
			if name != "" {
				dirs = append(dirs, name)
			}
		case tar.TypeLink:
			return refuse("it is a hard link; make the tar with --hard-dereference")
		default:
			return refuse("it is not a regular file")
		}
		if h.Size > t.l.File {
			return refuse(fmt.Sprintf("it has more than %d bytes", t.l.File))
		}
		if total += h.Size; total > t.l.Total {
			return fmt.Errorf("%w: it unpacks to more than %d bytes", ErrUnsafe, t.l.Total)
		}
	}
	at := slices.IndexFunc(names, func(n string) bool {
		return n == MetaName || (strings.Count(n, "/") == 1 && strings.HasSuffix(n, "/"+MetaName))
	})
	if at < 0 {
		return fmt.Errorf("%w: it has no %s", ErrNotPHM, MetaName)
	}
	t.prefix = strings.TrimSuffix(names[at], MetaName)
	return t.name(names, dirs, infos)
}

// isSparse reports whether a file has holes, which archive/tar fills: a few bytes of tar would unpack to any
// number.
func isSparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// name checks the names below the prefix.
func (t *Tar) name(names, dirs []string, infos []fs.FileInfo) error {
	below := func(name string) (string, error) {
		p, ok := strings.CutPrefix(name, t.prefix)
		if !ok {
			return "", fmt.Errorf("%q: %w: it does not lie below %q", abbreviate(name), ErrUnsafe, t.prefix)
		}
		return p, nil
	}
	for _, d := range dirs {
		if d+"/" == t.prefix {
			continue
		}
		p, err := below(d)
		if err == nil {
			err = CheckPath(p)
		}
		if err != nil {
			return err
		}
	}
	var used Namer
	last := ""
	t.sorted = true
	for i, n := range names {
		p, err := below(n)
		if err != nil {
			return err
		}
		_, twice := t.index[p]
		switch {
		case p == MetaName || p == FilesName:
			if twice {
				return fmt.Errorf("%q: %w", p, ErrTaken)
			}
		default:
			if err := used.Reserve(p); err != nil {
				return err
			}
			t.sorted = t.sorted && last < p
			last = p
		}
		t.index[p] = tarEntry{i, infos[i]}
		t.order = append(t.order, p)
	}
	if _, ok := t.index[FilesName]; !ok {
		return fmt.Errorf("%w: it has no %s", ErrNotPHM, FilesName)
	}
	return nil
}

// tarName is a name as tar programs write it, without "./" in front of it and the slash that ends a
// directory's.
func tarName(name string) string {
	name = strings.TrimSuffix(name, "/")
	if name == "." {
		return ""
	}
	return strings.TrimPrefix(name, "./")
}

// Names returns the names of all files, in the order of the tar; the caller must not change them.
func (t *Tar) Names() []string { return t.order }

// Stat returns what the tar says of one file.
func (t *Tar) Stat(name string) (fs.FileInfo, error) {
	e, ok := t.index[name]
	if !ok {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return e.info, nil
}

// Open opens one file. One that lies before the last one that was opened makes the tar be read from its
// beginning.
func (t *Tar) Open(name string) (fs.File, error) {
	e, ok := t.index[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	own := name == MetaName || name == FilesName
	s := t.cursor
	if own || s == nil || s.at >= e.at {
		fresh, err := t.stream()
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		if !own {
			if s != nil {
				s.close()
			}
			t.cursor = fresh
		}
		s = fresh
	}
	err := s.skipTo(e.at, t.prefix+name)
	if err != nil {
		if own {
			s.close()
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &tarFile{
		stream: s,
		at:     e.at,
		info:   e.info,
		own:    own,
	}, nil
}

// tarFile is a file at the place that its stream has reached.
type tarFile struct {
	stream *tarStream
	at     int
	info   fs.FileInfo
	own    bool // the stream is for this file alone
}

var errPassed = errors.New("another file of the tar has been opened since")

func (f *tarFile) Read(p []byte) (int, error) {
	if f.stream.at != f.at || f.stream.tar == nil {
		return 0, errPassed
	}
	return f.stream.tar.Read(p)
}

func (f *tarFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *tarFile) Close() error {
	if f.own {
		f.stream.close()
	}
	return nil
}

// tarStream reads a tar from its beginning.
type tarStream struct {
	tar  *tar.Reader
	at   int // of the regular file that it has reached; -1 before the first
	free func()
}

func (t *Tar) stream() (*tarStream, error) {
	r, free, err := decompress(t.r, t.size)
	if err != nil {
		return nil, err
	}
	bounded := &boundedReader{r: r, left: max(ratioFrom, t.size*min(t.l.Ratio, (1<<62)/max(t.size, 1)))}
	return &tarStream{tar: tar.NewReader(bounded), at: -1, free: free}, nil
}

func (s *tarStream) close() {
	if s.tar != nil {
		s.tar = nil
		s.free()
	}
}

// next goes to the next file, directory, or what else a tar may hold; comments for the whole tar, as git
// makes them, are passed over.
func (s *tarStream) next() (*tar.Header, error) {
	for {
		h, err := s.tar.Next()
		switch {
		case err == io.EOF:
			return nil, err
		case errors.Is(err, ErrUnsafe):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		case h.Typeflag == tar.TypeXGlobalHeader:
			continue
		case h.Typeflag == tar.TypeReg:
			s.at++
		}
		return h, nil
	}
}

// skipTo skips to a later regular file.
func (s *tarStream) skipTo(at int, name string) error {
	for s.at < at {
		h, err := s.next()
		if err == io.EOF {
			err = fmt.Errorf("%w: the tar has changed", ErrDamaged)
		}
		if err != nil {
			return err
		}
		if s.at == at && h.Typeflag == tar.TypeReg && tarName(h.Name) != name {
			return fmt.Errorf("%w: the tar has changed", ErrDamaged)
		}
	}
	return nil
}

// inReach yields what tableOf yields in an order in which the files can be read without going back: that of
// the table unless fsys is a tar of another order.
func inReach(fsys fs.FS) iter.Seq2[*File, error] {
	t, ok := fsys.(*Tar)
	if !ok || t.sorted {
		return tableOf(fsys)
	}
	return func(yield func(*File, error) bool) {
		var files []*File
		for f, err := range tableOf(t) {
			if err == nil {
				files = append(files, f)
			} else if !yield(nil, err) {
				return
			}
		}
		slices.SortFunc(files, func(a, b *File) int { return cmp.Compare(t.index[a.Path].at, t.index[b.Path].at) })
		for _, f := range files {
			if !yield(f, nil) {
				return
			}
		}
	}
}

// compression is how a tar is packed.
type compression uint8

const (
	plainTar compression = iota
	zstdTar
	gzipTar
)

func compressionOf(head []byte) compression {
	switch {
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstdTar
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzipTar
	}
	return plainTar
}

// decompress returns the bytes of a tar, and what frees their reader.
func decompress(r io.ReaderAt, size int64) (io.Reader, func(), error) {
	var head [4]byte
	if _, err := r.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return nil, nil, err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 64<<10)
	switch compressionOf(head[:]) {
	case zstdTar:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return z, z.Close, nil
	case gzipTar:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return z, func() {}, nil
	}
	return in, func() {}, nil
}

// boundedReader fails with ErrUnsafe after so many bytes.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: it unpacks to too many bytes for its size", ErrUnsafe)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

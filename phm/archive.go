// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// ErrUnsafe says that an archive was refused for what it would do to the machine that unpacks it.
var ErrUnsafe = errors.New("unsafe archive")

// Limits bound what an archive may unpack to. The zero value has the defaults.
type Limits struct {
	Entries int   // default 2 Mi; each costs about 300 bytes of memory
	File    int64 // bytes of one file, default 1 TiB
	Total   int64 // bytes of all files, default 4 TiB
	// unpacked bytes to one packed byte, over the archive, judged above 64 MiB unpacked; default 200
	Ratio int64
}

const ratioFrom = 64 << 20

func (l Limits) withDefaults() Limits {
	def := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	if l.Entries <= 0 {
		l.Entries = 2 << 20
	}
	def(&l.File, 1<<40)
	def(&l.Total, 4<<40)
	def(&l.Ratio, 200)
	return l
}

// hold returns an error when the files of a mirror are too many or too large for an archive.
func (l Limits) hold(m *Meta) error {
	if m.Files > l.Entries-2 || m.Bytes > l.Total { // phm.json and phm.files are entries, too
		return fmt.Errorf("%w: %d files of %d bytes, an archive has at most %d of %d", ErrUnsafe, m.Files, m.Bytes,
			l.Entries-2, l.Total)
	}
	return nil
}

// An Archive is an opened archive form. It is an fs.FS of regular files: all that works on a directory works
// on it. Safe for concurrent use when its io.ReaderAt is.
type Archive struct {
	files map[string]*zip.File
	order []string // as they lie in the central directory
}

// OpenArchive opens the archive form and checks every name, type and size that the archive states, before a
// byte of a file is read. It fails with ErrUnsafe, ErrPath, ErrTaken or ErrNotPHM. It does not compare the
// files with the table: that is for Unpack and Verify.
func OpenArchive(r io.ReaderAt, size int64, l Limits) (*Archive, error) {
	l = l.withDefaults()
	// archive/zip reads the whole directory, however long it is: bound what it may read.
	budget := &budgetReader{r: r, left: 1<<20 + 256*int64(l.Entries)}
	z, err := zip.NewReader(budget, size)
	if errors.Is(err, errBudget) {
		return nil, fmt.Errorf("open archive: %w: %w", ErrUnsafe, err)
	}
	if err != nil {
		first := make([]byte, min(size, 20))
		if _, rerr := r.ReadAt(first, 0); rerr == nil && bytes.HasPrefix(first, []byte("PK\x03\x04")) {
			return nil,
				fmt.Errorf(
					"open archive: %w: %w: it begins as a ZIP file and has no readable end, so it was probably cut "+
						"short; get it again", ErrNotPHM, ErrDamaged)
		}
		return nil, fmt.Errorf("open archive: %w: it begins with %.20q: %w", ErrNotPHM, first, err)
	}
	budget.left = -1
	a := &Archive{files: make(map[string]*zip.File, len(z.File))}
	if len(z.File) > l.Entries {
		return nil, fmt.Errorf("open archive: %w: it has %d entries, over %d", ErrUnsafe, len(z.File), l.Entries)
	}
	names := NewNamer(Layout{}, len(z.File))
	var total uint64
	for _, f := range z.File {
		if err := checkEntry(f, l); err != nil {
			return nil, fmt.Errorf("open archive: %w", err)
		}
		if isDir(f) {
			continue
		}
		if f.Name == MetaName || f.Name == FilesName {
			if _, twice := a.files[f.Name]; twice {
				return nil, fmt.Errorf("open archive: %q: %w", f.Name, ErrTaken)
			}
		} else if err := names.Reserve(f.Name); err != nil {
			return nil, fmt.Errorf("open archive: %w", err)
		}
		total += f.UncompressedSize64 // no overflow: a file has at most 2^63 and the sum is bounded each time
		if total > uint64(l.Total) {
			return nil, fmt.Errorf("open archive: %w: it unpacks to more than %d bytes", ErrUnsafe, l.Total)
		}
		a.files[f.Name] = f
		a.order = append(a.order, f.Name)
	}
	if total > ratioFrom && total/uint64(l.Ratio) > uint64(size) {
		return nil, fmt.Errorf("open archive: %w: %d bytes unpack to %d, over %d to one", ErrUnsafe, size,
			total, l.Ratio)
	}
	if err := checkOverlap(z.File, size); err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	for _, name := range []string{MetaName, FilesName} {
		if a.files[name] == nil {
			return nil, fmt.Errorf("open archive: %w: it has no %s", ErrNotPHM, name)
		}
	}
	return a, nil
}

func isDir(f *zip.File) bool { return f.Name != "" && f.Name[len(f.Name)-1] == '/' }

// madeOnUnix reports whether names are as the file system has them: Info-ZIP marks none there, and CheckPath
// refuses names that are not UTF-8.
func madeOnUnix(f *zip.File) bool {
	const unix, darwin = 3, 19
	host := f.CreatorVersion >> 8
	return host == unix || host == darwin
}

func checkEntry(f *zip.File, l Limits) error {
	refuse := func(reason string) error {
		return fmt.Errorf("%q: %w: %s", abbreviate(f.Name), ErrUnsafe, reason)
	}
	name := f.Name
	if isDir(f) {
		name = name[:len(name)-1]
	}
	if isDir(f) || (name != MetaName && name != FilesName) {
		if err := CheckPath(name); err != nil {
			return err
		}
	}
	switch mode := f.Mode(); {
	case f.Flags&zipUTF8 == 0 && !isASCII(f.Name) && !madeOnUnix(f):
		// pure ASCII needs no mark, though archive/zip wants one for "~"
		return refuse("its name is not ASCII and not marked as UTF-8; unpack it and use the folder")
	case isDir(f) && (f.UncompressedSize64 != 0 || !mode.IsDir()):
		return refuse("a directory with a body")
	case !isDir(f) && !mode.IsRegular():
		return refuse("it is not a regular file but " + mode.Type().String())
	case f.Flags&1 != 0:
		return refuse("it is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return refuse(fmt.Sprintf("its method %d is neither stored nor deflated", f.Method))
	case f.UncompressedSize64 > uint64(l.File):
		return refuse(fmt.Sprintf("it unpacks to more than %d bytes", l.File))
	case f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
		return refuse("it is stored and has two sizes")
	case f.Method == zip.Deflate && f.UncompressedSize64/1032 > f.CompressedSize64: // the most that deflate can
		return refuse("it states more bytes than it can hold")
	}
	return nil
}

// checkOverlap refuses entries that share bytes, the trick by which a small archive holds endless files.
func checkOverlap(files []*zip.File, size int64) error {
	type span struct {
		start, end int64
		name       string
	}
	spans := make([]span, 0, len(files))
	for _, f := range files {
		start, err := f.DataOffset()
		if err != nil {
			return fmt.Errorf("%q: %w: %w", abbreviate(f.Name), ErrUnsafe, err)
		}
		if f.CompressedSize64 > uint64(size) || start > size-int64(f.CompressedSize64) {
			return fmt.Errorf("%q: %w: it ends after the archive", abbreviate(f.Name), ErrUnsafe)
		}
		spans = append(spans, span{start, start + int64(f.CompressedSize64), f.Name})
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; b.start < a.end || b.start == a.start {
			return fmt.Errorf("%q: %w: it overlaps %q", abbreviate(b.name), ErrUnsafe, abbreviate(a.name))
		}
	}
	return nil
}

// Open opens one file. Its reader fails when the bytes do not have the stated size or checksum.
func (a *Archive) Open(name string) (fs.File, error) {
	f := a.files[name]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	r, err := f.Open()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &archiveFile{r, f}, nil
}

// Stat returns what the archive says of one file.
func (a *Archive) Stat(name string) (fs.FileInfo, error) {
	f := a.files[name]
	if f == nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return f.FileInfo(), nil
}

// Names returns the names of all files, in the archive's order; the caller must not change them.
func (a *Archive) Names() []string { return a.order }

type archiveFile struct {
	io.ReadCloser
	f *zip.File
}

func (f *archiveFile) Stat() (fs.FileInfo, error) { return f.f.FileInfo(), nil }

var errBudget = errors.New("its directory is too long")

// budgetReader fails after so many bytes; a negative budget has no end. It is switched over before it is used
// concurrently.
type budgetReader struct {
	r    io.ReaderAt
	left int64
}

func (b *budgetReader) ReadAt(p []byte, off int64) (int, error) {
	if b.left >= 0 {
		if b.left -= int64(len(p)); b.left < 0 {
			b.left = 0
			return 0, errBudget
		}
	}
	return b.r.ReadAt(p, off)
}

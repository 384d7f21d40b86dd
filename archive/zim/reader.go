// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var (
	// ErrNotZIM says that a file does not begin as a ZIM file.
	ErrNotZIM = errors.New("not a ZIM file")
	// ErrDamaged says that a ZIM file is not what it says of itself.
	ErrDamaged = errors.New("damaged ZIM file")
	// ErrUnread says that a ZIM file has something that this package does not read.
	ErrUnread = errors.New("cannot read ZIM file")
)

// Reader finds entries of a ZIM file where they lie: it holds the MIME types and two clusters, however many
// entries there are. It is not safe for concurrent use.
type Reader struct {
	header // has where the pointers are, which are read where they are needed

	r     io.ReaderAt
	size  int64
	in    *bufio.Reader
	types []string
	cache [2]*cluster // those that were used last
}

// dirent is the directory entry of a ZIM file.
type dirent struct {
	path, title   string
	cluster, blob uint32 // blob is the index of the target when the MIME index says redirect
	mime          uint16
	namespace     byte
}

func damaged(at int64, format string, args ...any) error {
	return fmt.Errorf("%w: at byte %d: %s", ErrDamaged, at, fmt.Sprintf(format, args...))
}

// Open opens a ZIM file of version 5 or 6 that any program wrote. Its positions are checked where they are
// used.
func Open(r io.ReaderAt, size int64) (*Reader, error) {
	z, err := begin(r, size)
	if err != nil {
		return nil, err
	}
	if err := z.checkHeader(); err != nil {
		return nil, err
	}
	return z, z.readTypes()
}

// Each calls f for all entries, and checks their order.
func (z *Reader) Each(f func(Located) error) error {
	var before Located
	for i := range z.Len() {
		e, err := z.At(i)
		if err == nil && i > 0 && !less(&before.d, &e.d) {
			err = z.unsorted(i, &before.d, &e.d)
		}
		if err == nil {
			err = f(e)
		}
		if err != nil {
			return err
		}
		before = e
	}
	return nil
}

// begin reads the header.
func begin(r io.ReaderAt, size int64) (*Reader, error) {
	z := &Reader{r: r, size: size, in: bufio.NewReaderSize(nil, 512)}
	var head [headerSize]byte
	if n, err := r.ReadAt(head[:min(size, headerSize)], 0); err != nil && (err != io.EOF || n < headerSize) {
		return nil, fmt.Errorf("%w: %w", ErrNotZIM, err)
	}
	if err := binary.Read(bytes.NewReader(head[:]), binary.LittleEndian, &z.header); err != nil {
		return nil, err
	}
	if size < headerSize || z.Magic != magic {
		return nil, ErrNotZIM
	}
	if z.Major < 5 || z.Major > 6 {
		return nil, fmt.Errorf("%w: it has version %d.%d; versions 5 and 6 are read", ErrUnread, z.Major, z.Minor)
	}
	return z, nil
}

// checkHeader checks the positions of a header.
func (z *Reader) checkHeader() error {
	end := uint64(z.size)
	if end < headerSize+sumSize || z.Sum != end-sumSize {
		return damaged(72, "its MD5 should be at byte %d, and the file has %d bytes; it was "+
			"cut short, or is the first part of a split file: cat FILE.zim?? >FILE.zim joins the parts",
			z.Sum, z.size)
	}
	for _, p := range []struct {
		name    string
		at, n   uint64
		written int64
	}{
		{"path pointers", z.PathPtrs, 8 * uint64(z.Entries), 32},
		{"cluster pointers", z.ClusterPtrs, 8 * uint64(z.Clusters), 48},
		{"MIME list", z.Types, 1, 56},
	} {
		if p.at < headerSize || p.at > z.Sum || p.n > z.Sum-p.at {
			return damaged(p.written, "%s of %d bytes from byte %d do not fit into the file", p.name, p.n, p.at)
		}
	}
	return nil
}

const maxTypeList = 4 << 20 // bytes of all MIME types

func (z *Reader) readTypes() error {
	at := int64(z.Types)
	in := bufio.NewReader(io.NewSectionReader(z.r, at, min(int64(z.Sum)-at, maxTypeList)))
	for len(z.types) <= maxTypes {
		t, err := in.ReadString(0)
		if err != nil {
			return damaged(at, "the MIME list has no end")
		}
		if t == "\x00" {
			return nil
		}
		z.types = append(z.types, t[:len(t)-1])
	}
	return damaged(at, "the MIME list has more than %d types", maxTypes)
}

// maxNames bounds path and title of an entry together, in bytes.
const maxNames = 64 << 10

// checkDirent checks where an entry leads.
func (z *Reader) checkDirent(d *dirent, i int, at int64) error {
	switch {
	case d.mime == redirectType:
		if d.blob >= z.Entries {
			return damaged(at, "entry %d redirects to entry %d of %d", i, d.blob, z.Entries)
		}
	case d.mime > maxTypes: // deleted ones of old
	case int(d.mime) >= len(z.types):
		return damaged(at, "entry %d has type %d of %d", i, d.mime, len(z.types))
	case d.cluster >= z.Clusters:
		return damaged(at, "entry %d is in cluster %d of %d", i, d.cluster, z.Clusters)
	}
	return nil
}

func (z *Reader) unsorted(i int, before, d *dirent) error {
	return damaged(int64(z.PathPtrs)+8*int64(i), "entry %d, %c/%.200q, is not sorted behind %c/%.200q", i,
		d.namespace, d.path, before.namespace, before.path)
}

func less(a, b *dirent) bool {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.path, b.path)) < 0
}

// readDirent reads a dirent.
func readDirent(in *bufio.Reader) (d dirent, err error) {
	var fixed [16]byte
	if _, err := io.ReadFull(in, fixed[:12]); err != nil {
		return d, err
	}
	d.mime, d.namespace = binary.LittleEndian.Uint16(fixed[:]), fixed[3]
	if d.mime == redirectType {
		d.blob = binary.LittleEndian.Uint32(fixed[8:])
	} else {
		if _, err := io.ReadFull(in, fixed[12:]); err != nil {
			return d, err
		}
		d.cluster, d.blob = binary.LittleEndian.Uint32(fixed[8:]), binary.LittleEndian.Uint32(fixed[12:])
	}
	for _, s := range []*string{&d.path, &d.title} {
		var b []byte
		for {
			c, err := in.ReadByte()
			if err != nil {
				return d, err
			}
			if c == 0 {
				break
			}
			if b = append(b, c); len(b) > maxNames {
				return d, fmt.Errorf("a name has more than %d bytes", maxNames)
			}
		}
		*s = string(b)
	}
	if d.title == "" {
		d.title = d.path
	}
	return d, nil
}

func (z *Reader) entryOf(d *dirent) (e Entry, target int) {
	e = Entry{Namespace: d.namespace, Path: d.path, Title: d.title}
	switch {
	case d.mime == redirectType:
		return e, int(d.blob)
	case int(d.mime) < len(z.types):
		e.Type = z.types[d.mime]
	}
	return e, -1
}

// CheckSum reads the whole file and compares its MD5.
func (z *Reader) CheckSum() error {
	at := int64(z.Sum)
	got, err := sumOf(z.r, at)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	want := make([]byte, sumSize)
	if _, err := z.r.ReadAt(want, at); err != nil && err != io.EOF {
		return err
	}
	if !bytes.Equal(got, want) {
		return damaged(at, "the MD5 of the file is %x, not %x", got, want)
	}
	return nil
}

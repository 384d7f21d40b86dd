// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"time"

	"mirrord/archive/warc"
)

// Bounds of unpacked data: a record, and a member that holds many, may have leastBomb bytes and so many
// times what the file has.
const (
	leastBomb = 1 << 30
	bombRatio = 1100 // gzip's own end is 1032
)

// file is a file of records.
type file struct {
	name   string
	number int32
	r      io.ReaderAt
	size   int64
	packed *warc.Compression
	before int // records before the place from which it is read

	indexed  bool      // what its records are was read in an index
	modified time.Time // see RecordFile
}

// open adds a file.
func (a *Recordings) open(in RecordFile) (*file, error) {
	packed, err := warc.CompressionOf(io.NewSectionReader(in.R, 0, in.Size))
	if err != nil {
		return nil, err
	}
	f := &file{
		name:   in.Name,
		number: int32(len(a.files)),
		r:      in.R,
		size:   in.Size,
		packed: packed,

		modified: in.Modified,
	}
	a.files = append(a.files, f)
	return f, nil
}

// reader reads records from an offset on, which is that of a record or member. Offsets of records count from
// there.
func (f *file) reader(from, to int64) (*warc.Reader, error) {
	return f.packed.NewReader(io.NewSectionReader(f.r, from, to-from))
}

// record opens the record that is a part of the file. The caller closes the reader.
func (f *file) record(at, end int64) (*warc.Record, *warc.Reader, error) {
	r, err := f.reader(at, end)
	if err != nil {
		return nil, nil, err
	}
	rec, err := r.Next()
	if err != nil {
		r.Close()
	}
	return rec, r, err
}

// check reads all of the record to which a line of an index leads.
func (f *file) check(at, end int64) error {
	rec, r, err := f.record(at, end)
	if err == nil {
		defer r.Close()
		err = rec.Verify()
	}
	behind := int64(0)
	if err == nil {
		behind, err = r.End()
	}
	if err == nil && behind != end-at {
		err = fmt.Errorf("%w: no record follows its end", warc.ErrNotWARC)
	}
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*warc.RecordError](err); ok {
		err = e.Err
	}
	return &warc.RecordError{Offset: at, Err: err}
}

// unpack writes the records of the member at an offset, and of all that follow, to a file. It returns where
// that ended, and how many bytes were written, also with an error.
func (f *file) unpack(at int64, to io.Writer) (end, size int64, err error) {
	most := leastBomb + bombRatio*f.size
	size, read, err := f.packed.Unpack(&bounded{to, most}, io.NewSectionReader(f.r, at, f.size-at))
	return at + read, size, err
}

// bounded takes so many bytes and no more.
type bounded struct {
	w    io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errBomb
	}
	return b.w.Write(p)
}

// member returns a file of records in a ZIP: in place, or unpacked.
func (r *reading) member(in RecordFile, f *zip.File) (data RecordFile, err error) {
	data = RecordFile{Name: in.Name + ": " + f.Name, Modified: in.Modified}
	if f.Method == zip.Store {
		at, err := f.DataOffset()
		if err != nil {
			return data, err
		}
		data.R, data.Size = io.NewSectionReader(in.R, at, int64(f.UncompressedSize64)), int64(f.UncompressedSize64)
		return data, nil
	}
	if r.Scratch == nil {
		return data, errors.New("it is compressed as a whole")
	}
	to, err := r.Scratch()
	if err != nil {
		return data, err
	}
	z, err := f.Open()
	if err != nil {
		return data, err
	}
	most := leastBomb + bombRatio*in.Size
	data.R = to
	data.Size, err = io.Copy(to, io.LimitReader(z, most+1))
	if err == nil && data.Size > most {
		err = errBomb
	}
	return data, errors.Join(err, z.Close())
}

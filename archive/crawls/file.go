// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"archive/zip"
	"bytes"
	"errors"
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

// ahead is how many bytes of the beginning of a record show that it is one.
const ahead = 4 << 20

// mostTries is how many places of a damaged file are tried that only look like the beginning of a record.
const mostTries = 10_000

// resync finds the next record of a damaged file from an offset on; -1 for none.
func (f *file) resync(from int64) int64 {
	begins := f.packed.Begins()
	const window = 1 << 20
	tries := 0
	buf := make([]byte, window+8)
	for at := from; at < f.size; at += window {
		n, err := f.r.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return -1
		}
		part := buf[:n]
		for i := 0; i < min(n, window); i++ {
			j := bytes.Index(part[i:], begins)
			if j < 0 || i+j >= window {
				break
			}
			if i += j; f.isRecord(at + int64(i)) {
				return at + int64(i)
			}
			if tries++; tries == mostTries {
				return -1
			}
		}
	}
	return -1
}

// isRecord reports whether a record begins at an offset.
func (f *file) isRecord(at int64) bool {
	r, err := f.reader(at, min(f.size, at+ahead))
	if err != nil {
		return false
	}
	defer r.Close()
	_, err = r.Next()
	return err == nil
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

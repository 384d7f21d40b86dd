// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"mirrord/warc"
)

// Bounds of what is unpacked: a record, and a member that holds many, may have leastBomb bytes and so many
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
	dict   []byte // the frame of the dictionary with which a zstd file begins
	before int    // records before the place from which it is read
}

// The first bytes of what compresses records, see package warc.
const (
	gzipMagic = "\x1f\x8b\x08"
	zstdMagic = "\x28\xb5\x2f\xfd"
	dictMagic = "\x5d\x2a\x4d\x18"

	maxDictionary = 16 << 20
)

// open adds a file.
func (a *Recordings) open(in RecordFile) (*file, error) {
	f := &file{
		name:   in.Name,
		number: int32(len(a.files)),
		r:      in.R,
		size:   in.Size,
	}
	head := make([]byte, 8)
	n, err := in.R.ReadAt(head[:min(in.Size, 8)], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if n == 8 && string(head[:4]) == dictMagic {
		size := int64(binary.LittleEndian.Uint32(head[4:]))
		if size > min(maxDictionary, in.Size-8) {
			return nil, &warc.RecordError{Record: 1, Err: fmt.Errorf("%w: its dictionary", warc.ErrNotWARC)}
		}
		f.dict = make([]byte, 8+size)
		if _, err := in.R.ReadAt(f.dict, 0); err != nil && err != io.EOF {
			return nil, err
		}
	}
	a.files = append(a.files, f)
	return f, nil
}

// reader reads records from an offset on, which is that of a record or member. Offsets of records count from
// there.
func (f *file) reader(from, to int64) (*warc.Reader, error) {
	part := io.Reader(io.NewSectionReader(f.r, from, to-from))
	if f.dict != nil && from > 0 {
		part = io.MultiReader(bytes.NewReader(f.dict), part)
	}
	return warc.NewReader(part)
}

// ahead is how many bytes of the beginning of a record show that it is one.
const ahead = 4 << 20

// mostTries is how many places of a damaged file are tried that only look like the beginning of a record.
const mostTries = 10_000

// resync finds the next record of a damaged file from an offset on; -1 for none.
func (f *file) resync(from int64) int64 {
	begins := [][]byte{[]byte("WARC/")}
	head := make([]byte, 4)
	if _, err := f.r.ReadAt(head, 0); err == nil {
		switch {
		case bytes.HasPrefix(head, []byte(gzipMagic)):
			begins[0] = []byte(gzipMagic)
		case f.dict != nil, string(head) == zstdMagic:
			begins[0] = []byte(zstdMagic)
		}
	}
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
			j := bytes.Index(part[i:], begins[0])
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

// unpack writes the records of the member at an offset to a file; of a zstd file those of all that follow. It
// returns the offset behind it, and how many bytes were written, also with an error.
func (f *file) unpack(at int64, to io.Writer) (end, size int64, err error) {
	part := &countedReader{r: io.NewSectionReader(f.r, at, f.size-at)}
	b := bufio.NewReader(part)
	head, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return 0, 0, err
	}
	var from io.Reader
	if bytes.HasPrefix(head, []byte(gzipMagic)) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return 0, 0, err
		}
		z.Multistream(false)
		from = z
	} else {
		frames := io.Reader(b)
		if f.dict != nil && at > 0 {
			frames = io.MultiReader(bytes.NewReader(f.dict), b)
		}
		z, err := zstd.NewReader(frames, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return 0, 0, err
		}
		defer z.Close()
		from = z
	}
	most := leastBomb + bombRatio*f.size
	size, err = io.Copy(to, io.LimitReader(from, most+1))
	if err == nil && size > most {
		err = errBomb
	}
	return at + part.n - int64(b.Buffered()), size, err
}

// countedReader counts what was read.
type countedReader struct {
	r io.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// member returns a file of records that lies in a ZIP: where it lies, or unpacked.
func (r *reading) member(in RecordFile, f *zip.File) (data RecordFile, err error) {
	data = RecordFile{Name: in.Name + ": " + f.Name}
	if f.Method == zip.Store {
		at, err := f.DataOffset()
		if err != nil {
			return data, err
		}
		data.R, data.Size = io.NewSectionReader(in.R, at, int64(f.UncompressedSize64)), int64(f.UncompressedSize64)
		return data, nil
	}
	if r.o.Scratch == nil {
		return data, errors.New("it is compressed as a whole")
	}
	to, err := r.o.Scratch()
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

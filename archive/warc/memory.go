// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// Bounds of data unpacked in memory, in bytes. Memory up to keptMemory is used again.
const (
	mostMemory = 8 << 20
	keptMemory = 1 << 20
)

// Of a gzip member (RFC 1952 §2.3): the least that stands before the compressed data, and what follows them.
const (
	gzipHead = 10
	gzipTail = 8
)

// Memory holds one gzip member of a file and what it unpacks to. Callers that open many records reuse it.
type Memory struct {
	packed, plain []byte
	deflated      bytes.Reader
	inflate       io.ReadCloser // of deflated; a flate.Resetter
	file          bytes.Reader
	counted       counted
	buf           *bufio.Reader
	src           source
}

// NewMemory returns memory that holds nothing.
func NewMemory() *Memory { return &Memory{buf: bufio.NewReaderSize(nil, 4<<10)} }

// Shrink gives back what a large record needed.
func (m *Memory) Shrink() {
	if cap(m.packed) > keptMemory {
		m.packed = nil
	}
	if cap(m.plain) > keptMemory {
		m.plain = nil
	}
}

// room makes b so long; what it held is lost.
func room(b []byte, n int) []byte {
	if cap(b) < n {
		b = make([]byte, n, n+n/4)
	}
	return b[:n]
}

// reader returns a reader of what was unpacked, as a plain file in which it begins at an offset.
func (m *Memory) reader(plain []byte, at int64) *Reader {
	m.file.Reset(plain)
	m.counted = counted{r: &m.file, n: at}
	m.buf.Reset(&m.counted)
	m.src = source{
		kind: plainFile,
		read: &m.counted,
		buf:  m.buf,
		rec:  m.buf,
	}
	return &Reader{src: &m.src}
}

// load unpacks the member that is a part of a file; ok is false when it is too large for that, or not what it
// should be: a stream then reports the error.
func (m *Memory) load(file io.ReaderAt, at, end int64) (ok bool) {
	if end-at < gzipHead+gzipTail || end-at > mostMemory {
		return false
	}
	m.packed = room(m.packed, int(end-at))
	if _, err := file.ReadAt(m.packed, at); err != nil && err != io.EOF {
		return false
	}
	size := binary.LittleEndian.Uint32(m.packed[len(m.packed)-4:])
	if size > mostMemory {
		return false
	}
	head, ok := gzipHeader(m.packed)
	if !ok {
		return false
	}
	m.plain = room(m.plain, int(size)+1)
	n, used, err := m.unpack(m.packed[head:])
	m.plain = m.plain[:n]
	return err == io.EOF && n == int(size) && head+used+gzipTail == len(m.packed) && m.hasSum()
}

// unpack unpacks DEFLATE data at the beginning of b until plain is full, or to their end: then the error is
// io.EOF. It returns how many bytes it wrote, and how many of b it read.
func (m *Memory) unpack(b []byte) (n, used int, err error) {
	m.deflated.Reset(b)
	if m.inflate == nil {
		m.inflate = flate.NewReader(&m.deflated)
	} else {
		m.inflate.(flate.Resetter).Reset(&m.deflated, nil)
	}
	for n < len(m.plain) && err == nil {
		var k int
		k, err = m.inflate.Read(m.plain[n:])
		n += k
	}
	return n, len(b) - m.deflated.Len(), err
}

// hasSum reports whether what was unpacked has the sum that stands behind the packed.
func (m *Memory) hasSum() bool {
	sum := binary.LittleEndian.Uint32(m.packed[len(m.packed)-gzipTail:])
	return sum == crc32.ChecksumIEEE(m.plain)
}

// gzipHeader returns the length of the header with which a member begins; ok is false for other or too few
// bytes.
func gzipHeader(b []byte) (n int, ok bool) {
	if len(b) < gzipHead || b[0] != gzipMagic[0] || b[1] != gzipMagic[1] || b[2] != 8 || b[3]&0xe0 != 0 {
		return 0, false
	}
	flags := b[3]
	n = gzipHead
	if flags&4 != 0 { // extra field
		if len(b) < n+2 {
			return 0, false
		}
		n += 2 + int(binary.LittleEndian.Uint16(b[n:]))
	}
	for _, flag := range []byte{8, 16} { // name, comment
		if flags&flag != 0 && n < len(b) {
			i := bytes.IndexByte(b[n:], 0)
			if i < 0 {
				return 0, false
			}
			n += i + 1
		}
	}
	if flags&2 != 0 { // sum of the header
		n += 2
	}
	return n, n < len(b)
}

// OpenRecord returns the record in a part of a file, and its reader, which the caller closes. With
// check all of the record is read before, as [Record.Verify] does it. The record may lie in m, until m is
// used for another one; m may be nil.
func (p *Compression) OpenRecord(
	m *Memory, file io.ReaderAt, at, end int64, check bool,
) (*Record, *Reader, error) {
	if (p.kind == gzipFile) && m != nil && m.load(file, at, end) {
		return m.record(at, check)
	}
	open := func() (*Record, *Reader, error) {
		r, err := p.NewReader(io.NewSectionReader(file, at, end-at))
		if err != nil {
			return nil, nil, err
		}
		rec, err := r.Next()
		if err != nil {
			r.Close()
		}
		return rec, r, err
	}
	if check {
		rec, r, err := open()
		if err == nil {
			err = r.verify(rec)
			if err == nil && r.end != end-at {
				err = rec.fail(fmt.Errorf("%w: no record follows its end", ErrNotWARC))
			}
			r.Close()
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return open()
}

// verify reads a record to its end.
func (r *Reader) verify(rec *Record) error {
	if err := rec.Verify(); err != nil {
		return err
	}
	_, err := r.End()
	return err
}

// record returns the record that was unpacked.
func (m *Memory) record(at int64, check bool) (*Record, *Reader, error) {
	r := m.reader(m.plain, at)
	rec, err := r.Next()
	if err != nil || !check {
		return rec, r, err
	}
	done, err := rec.verifyIn(m.plain[r.src.offset()-at:])
	if done && err == nil {
		return rec, r, nil
	}
	if !done {
		r = m.reader(m.plain, at)
		if rec, err = r.Next(); err == nil {
			err = r.verify(rec)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	r = m.reader(m.plain, at)
	rec, err = r.Next()
	return rec, r, err
}

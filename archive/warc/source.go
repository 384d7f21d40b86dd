// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// source gives the bytes of records, and knows where compressed members begin. A member holds one record; a
// file of one member is read all the same.
type source struct {
	kind packing
	read *counted
	buf  *bufio.Reader // of the file
	rec  *bufio.Reader // of the records
	at   int64         // where the member began; of a plain file, where rec is

	odd    int          // records that do not end with two empty lines
	open   bool         // a member is being read
	within bool         // a record is being read
	member memberReader // what rec reads of members
	gz     *gzip.Reader
	zs     *zstd.Decoder
	frame  *frameReader
}

type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func newSource(r io.Reader) (*source, error) {
	s := &source{read: &counted{r: r}}
	s.buf = bufio.NewReaderSize(s.read, 64<<10)
	p, err := packingIn(s.buf)
	if err != nil {
		return nil, err
	}
	return s, s.start(p)
}

// start makes the source one of a file that is packed in a way.
func (s *source) start(p *Compression) (err error) {
	s.kind, s.rec = p.kind, s.buf
	if s.kind == plainFile {
		return nil
	}
	s.rec = bufio.NewReaderSize(nil, 64<<10)
	if s.kind == gzipFile {
		s.gz = new(gzip.Reader)
		return nil
	}
	s.frame = &frameReader{from: s.buf}
	options := []zstd.DOption{
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow),
	}
	if p.dict != nil {
		options = append(options, zstd.WithDecoderDicts(p.dict))
	}
	s.zs, err = zstd.NewReader(nil, options...)
	return err
}

func (s *source) close() {
	if s.zs != nil {
		s.zs.Close()
	}
}

// offset is where the reading of the file is.
func (s *source) offset() int64 { return s.read.n - int64(s.buf.Buffered()) }

// next makes the next record readable; fresh says that a member begins with it. Members that hold nothing,
// and frames that decoders skip, stand for no record. io.EOF: no more.
func (s *source) next() (fresh bool, err error) {
	if s.kind == plainFile {
		err := skip(s.buf, "\r\n\x00")
		s.at = s.offset()
		return true, err
	}
	fresh = !s.open // else there are several records in one
	return fresh, s.openMember("\r\n\x00")
}

// openMember begins a member that has more than some filler, unless one is being read.
func (s *source) openMember(filler string) error {
	for !s.open {
		err := skip(s.buf, "\x00") // padding
		s.at = s.offset()
		if err != nil {
			return err
		}
		if err := s.begin(); err != nil {
			return noEnd(err)
		}
		if err := skip(s.rec, filler); err != io.EOF {
			s.open = true
			return err
		}
	}
	return nil
}

func (s *source) begin() error {
	s.member = memberReader{s: s}
	s.rec.Reset(&s.member)
	return s.member.begin()
}

// memberReader reads a member; of a record that continues in the next ones, those, too.
type memberReader struct {
	s     *source
	from  io.Reader // its decompressor
	ahead []byte    // what was read to see what the next one begins with
	ended bool
}

// begin begins the next member.
func (m *memberReader) begin() error {
	s := m.s
	if s.kind == gzipFile {
		m.from = s.gz
		return s.nextGzip()
	}
	m.from = s.zs
	if err := s.frame.begin(); err != nil {
		return err
	}
	return s.zs.Reset(s.frame)
}

func (m *memberReader) Read(p []byte) (n int, err error) {
	for {
		if n = copy(p, m.ahead); n > 0 {
			m.ahead = m.ahead[n:]
			return n, nil
		}
		n, err = m.from.Read(p)
		switch {
		case n > 0:
			return n, nil // the end comes by itself
		case err != io.EOF || !m.s.within || m.ended:
			return n, err
		}
		if err := m.join(); err != nil {
			return 0, err
		}
	}
}

// join begins the next member, with which the record continues; io.EOF when none follows, or another record
// begins there.
func (m *memberReader) join() error {
	m.ended = true
	if _, err := m.s.buf.Peek(1); err != nil {
		return err
	}
	if err := m.begin(); err != nil {
		return noEnd(err)
	}
	head := make([]byte, len(recordBegin))
	n, err := io.ReadFull(m.from, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if string(head) == recordBegin {
		return io.EOF
	}
	m.ahead, m.ended = head[:n], false
	return nil
}

// recordBegin is what each record begins with.
const recordBegin = "WARC/"

// skip goes to the next byte that is not one of some: programs write more empty lines than two, and fill
// files and members with zeros.
func skip(b *bufio.Reader, filler string) error {
	for {
		next, err := b.Peek(1)
		if (err != nil) || strings.IndexByte(filler, next[0]) < 0 {
			return err
		}
		if _, err := b.Discard(1); err != nil {
			return err
		}
	}
}

// noEnd keeps an end inside of a member from counting as that of the file.
func noEnd(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *source) nextGzip() error {
	head, err := s.buf.Peek(2)
	if err != nil {
		return err
	}
	if string(head) != gzipMagic {
		return fmt.Errorf("%w: %x is no beginning of a gzip member", ErrNotWARC, head)
	}
	if err := s.gz.Reset(s.buf); err != nil {
		return err
	}
	s.gz.Multistream(false)
	return nil
}

// emptyLines reads what follows a block: two empty lines. Where fewer follow, the member or the file must
// end, or another record must begin; anything else says that the block is longer than its Content-Length.
func (s *source) emptyLines() error {
	for ends := 0; ends < 2; {
		next, err := s.rec.Peek(1)
		switch {
		case err == io.EOF:
			s.odd++
			return nil
		case err != nil:
			return err
		case next[0] == '\n':
			ends++
		case next[0] != '\r':
			head, _ := s.rec.Peek(len(recordBegin))
			if string(head) == recordBegin || len(bytes.Trim(head, "\x00")) == 0 {
				s.odd++
				return nil
			}
			return fmt.Errorf("%w: the block continues after it", ErrLength)
		}
		if _, err := s.rec.Discard(1); err != nil {
			return err
		}
	}
	return nil
}

// ended returns the offset behind a record. It ends the member when nothing follows in it.
func (s *source) ended() (int64, error) {
	if s.kind == plainFile {
		return s.offset(), nil
	}
	err := skip(s.rec, "\r\n\x00")
	if err == nil {
		return s.at, nil
	}
	if err != io.EOF {
		return 0, err
	}
	s.open = false
	return s.offset(), nil
}

// frameReader reads one zstd frame, to its last byte and no further: it follows the headers of the blocks
// (RFC 8878 §3.1.1), because the decoder reads on into the next frame.
type frameReader struct {
	from *bufio.Reader
	left int // bytes up to the next header of a block
	last bool
	sum  bool // a checksum ends the frame
	done bool
}

var errFrame = fmt.Errorf("%w: it is no zstd frame", ErrNotWARC)

// begin looks at the header of the next frame. Of one that is to be skipped (RFC 8878 §3.1.2) the decoder
// makes nothing.
func (f *frameReader) begin() error {
	head, err := f.from.Peek(5)
	if err != nil {
		return err
	}
	if head[0]&0xf0 == 0x50 && string(head[1:4]) == dictMagic[1:] {
		if head, err = f.from.Peek(8); err == nil {
			size := binary.LittleEndian.Uint32(head[4:])
			*f = frameReader{from: f.from, left: 8 + int(size), done: true}
		}
		return err
	}
	if string(head[:4]) != zstdMagic {
		return errFrame
	}
	d := head[4] // the frame header descriptor
	single := d&0x20 != 0
	n := 5 + []int{0, 1, 2, 4}[d&3] + []int{0, 2, 4, 8}[d>>6]
	if !single {
		n++
	} else if d>>6 == 0 {
		n++
	}
	*f = frameReader{from: f.from, left: n, sum: d&4 != 0}
	return nil
}

func (f *frameReader) Read(p []byte) (int, error) {
	for f.left == 0 {
		if f.done {
			return 0, io.EOF
		}
		if err := f.block(); err != nil {
			return 0, err
		}
	}
	n, err := f.from.Read(p[:min(len(p), f.left)])
	f.left -= n
	if err != nil {
		return n, noEnd(err)
	}
	return n, nil
}

// block finds the end of the next block.
func (f *frameReader) block() error {
	if f.last {
		f.done = true
		if f.sum {
			f.left = 4
		}
		return nil
	}
	b, err := f.from.Peek(3)
	if err != nil {
		return noEnd(err)
	}
	head := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	f.last = head&1 != 0
	switch size := head >> 3; head >> 1 & 3 {
	case 0, 2:
		f.left = 3 + size
	case 1: // one byte, repeated
		f.left = 4
	default:
		return errors.Join(errFrame, io.ErrUnexpectedEOF)
	}
	return nil
}

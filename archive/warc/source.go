// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

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

	open  bool // a member is being read
	gz    *gzip.Reader
	zs    *zstd.Decoder
	frame *frameReader
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

// member makes the next record readable; fresh says that a member begins with it. Members that hold nothing,
// and frames that decoders skip, stand for no record. io.EOF: no more.
func (s *source) member() (fresh bool, err error) {
	if s.kind == plainFile {
		return true, s.skipEmpty()
	}
	for !s.open { // else there are several records in one
		fresh, s.at = true, s.offset()
		if _, err := s.buf.Peek(1); err != nil {
			return false, err
		}
		if err := s.begin(); err != nil {
			return true, noEnd(err)
		}
		if _, err := s.rec.Peek(1); err != io.EOF {
			s.open = true
			return true, err
		}
	}
	return fresh, nil
}

func (s *source) begin() error {
	if s.kind == gzipFile {
		return s.nextGzip()
	}
	if err := s.frame.begin(); err != nil {
		return err
	}
	s.rec.Reset(s.zs)
	return s.zs.Reset(s.frame)
}

// skipEmpty goes to the next record of a plain file: some programs write more empty lines than two.
func (s *source) skipEmpty() error {
	for {
		s.at = s.offset()
		b, err := s.buf.Peek(1)
		if (err != nil) || (b[0] != '\r' && b[0] != '\n') {
			return err
		}
		if _, err := s.buf.Discard(1); err != nil {
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
	s.rec.Reset(s.gz)
	return nil
}

// emptyLines reads what follows a block: two empty lines. Where fewer follow, the member or the file must
// end; anything else says that the block is longer than its Content-Length.
func (s *source) emptyLines() error {
	for ends := 0; ends < 2; {
		c, err := s.rec.ReadByte()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case c == '\n':
			ends++
		case c != '\r':
			return fmt.Errorf("%w: the block continues after it", ErrLength)
		}
	}
	return nil
}

// ended returns the offset behind a record. It ends the member when nothing follows in it.
func (s *source) ended() (int64, error) {
	if s.kind == plainFile {
		return s.offset(), nil
	}
	_, err := s.rec.Peek(1)
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

// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// packing is how a file is compressed.
type packing uint8

const (
	plainFile packing = iota
	gzipFile
	zstdFile
)

// The first bytes of a gzip member and of a zstd frame (RFC 8878 §3.1.1), and of the frame in which a
// dictionary stands: https://iipc.github.io/warc-specifications/specifications/warc-zstd/.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	dictMagic = "\x5d\x2a\x4d\x18"

	maxDictionary = 16 << 20
	zstdWindow    = 128 << 20 // the largest that decompressors accept by default
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

// counted counts what was read.
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
	head, err := s.buf.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		s.kind, s.gz = gzipFile, new(gzip.Reader)
	case bytes.HasPrefix(head, []byte(zstdMagic)), bytes.HasPrefix(head, []byte(dictMagic)):
		s.kind, s.frame = zstdFile, &frameReader{from: s.buf}
		err = s.startZstd()
	default:
		s.rec, err = s.buf, nil
		return s, err
	}
	s.rec = bufio.NewReaderSize(nil, 64<<10)
	if err == io.EOF {
		err = nil
	}
	return s, err
}

func (s *source) close() {
	if s.zs != nil {
		s.zs.Close()
	}
}

// offset is where the reading of the file is.
func (s *source) offset() int64 { return s.read.n - int64(s.buf.Buffered()) }

// member makes the next record readable; fresh says that a member begins with it. io.EOF: there is none.
func (s *source) member() (fresh bool, err error) {
	if s.kind == plainFile {
		return true, s.skipEmpty()
	}
	if s.open { // several records in one
		return false, nil
	}
	s.at = s.offset()
	if _, err := s.buf.Peek(1); err != nil {
		return false, err
	}
	if s.kind == gzipFile {
		err = s.nextGzip()
	} else {
		err = s.frame.begin()
		if err == nil {
			err = s.zs.Reset(s.frame)
		}
		s.rec.Reset(s.zs)
	}
	s.open = err == nil
	return true, noEnd(err)
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

// noEnd keeps an end inside of a member from being taken for that of the file.
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
			return fmt.Errorf("%w: the block goes on behind it", ErrLength)
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

// startZstd makes the decoder, with the dictionary at the beginning of the file if there is one.
func (s *source) startZstd() error {
	options := []zstd.DOption{
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow),
	}
	dict, err := s.dictionary()
	if err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	if dict != nil {
		options = append(options, zstd.WithDecoderDicts(dict))
	}
	s.zs, err = zstd.NewReader(nil, options...)
	return err
}

// dictionary reads the frame that holds one, which may be compressed itself.
func (s *source) dictionary() ([]byte, error) {
	head, err := s.buf.Peek(8)
	if err != nil || string(head[:4]) != dictMagic {
		return nil, nil // a file that is too short fails later
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if n > maxDictionary {
		return nil, fmt.Errorf("%w: it has %d bytes, more than %d", ErrNotWARC, n, maxDictionary)
	}
	if _, err := s.buf.Discard(8); err != nil {
		return nil, err
	}
	dict := make([]byte, n)
	if _, err := io.ReadFull(s.buf, dict); err != nil {
		return nil, noEnd(err)
	}
	if !bytes.HasPrefix(dict, []byte(zstdMagic)) {
		return dict, nil
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDictionary))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return dec.DecodeAll(dict, nil)
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

// begin looks at the header of the next frame.
func (f *frameReader) begin() error {
	head, err := f.from.Peek(5)
	if err != nil {
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

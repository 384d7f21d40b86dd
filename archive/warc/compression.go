// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

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

func kindOf(head []byte) packing {
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		return gzipFile
	case bytes.HasPrefix(head, []byte(zstdMagic)), bytes.HasPrefix(head, []byte(dictMagic)):
		return zstdFile
	}
	return plainFile
}

// Compression is how the records of a file are compressed, for readers that begin in the middle of it. It is
// safe for concurrent use.
type Compression struct {
	kind packing
	dict []byte // the dictionary of a zstd file; nil: none
}

// CompressionOf finds out how a file is packed.
func CompressionOf(file io.Reader) (*Compression, error) {
	p, err := packingIn(bufio.NewReader(file))
	if err != nil {
		return nil, &RecordError{1, 0, err}
	}
	return p, nil
}

// packingIn reads how a file is packed that begins here, to the end of its dictionary.
func packingIn(b *bufio.Reader) (*Compression, error) {
	head, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	p := &Compression{kind: kindOf(head)}
	if p.kind != zstdFile {
		return p, nil
	}
	if p.dict, err = readDictionary(b); err != nil {
		return nil, fmt.Errorf("dictionary: %w", err)
	}
	return p, nil
}

// begins returns the bytes with which a record, or the member with it, begins.
func (p *Compression) begins() []byte {
	switch p.kind {
	case gzipFile:
		return []byte(gzipMagic + "\x08")
	case zstdFile:
		return []byte(zstdMagic)
	}
	return []byte(recordBegin)
}

// NewReader returns a reader of a part of the file, which begins with a record or a member. Offsets count
// from there.
func (p *Compression) NewReader(part io.Reader) (*Reader, error) {
	s, err := p.source(part)
	if err != nil {
		return nil, &RecordError{1, 0, err}
	}
	return &Reader{src: s}, nil
}

func (p *Compression) source(part io.Reader) (*source, error) {
	s := &source{read: &counted{r: part}}
	s.buf = bufio.NewReaderSize(s.read, 64<<10)
	if p.kind == zstdFile {
		if _, err := readDictionary(s.buf); err != nil { // with which the file begins
			return nil, err
		}
	}
	return s, s.start(p)
}

// Unpack writes what the members hold with which a part of the file begins, one after the other. It returns
// how many bytes it wrote and where the reading ended, also with an error.
func (p *Compression) Unpack(to io.Writer, part io.Reader) (written, at int64, err error) {
	s, err := p.source(part)
	if err != nil {
		return 0, 0, err
	}
	defer s.close()
	for {
		s.open = false
		if err := s.openMember(""); err == io.EOF {
			return written, s.offset(), nil
		} else if err != nil {
			return written, s.at, err
		}
		n, err := io.Copy(to, s.rec)
		written += n
		if err != nil {
			return written, s.offset(), err
		}
	}
}

// readDictionary reads the frame with which a file begins that holds a dictionary, which may be compressed
// itself; nil: none.
func readDictionary(b *bufio.Reader) ([]byte, error) {
	head, err := b.Peek(8)
	if err != nil || string(head[:4]) != dictMagic {
		return nil, nil // a file that is too short fails later
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if n > maxDictionary {
		return nil, fmt.Errorf("%w: it has %d bytes, more than %d", ErrNotWARC, n, maxDictionary)
	}
	if _, err := b.Discard(8); err != nil {
		return nil, err
	}
	dict := make([]byte, n)
	if _, err := io.ReadFull(b, dict); err != nil {
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

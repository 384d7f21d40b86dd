// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/zip"
	"bytes"
	"hash/crc32"
	"io"
	"strings"

	"github.com/klauspost/compress/flate"

	"mirrord/internal/inorder"
)

// zipPacker writes the archive form. Files of up to inMemory are read and compressed on their way.
type zipPacker struct {
	zip    *zip.Writer
	files  *inorder.Lane[*zipEntry]
	makers []zipMaker // by worker
	large  int        // level of deflate of the large file that is being written
	buf    []byte
}

// zipMaker is what a worker needs.
type zipMaker struct {
	deflaters [tableLevel + 1]*flate.Writer // by level
	raw       []byte
}

// zipEntry is an entry that is ready to be written.
type zipEntry struct {
	header *zip.FileHeader
	body   *bytes.Buffer
}

const (
	packAhead = 16 << 20  // bytes of files that are packed on their way
	keepUpTo  = 256 << 10 // bytes of a buffer that is used again
)

func newZipPacker(w io.Writer, crew inorder.Crew) *zipPacker {
	p := &zipPacker{zip: zip.NewWriter(w), buf: make([]byte, 64<<10)}
	p.files = inorder.New(crew, packAhead, p.write)
	p.makers = make([]zipMaker, p.files.Workers())
	p.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return newBoundedDeflate(w, p.large)
	})
	return p
}

// flush writes all that is on its way.
func (p *zipPacker) flush() error { return p.files.Flush() }

// Close ends the archive.
func (p *zipPacker) Close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.zip.Close()
}

// stop ends the workers, also after an error.
func (p *zipPacker) stop() { p.files.Close() }

// header begins the header of a file.
func (it item) header() *zip.FileHeader {
	h := &zip.FileHeader{Name: it.Path, Modified: it.Modified, UncompressedSize64: uint64(it.Size)}
	h.SetMode(0o644)
	return h
}

// add stores what does not shrink and deflates the rest. A stored entry always has its size and checksum in
// front, since readers of a stream cannot find its end otherwise; a large one is read twice for that.
func (p *zipPacker) add(it item) error {
	if it.Size <= inMemory {
		return p.files.Add(it.Size, func(worker int) (*zipEntry, error) { return p.make(&p.makers[worker], it) })
	}
	if err := p.flush(); err != nil {
		return err
	}
	h := it.header()
	if Compressible(it.Type, it.Path) {
		h.Method, p.large = zip.Deflate, levelOf(it)
		w, err := p.zip.CreateHeader(h)
		if err != nil {
			return err
		}
		return it.copyTo(w, p.buf)
	}
	sum := crc32.NewIEEE()
	if err := it.copyTo(sum, p.buf); err != nil {
		return err
	}
	h.CRC32 = sum.Sum32()
	w, err := p.createRaw(h, h.UncompressedSize64)
	if err != nil {
		return err
	}
	return it.copyTo(w, p.buf)
}

// levelOf is the level at which a file is packed.
func levelOf(it item) int {
	if it.Path == MetaName || it.Path == FilesName {
		return tableLevel
	}
	return packLevel
}

// make reads and compresses a file. It runs in a worker.
func (p *zipPacker) make(m *zipMaker, it item) (*zipEntry, error) {
	raw, err := it.read(m.raw)
	if err != nil {
		return nil, err
	}
	if m.raw = nil; cap(raw) <= keepUpTo {
		m.raw = raw
	}
	e := &zipEntry{header: it.header(), body: new(bytes.Buffer)}
	e.header.CRC32 = crc32.ChecksumIEEE(raw)
	if Compressible(it.Type, it.Path) && len(raw) > 0 {
		level := levelOf(it)
		if m.deflaters[level] == nil {
			if m.deflaters[level], err = flate.NewWriter(io.Discard, level); err != nil {
				return nil, err
			}
		}
		deflater := m.deflaters[level]
		deflater.Reset(e.body)
		if _, err := deflater.Write(raw); err != nil {
			return nil, err
		}
		if err := deflater.Close(); err != nil {
			return nil, err
		}
		if n := e.body.Len(); n < len(raw) && len(raw) <= packRatio*(n+zipHeaders) {
			e.header.Method = zip.Deflate
			return e, nil
		}
	}
	e.body.Reset()
	e.body.Write(raw)
	return e, nil
}

// write writes a file that a worker has made.
func (p *zipPacker) write(e *zipEntry, err error) error {
	if err != nil {
		return err
	}
	w, err := p.createRaw(e.header, uint64(e.body.Len()))
	if err != nil {
		return err
	}
	_, err = w.Write(e.body.Bytes())
	return err
}

// createRaw begins an entry whose sizes are known, with what CreateHeader would set.
func (p *zipPacker) createRaw(h *zip.FileHeader, compressed uint64) (io.Writer, error) {
	h.CompressedSize64 = compressed
	h.CreatorVersion = h.CreatorVersion&0xff00 | 20
	h.ReaderVersion = 20
	if marked(h.Name) {
		h.Flags |= zipUTF8
	}
	t := h.Modified
	//lint:ignore SA1019 CreateRaw writes this field as it stands and reads Modified not at all
	h.ModifiedDate = uint16(t.Day() + int(t.Month())<<5 + (t.Year()-1980)<<9)
	//lint:ignore SA1019 the same
	h.ModifiedTime = uint16(t.Second()/2 + t.Minute()<<5 + t.Hour()<<11)
	s := uint32(t.Unix())
	// extended timestamp
	h.Extra = []byte{0x55, 0x54, 5, 0, 1, byte(s), byte(s >> 8), byte(s >> 16), byte(s >> 24)}
	return p.zip.CreateRaw(h)
}

// zipHeaders is what an entry takes beside its body, in bytes, at least.
const zipHeaders = 30 + 46

// zipUTF8 is bit 11 of an entry's flags: its name is UTF-8.
const zipUTF8 = 0x800

// marked reports whether a mirror path needs zipUTF8: it has a character for which some code page has another
// one. archive/zip counts "~" among these, so that earlier releases refuse an archive without the mark.
func marked(path string) bool {
	return strings.ContainsFunc(path, func(r rune) bool { return r > '}' })
}

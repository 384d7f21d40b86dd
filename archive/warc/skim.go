// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
)

// Skimmer reads the records of a gzip file in order, as [Reader] does, but of a response that is a member of
// its own only the beginning: where the member ends shows in the length that gzip notes behind it, which must
// be that of the record, and in the next member. Such a record is Partial. Everything that is not as plain as
// that is read as a whole.
type Skimmer struct {
	packed *Compression
	file   io.ReaderAt
	size   int64
	at     int64 // of the next member

	window []byte // of the file
	from   int64  // where it begins
	memory *Memory

	stream *Reader // reads the member that is read as a whole
	now    *Reader // reads the record that is read
	end    int64   // of that record; of a stream it is not known before
	num    int
}

const (
	skimFirst  = 3 << 9  // bytes of a record that are unpacked: most heads end in them
	skimmed    = 4 << 10 // the same when the first ones are too few
	skimWindow = 4 << 20
	skimAhead  = 1 << 20 // bytes of it that are ahead at least
)

// NewSkimmer returns a skimmer of a part of a file, which begins with a member; nil when the file is not
// packed with gzip. Offsets count from the beginning of the part.
func (p *Compression) NewSkimmer(part io.ReaderAt, size int64) *Skimmer {
	if p.kind != gzipFile {
		return nil
	}
	return &Skimmer{
		packed: p,
		file:   part,
		size:   size,
		memory: NewMemory(),
	}
}

// Close gives the decompressor back.
func (s *Skimmer) Close() {
	if s.stream != nil {
		s.stream.Close()
	}
}

// Next returns the next record, io.EOF after the last one.
func (s *Skimmer) Next() (*Record, error) {
	if s.now != nil {
		if _, err := s.End(); err != nil {
			return nil, err
		}
	}
	if s.stream == nil {
		if s.at >= s.size {
			return nil, io.EOF
		}
		rec, err := s.skim()
		if rec != nil || err != nil {
			return rec, err
		}
		if s.stream, err = s.packed.NewReader(io.NewSectionReader(s.file, s.at, s.size-s.at)); err != nil {
			return nil, err
		}
		s.stream.num, s.stream.src.read.n = s.num, s.at
	}
	rec, err := s.stream.Next()
	if err != nil {
		return nil, err
	}
	s.now = s.stream
	s.num = rec.Number
	return rec, nil
}

// End finishes the record that is being read, and returns the offset behind it.
func (s *Skimmer) End() (int64, error) {
	r := s.now
	if r == nil {
		return s.at, nil
	}
	s.now = nil
	if r != s.stream {
		s.at = s.end
		return s.end, nil
	}
	end, err := r.End()
	if err != nil {
		return 0, err
	}
	if !r.src.open { // the member has ended
		r.Close()
		s.stream, s.at = nil, end
	}
	return end, nil
}

// skim returns the record of the next member if it can be told from its beginning; nil otherwise.
func (s *Skimmer) skim() (*Record, error) {
	if err := s.slide(); err != nil {
		return nil, err
	}
	b := s.window[s.at-s.from:]
	head, ok := gzipHeader(b)
	if !ok {
		return nil, nil
	}
	for _, size := range []int{skimFirst, skimmed} {
		if rec := s.begins(b, head, size); rec != nil {
			return rec, nil
		}
	}
	return nil, nil
}

// begins is skim of a member that lies at the beginning of b, behind a header; a number of bytes is unpacked.
func (s *Skimmer) begins(b []byte, head, size int) *Record {
	m := s.memory
	m.plain = room(m.plain, size)
	n, used, err := m.unpack(b[head:])
	whole := err == io.EOF
	if !whole && err != nil {
		return nil
	}
	m.plain = m.plain[:n]
	r := m.reader(m.plain, s.at)
	r.num = s.num
	rec, err := r.Next()
	if err != nil {
		return nil
	}
	begins := int64(r.src.offset() - s.at)
	length := begins + rec.Length + int64(len(recordEnd))
	if whole {
		m.packed = b[:min(head+used+gzipTail, len(b))]
		ok := length == int64(n) && bytes.HasSuffix(m.plain, []byte(recordEnd)) &&
			len(m.packed) == head+used+gzipTail && m.hasSum()
		s.end = s.at + int64(len(m.packed))
		m.packed = nil // the window's
		if !ok {
			return nil
		}
	} else {
		plain := rec.Type() == Response && strings.HasPrefix(rec.URL(), "http") &&
			bytes.Contains(m.plain[begins:], []byte(recordEnd))
		if !plain || length > mostMemory {
			return nil
		}
		if s.end = s.memberEnd(int64(head+used), uint32(length)); s.end < 0 {
			return nil
		}
		rec.Partial = true
	}
	s.now, s.num = r, rec.Number
	return rec
}

// recordEnd follows the block of a record, and ends an HTTP head.
const recordEnd = "\r\n\r\n"

// slide makes the window have what lies ahead.
func (s *Skimmer) slide() error {
	end := s.from + int64(len(s.window))
	if s.window != nil && s.at >= s.from && (end == s.size || end-s.at >= skimAhead) {
		return nil
	}
	s.window = room(s.window, int(min(skimWindow, s.size-s.at)))
	s.from = s.at
	_, err := s.file.ReadAt(s.window, s.at)
	if err == io.EOF {
		err = nil
	}
	return err
}

// memberEnd returns the offset behind the next member, which unpacks to a length and has at least so many
// bytes; -1 when it is not where the bytes of the next beginning are seen first, or at the end of the file.
func (s *Skimmer) memberEnd(least int64, length uint32) int64 {
	b := s.window[s.at-s.from:]
	begin := least + gzipTail
	if int64(len(b)) < begin {
		return -1
	}
	end := len(b)
	if i := bytes.Index(b[begin:], []byte(gzipMagic+"\x08")); i >= 0 {
		end = int(begin) + i
	} else if s.from+int64(len(s.window)) < s.size {
		return -1
	}
	if binary.LittleEndian.Uint32(b[end-4:]) != length {
		return -1
	}
	return s.at + int64(end)
}

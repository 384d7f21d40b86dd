// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/binary"
	"io"
)

// SeenFile is a file for the part of an index that does not fit in memory. It is empty in the beginning.
type SeenFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// seenInMemory is for how many places of an index the numbers of pages lie in memory: 150,000 pages, 4 MB.
const seenInMemory = 1 << 20

// seenNumbers are the numbers of the pages of an index, by place. They are twice as large as the parts of the
// keys, but looked at only where a part agrees: of a large index they lie in a file.
type seenNumbers struct {
	open func() (SeenFile, error) // nil: they lie in memory always
	list []uint32
	file SeenFile // in place of list
	one  [4]byte
}

// room allocates n of them. Earlier ones are void.
func (s *seenNumbers) room(n int) error {
	if s.file != nil {
		return nil
	}
	s.list = nil // gone before the new ones come
	if s.open == nil || n <= seenInMemory {
		s.list = make([]uint32, n)
		return nil
	}
	f, err := s.open()
	if err == nil {
		s.file = f
	}
	return err
}

// get returns one that was set.
func (s *seenNumbers) get(at int) (uint32, error) {
	if s.file == nil {
		return s.list[at], nil
	}
	_, err := s.file.ReadAt(s.one[:], int64(at)*int64(len(s.one)))
	return binary.LittleEndian.Uint32(s.one[:]), err
}

func (s *seenNumbers) set(at int, page uint32) error {
	if s.file == nil {
		s.list[at] = page
		return nil
	}
	binary.LittleEndian.PutUint32(s.one[:], page)
	_, err := s.file.WriteAt(s.one[:], int64(at)*int64(len(s.one)))
	return err
}

func (s *seenNumbers) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

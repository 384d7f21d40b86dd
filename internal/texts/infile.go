// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"encoding/binary"
	"errors"
	"io"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// File takes what a list does not keep in memory. *os.File is one.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// recentBlocks is how many blocks that were read from the file are remembered, some 300 bytes each.
const recentBlocks = 2048

// inFile is the part of a list that is in a file: its first chunks. No text is changed there, and what was
// read is held against a checksum.
type inFile struct {
	f      File
	chunks int      // that lie in it
	sums   []uint32 // of their blocks
	bad    atomic.Pointer[error]
	recent [recentBlocks]atomic.Pointer[recentBlock]
}

type recentBlock struct {
	n uint32
	b []byte
}

// UseFile lets the list have its texts in a file once they take more than so many bytes. The file is made
// then; Close closes it. When it cannot be made, or nothing can be written to it, the texts stay in memory.
func (t *List) UseFile(above int, open func() (File, error)) { t.above, t.open = above/textChunk, open }

// Close lets go of the file.
func (t *List) Close() error {
	if t.file == nil || t.file.f == nil {
		return nil
	}
	f := t.file.f
	t.file.f, t.open = nil, nil
	return f.Close()
}

// Err says why texts that lie in a file could not be read. What was returned in their place is nothing that
// was added.
func (t *List) Err() error {
	if t.file == nil {
		return nil
	}
	if err := t.file.bad.Load(); err != nil {
		return *err
	}
	return nil
}

// spill writes full chunks to the file. Without one they stay where they are.
func (t *List) spill() {
	if t.open == nil || len(t.chunks) <= t.above {
		return
	}
	if t.file == nil {
		f, err := t.open()
		if err != nil {
			t.open = nil
			return
		}
		t.file = &inFile{f: f}
	}
	for n := t.file.chunks; n < len(t.chunks); n++ {
		if _, err := t.file.f.WriteAt(t.chunks[n][:textChunk], int64(n)*textChunk); err != nil {
			t.open = nil
			return
		}
		for len(t.file.sums) < len(t.blocks) {
			from, to := t.extent(uint32(len(t.file.sums)))
			if from>>16 != uint32(n) {
				break
			}
			start := uint32(n) * textChunk
			t.file.sums = append(t.file.sums, sumOf(t.chunks[n][:textChunk][from-start:to-start]))
		}
		t.chunks[n] = nil
		t.file.chunks++
	}
}

// extent is where a block lies: in the file as in the chunks one after the other.
func (t *List) extent(n uint32) (from, to uint32) {
	from = t.blocks[n]
	if to = (from>>16 + 1) << 16; n+1 < uint32(len(t.blocks)) {
		to = t.blocks[n+1]
	}
	return from, to
}

func sumOf(b []byte) uint32 { return uint32(xxh3.Hash(b)) }

// recentOf returns a block of the file.
func (t *List) recentOf(n uint32) []byte {
	slot := &t.file.recent[n%recentBlocks]
	if r := slot.Load(); r != nil && r.n == n {
		return r.b
	}
	b, ok := t.read(nil, n)
	if ok {
		slot.Store(&recentBlock{n, b})
	}
	return b
}

var errSum = errors.New("a checksum is wrong")

// read reads a block from the file into dst, or returns another one.
func (t *List) read(dst []byte, n uint32) (b []byte, ok bool) {
	from, to := t.extent(n)
	if size := int(to - from); cap(dst) < size {
		dst = make([]byte, size)
	} else {
		dst = dst[:size]
	}
	_, err := t.file.f.ReadAt(dst, int64(from))
	if err == nil && sumOf(dst) != t.file.sums[n] {
		err = errSum
	}
	if err != nil {
		t.file.bad.CompareAndSwap(nil, &err)
		return unreadable(), false
	}
	return dst, true
}

// Unreadable stands for texts that cannot be read.
const Unreadable = "http://unreadable.invalid/"

// unreadable is a block of such texts.
func unreadable() []byte {
	b := binary.AppendUvarint([]byte{0}, uint64(len(Unreadable)*(textEnd+1)))
	b = append(b, Unreadable...)
	for range textBlock - 1 {
		b = append(b, byte(len(Unreadable)), 0)
	}
	return b
}

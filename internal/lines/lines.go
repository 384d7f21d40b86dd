// SPDX-License-Identifier: Apache-2.0

// Package lines gathers lines of text, or other records, in little memory, in order or to be sorted: those
// that do not fit go to a scratch file, and are merged when they are read.
package lines

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// Scratch is a private file: written from its beginning to its end, then read anywhere. Close
// gives its room back.
type Scratch interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Held is a good Limit.
const Held = 8 << 20

// Lines are those that were gathered. The zero value with Room and Limit is ready. It is for one goroutine.
type Lines struct {
	Room    func() (Scratch, error) // makes a scratch file
	Compare func(a, b []byte) int   // they come back in this order; nil: as they came
	Limit   int                     // bytes of lines and of what belongs to them that are kept in memory

	n    int
	mem  []byte
	ends []int // of the lines in mem
	file Scratch
	runs []int64 // where the parts of the file end
}

// Len is the number of lines.
func (l *Lines) Len() int { return l.n }

// beside is what a line takes in memory beside its bytes: its end, and its place while lines are sorted.
const beside = 8 + 24

// Add adds a line, which may have any bytes.
func (l *Lines) Add(line []byte) error {
	l.mem = append(l.mem, line...)
	l.ends = append(l.ends, len(l.mem))
	l.n++
	if len(l.mem)+beside*len(l.ends) < l.Limit {
		return nil
	}
	return l.shed()
}

// shed writes the lines in memory as one part.
func (l *Lines) shed() error {
	if l.file == nil {
		f, err := l.Room()
		if err != nil {
			return err
		}
		l.file = f
	}
	end := int64(0)
	if n := len(l.runs); n > 0 {
		end = l.runs[n-1]
	}
	w := bufio.NewWriter(l.file)
	var size []byte
	for _, line := range l.inMemory() {
		size = binary.AppendUvarint(size[:0], uint64(len(line)))
		if _, err := w.Write(size); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		end += int64(len(size) + len(line))
	}
	l.runs = append(l.runs, end)
	l.mem, l.ends = l.mem[:0], l.ends[:0]
	return w.Flush()
}

// inMemory returns the lines that are not in the file, in their order.
func (l *Lines) inMemory() [][]byte {
	all := make([][]byte, len(l.ends))
	from := 0
	for i, end := range l.ends {
		all[i] = l.mem[from:end]
		from = end
	}
	if l.Compare != nil {
		slices.SortFunc(all, l.Compare)
	}
	return all
}

// Each calls f for all lines. A line is valid during the call. Nothing is added afterwards.
func (l *Lines) Each(f func(line []byte) error) error {
	if l.file == nil {
		for _, line := range l.inMemory() {
			if err := f(line); err != nil {
				return err
			}
		}
		return nil
	}
	if err := l.shed(); err != nil {
		return err
	}
	m := merged{compare: l.Compare}
	from, room := int64(0), min(max(l.Limit/len(l.runs), 1<<10), 32<<10)
	for _, end := range l.runs {
		part := &run{
			r:    bufio.NewReaderSize(io.NewSectionReader(whole{l.file}, from, end-from), room),
			left: end - from,
		}
		from = end
		if more, err := part.next(); err != nil {
			return err
		} else if more {
			m.runs = append(m.runs, part)
		}
	}
	if m.compare != nil {
		heap.Init(&m)
	}
	return m.each(f)
}

// Close gives the room back.
func (l *Lines) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// run is a part of the file that is being read.
type run struct {
	r    *bufio.Reader
	left int64 // bytes
	line []byte
}

// next reads a line; lines have no bound.
func (r *run) next() (more bool, err error) {
	if r.left == 0 {
		return false, nil
	}
	n, err := binary.ReadUvarint(r.r)
	if err == nil && n < uint64(r.left) {
		r.left -= int64(len(binary.AppendUvarint(nil, n)) + int(n))
		r.line = slices.Grow(r.line[:0], int(n))[:n]
		_, err = io.ReadFull(r.r, r.line)
	} else if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return err == nil, err
}

// whole is a scratch file of which each read within it is whole.
type whole struct{ Scratch }

func (w whole) ReadAt(b []byte, off int64) (n int, err error) {
	n, err = w.Scratch.ReadAt(b, off)
	if n < len(b) && (err == nil || errors.Is(err, io.EOF)) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// merged is the parts that have lines left, as a heap by their next lines.
type merged struct {
	runs    []*run
	compare func(a, b []byte) int // nil: one part comes after the other
}

func (m *merged) Len() int           { return len(m.runs) }
func (m *merged) Less(i, j int) bool { return m.compare(m.runs[i].line, m.runs[j].line) < 0 }
func (m *merged) Swap(i, j int)      { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }
func (m *merged) Push(x any)         { m.runs = append(m.runs, x.(*run)) }

func (m *merged) Pop() any {
	last := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return last
}

func (m *merged) each(f func(line []byte) error) error {
	for len(m.runs) > 0 {
		first := m.runs[0]
		if err := f(first.line); err != nil {
			return err
		}
		more, err := first.next()
		switch {
		case err != nil:
			return err
		case !more && m.compare != nil:
			heap.Remove(m, 0)
		case !more:
			m.runs = m.runs[1:]
		case m.compare != nil:
			heap.Fix(m, 0)
		}
	}
	return nil
}

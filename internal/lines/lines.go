// SPDX-License-Identifier: Apache-2.0

// Package lines gathers lines of text in little memory, in order or to be sorted: what does not fit goes to a
// scratch file, and is merged when it is read.
package lines

import (
	"bufio"
	"bytes"
	"container/heap"
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
	Room   func() (Scratch, error) // makes a scratch file
	Sorted bool                    // they come back in ascending bytewise order
	Limit  int                     // bytes of lines and of what belongs to them that are kept in memory

	n    int
	mem  []byte
	ends []int // of the lines in mem
	file Scratch
	runs []int64 // where the parts of the file end
}

// Len is the number of lines.
func (l *Lines) Len() int { return l.n }

// Add adds a line, which ends in a line feed and has no other.
func (l *Lines) Add(line []byte) error {
	l.mem = append(l.mem, line...)
	l.ends = append(l.ends, len(l.mem))
	l.n++
	if len(l.mem)+16*len(l.ends) < l.Limit {
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
	for _, line := range l.inMemory() {
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	l.runs = append(l.runs, end+int64(len(l.mem)))
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
	if l.Sorted {
		slices.SortFunc(all, bytes.Compare)
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
	var m merged
	from := int64(0)
	for _, end := range l.runs {
		part := &run{r: bufio.NewReaderSize(io.NewSectionReader(l.file, from, end-from), 32<<10)}
		from = end
		if more, err := part.next(); err != nil {
			return err
		} else if more {
			m = append(m, part)
		}
	}
	if l.Sorted {
		heap.Init(&m)
	}
	return m.each(l.Sorted, f)
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
	line []byte
}

// next reads a line; lines have no bound.
func (r *run) next() (more bool, err error) {
	r.line = r.line[:0]
	for {
		part, err := r.r.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch err {
		case nil:
			return true, nil
		case bufio.ErrBufferFull:
		case io.EOF:
			return false, nil
		default:
			return false, err
		}
	}
}

// merged is the parts that have lines left, as a heap by their next lines.
type merged []*run

func (m merged) Len() int           { return len(m) }
func (m merged) Less(i, j int) bool { return bytes.Compare(m[i].line, m[j].line) < 0 }
func (m merged) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merged) Push(x any)        { *m = append(*m, x.(*run)) }

func (m *merged) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

func (m *merged) each(sorted bool, f func(line []byte) error) error {
	for len(*m) > 0 {
		first := (*m)[0]
		if err := f(first.line); err != nil {
			return err
		}
		more, err := first.next()
		switch {
		case err != nil:
			return err
		case !more && sorted:
			heap.Remove(m, 0)
		case !more:
			*m = (*m)[1:]
		case sorted:
			heap.Fix(m, 0)
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"slices"
)

// order says how records of one kind are sorted, measured, written and read.
type order[R any] struct {
	key     func(R) uint64         // what they are sorted by first
	compare func(a, b R) int       // all of it
	size    func(R) int            // bytes in memory
	write   func([]byte, R) []byte // appends it
	// the result may be valid until the next call for the same reader only. io.EOF at the end
	read    func(*bufio.Reader) (R, error)
	flushed func() // called when no added record is held; may be nil
}

// sorter is an external merge sort: records that are more than limit bytes are sorted piece by piece, written
// to one file and merged.
type sorter[R any] struct {
	order[R]
	spill Spill
	limit int
	tick  func(n int) error // receives the number of records read; an error ends it

	held   [][]R // all but the last are full
	n      int   // records in held
	bytes  int   // of them
	large  int   // bytes of the largest record that ever was
	sorted []R
	run    SpillFile
	pieces []piece // that are sorted, in run
}

const heldChunk = 1 << 10 // records of a piece of held

func (s *sorter[R]) add(r R) error {
	last := s.n / heldChunk
	if last == len(s.held) {
		s.held = append(s.held, make([]R, 0, heldChunk))
	}
	s.held[last] = append(s.held[last], r)
	s.n++
	size := s.size(r)
	s.large = max(s.large, size)
	if s.bytes += size; s.bytes >= s.limit {
		return s.flush()
	}
	return nil
}

// sort sorts the records in memory: first into parts by the first bits in which keys differ.
func (s *sorter[R]) sort() error {
	s.sorted = slices.Grow(s.sorted[:0], s.n)[:s.n]
	all, none := ^uint64(0), uint64(0)
	for _, chunk := range s.held {
		for i := range chunk {
			k := s.key(chunk[i])
			all, none = all&k, none|k
		}
	}
	differ := bits.Len64(all ^ none)
	width := min(differ, partBits, max(bits.Len(uint(s.n/64)), 1))
	shift, mask := differ-width, uint64(1)<<width-1
	var at [1<<partBits + 1]int
	for _, chunk := range s.held {
		for i := range chunk {
			at[s.key(chunk[i])>>shift&mask+1]++
		}
	}
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	for i, chunk := range s.held {
		for j := range chunk {
			p := &at[s.key(chunk[j])>>shift&mask]
			s.sorted[*p] = chunk[j]
			*p++
		}
		clear(chunk)
		s.held[i] = chunk[:0]
	}
	s.n, s.bytes = 0, 0
	from := 0
	for _, to := range at[:mask+1] {
		slices.SortFunc(s.sorted[from:to], s.compare)
		if err := s.tick(to - from); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// flush writes the records in memory as one more sorted piece.
func (s *sorter[R]) flush() error {
	if s.n == 0 {
		return nil
	}
	if err := s.sort(); err != nil {
		return err
	}
	if s.run == nil {
		run, err := s.spill.Create()
		if err != nil {
			return fmt.Errorf("sort on disk: %w", err)
		}
		s.run = run
	}
	w := pieceWriter[R]{sorter: s}
	for _, r := range s.sorted {
		if err := w.add(r); err != nil {
			return fmt.Errorf("sort on disk: %w", err)
		}
	}
	if err := w.end(); err != nil {
		return fmt.Errorf("sort on disk: %w", err)
	}
	clear(s.sorted)
	if s.flushed != nil {
		s.flushed()
	}
	return nil
}

// pieceWriter adds a sorted piece to a run.
type pieceWriter[R any] struct {
	*sorter[R]
	buf []byte
	n   int64 // bytes written
}

func (w *pieceWriter[R]) add(r R) error {
	const block = 64 << 10
	if w.buf == nil {
		w.buf = make([]byte, 0, min(block, w.limit)+1<<10)
	}
	if w.buf = w.write(w.buf, r); len(w.buf) < min(block, w.limit) {
		return nil
	}
	return w.flush()
}

func (w *pieceWriter[R]) flush() error {
	if err := writeRun(w.run, w.buf); err != nil {
		return err
	}
	n := len(w.buf)
	w.n, w.buf = w.n+int64(n), w.buf[:0]
	return w.tick(n / 16)
}

// end says that the piece is complete.
func (w *pieceWriter[R]) end() error {
	if err := w.flush(); err != nil {
		return err
	}
	from := int64(0)
	if n := len(w.pieces); n > 0 {
		from = w.pieces[n-1].to
	}
	w.pieces = append(w.pieces, piece{w.run, from, from + w.n})
	return nil
}

// settle makes room when there are pieces on disk already: the records in memory go there too.
func (s *sorter[R]) settle() error {
	if s.run == nil {
		return nil
	}
	err := s.flush()
	s.held, s.sorted = nil, nil
	return err
}

// all yields all records in order, once. It ends with the first error.
func (s *sorter[R]) all() iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var none R
		if err := s.settle(); err != nil {
			yield(none, err)
			return
		}
		if s.run == nil {
			if err := s.sort(); err != nil {
				yield(none, err)
				return
			}
			for i := range s.sorted {
				if !yield(s.sorted[i], nil) {
					return
				}
			}
			return
		}
		if err := s.mergeAll(yield); err != nil {
			yield(none, fmt.Errorf("sort on disk: %w", err))
		}
	}
}

// source is one sorted piece while it is merged.
type source[R any] struct {
	next R
	in   *bufio.Reader
}

const leastBuffer = 4 << 10 // bytes that a piece is read with

// mergeAll yields the records of all pieces. When they are more than can be read at a time, the first ones
// are made one before.
func (s *sorter[R]) mergeAll(yield func(R, error) bool) error {
	for most := max(s.limit/max(leastBuffer, s.large), 8); len(s.pieces) > most; {
		w, failed := pieceWriter[R]{sorter: s}, error(nil)
		err := s.merge(s.pieces[:most], func(r R, _ error) bool {
			failed = w.add(r)
			return failed == nil
		})
		if err == nil {
			err = failed
		}
		if err == nil {
			err = w.end()
		}
		if err != nil {
			return err
		}
		s.pieces = s.pieces[most:]
	}
	return s.merge(s.pieces, yield)
}

// merge yields the records of pieces, by a heap of their next ones.
func (s *sorter[R]) merge(pieces []piece, yield func(R, error) bool) error {
	heap := make([]*source[R], 0, len(pieces))
	buffer := min(max(s.limit/len(pieces), leastBuffer), 64<<10)
	for _, p := range pieces {
		src := &source[R]{in: bufio.NewReaderSize(&p, buffer)}
		var err error
		if src.next, err = s.read(src.in); err != nil {
			return err
		}
		heap = append(heap, src)
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		s.sink(heap, i)
	}
	for len(heap) > 0 {
		if !yield(heap[0].next, nil) {
			return nil
		}
		next, err := s.read(heap[0].in)
		switch {
		case errors.Is(err, io.EOF):
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		case err != nil:
			return err
		default:
			heap[0].next = next
		}
		s.sink(heap, 0)
	}
	return nil
}

func (s *sorter[R]) sink(heap []*source[R], i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && s.compare(heap[child+1].next, heap[child].next) < 0 {
			child++
		}
		if s.compare(heap[child].next, heap[i].next) >= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

func (s *sorter[R]) close() error {
	s.held, s.n, s.bytes, s.sorted, s.pieces = nil, 0, 0, nil, nil
	if s.run == nil {
		return nil
	}
	err := s.run.Close()
	s.run = nil
	return err
}

// piece reads from a place of a run to another. That the run ends before is an error.
type piece struct {
	run      SpillFile
	from, to int64
}

func (p *piece) Read(b []byte) (int, error) {
	if p.from == p.to {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), p.to-p.from)]
	if err := readRun(p.run, b, p.from); err != nil {
		return 0, err
	}
	p.from += int64(len(b))
	return len(b), nil
}

// take returns the next n bytes until the next call. io.EOF at the end, io.ErrUnexpectedEOF within a record.
func take(r *bufio.Reader, n int) ([]byte, error) {
	b, err := r.Peek(n)
	if errors.Is(err, bufio.ErrBufferFull) {
		b = make([]byte, n)
		_, err = io.ReadFull(r, b)
		return b, err
	}
	if err != nil {
		if len(b) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	_, err = r.Discard(n)
	return b, err
}

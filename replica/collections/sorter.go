// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// order says how records of one kind are sorted, measured, written and read.
type order[R any] struct {
	compare func(a, b R) int
	size    func(R) int // of a record in memory
	write   func([]byte, R) []byte
	read    func(*bufio.Reader) (R, error) // io.EOF at the end
}

// sorter is an external merge sort: records that are more than limit bytes are sorted piece by piece, written
// to one file and merged.
type sorter[R any] struct {
	order[R]
	limit int
	tick  func(n int) error

	held  []R
	bytes int // of these
	disk  pile
	ends  []int64 // of the sorted pieces on disk
}

func newSorter[R any](o order[R], spill Spill, limit int, tick func(int) error) sorter[R] {
	return sorter[R]{
		order: o,
		limit: limit,
		tick:  tick,
		disk:  pile{spill: spill, limit: min(limit, 64<<10)},
	}
}

func (s *sorter[R]) add(r R) error {
	s.held = append(s.held, r)
	if s.bytes += s.size(r); s.bytes >= s.limit {
		return s.flush()
	}
	return nil
}

// flush writes the records in memory as one more sorted piece.
func (s *sorter[R]) flush() error {
	if len(s.held) == 0 {
		return nil
	}
	slices.SortFunc(s.held, s.compare)
	var b []byte
	for _, r := range s.held {
		b = s.write(b[:0], r)
		if err := errors.Join(s.disk.add(b), s.tick(1)); err != nil {
			return err
		}
	}
	s.ends = append(s.ends, s.disk.len())
	clear(s.held)
	s.held, s.bytes = s.held[:0], 0
	return nil
}

// settle makes room when there are pieces on disk already: the records in memory go there too.
func (s *sorter[R]) settle() error {
	if len(s.ends) == 0 {
		return nil
	}
	err := errors.Join(s.flush(), s.disk.settle())
	s.held = nil
	return err
}

// all yields all records in order, once. It ends with the first error.
func (s *sorter[R]) all() iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		err := s.settle()
		if err == nil {
			slices.SortFunc(s.held, s.compare)
			err = s.tick(len(s.held))
		}
		for i := 0; err == nil && i < len(s.held); i++ {
			if !yield(s.held[i], nil) {
				return
			}
		}
		if err == nil && len(s.ends) > 0 {
			err = s.merge(yield)
		}
		if err != nil {
			yield(*new(R), fmt.Errorf("sort on disk: %w", err))
		}
	}
}

// source is one sorted piece while it is merged.
type source[R any] struct {
	next R
	in   *bufio.Reader
}

// merge yields the records of all pieces, which are kept in the order of their next ones.
func (s *sorter[R]) merge(yield func(R, error) bool) error {
	byNext := func(a, b source[R]) int { return s.compare(a.next, b.next) }
	var all []source[R]
	from := int64(0)
	for _, to := range s.ends {
		src := source[R]{in: s.disk.reader(from, to, min(max(s.limit/len(s.ends), 1<<10), 64<<10))}
		var err error
		if src.next, err = s.read(src.in); err != nil {
			return err
		}
		all, from = append(all, src), to
	}
	slices.SortFunc(all, byNext)
	for len(all) > 0 {
		src := all[0]
		if !yield(src.next, nil) {
			return nil
		}
		at := 0
		switch next, err := s.read(src.in); {
		case errors.Is(err, io.EOF):
			all = all[1:]
			continue
		case err != nil:
			return err
		default:
			src.next = next
		}
		at, _ = slices.BinarySearchFunc(all[1:], src, byNext)
		copy(all, all[1:at+1])
		all[at] = src
	}
	return nil
}

func (s *sorter[R]) close() error {
	s.held, s.bytes, s.ends = nil, 0, nil
	return s.disk.close()
}

// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"errors"
	"fmt"
	"iter"

	"mirrord/internal/lines"
)

// order says how records of one kind are sorted, written and read.
type order[R any] struct {
	compare func(a, b []byte) int
	write   func(b []byte, r R) []byte
	read    func(b []byte) R // may refer to b
}

// sorter sorts records, of which those that are more than limit bytes lie on the disk.
type sorter[R any] struct {
	order[R]
	lines lines.Lines
	tick  func(n int) error
	buf   []byte
}

func newSorter[R any](o order[R], spill Spill, limit int, tick func(int) error) sorter[R] {
	return sorter[R]{
		order: o,
		lines: lines.Lines{Room: spill.Create, Compare: o.compare, Limit: limit},
		tick:  tick,
	}
}

func (s *sorter[R]) add(r R) error {
	s.buf = s.write(s.buf[:0], r)
	return sortError(errors.Join(s.lines.Add(s.buf), s.tick(1)))
}

// all yields all records in order, once, each until the next one. It ends with the first error.
func (s *sorter[R]) all() iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		enough := errors.New("no more")
		err := s.lines.Each(func(b []byte) error {
			if err := s.tick(1); err != nil {
				return err
			}
			if !yield(s.read(b), nil) {
				return enough
			}
			return nil
		})
		if err != nil && err != enough {
			yield(*new(R), sortError(err))
		}
	}
}

func sortError(err error) error {
	if err != nil {
		err = fmt.Errorf("sort on disk: %w", err)
	}
	return err
}

func (s *sorter[R]) close() error {
	err := s.lines.Close()
	s.lines = lines.Lines{}
	return err
}

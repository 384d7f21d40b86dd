// SPDX-License-Identifier: Apache-2.0

// Package numbered keeps something of numbers that are mostly small.
package numbered

import "iter"

// Values maps numbers to values; the zero value of T stands for none. They never move, so they take no extra
// memory while they grow: space for each number up to the largest where numbers are close together, and less
// where they lie far apart. The zero Values are empty. They are safe for concurrent use without a concurrent
// Put.
type Values[T comparable] struct{ parts []*[partNumbers]T }

// partNumbers is how many numbers have their memory together: few, so that those that lie apart take little.
const partNumbers = 64

// Of returns the value of a number.
func (l *Values[T]) Of(id uint32) (v T) {
	if i := id / partNumbers; i < uint32(len(l.parts)) && l.parts[i] != nil {
		return l.parts[i][id%partNumbers]
	}
	return v
}

// Put keeps something of a number.
func (l *Values[T]) Put(id uint32, v T) {
	i := int(id / partNumbers)
	if i >= len(l.parts) {
		l.parts = append(l.parts, make([]*[partNumbers]T, i+1-len(l.parts))...)
	}
	if l.parts[i] == nil {
		l.parts[i] = new([partNumbers]T)
	}
	l.parts[i][id%partNumbers] = v
}

// All iterates over the values, by the numbers.
func (l *Values[T]) All() iter.Seq2[uint32, T] {
	return func(yield func(uint32, T) bool) {
		var none T
		for i, part := range l.parts {
			if part == nil {
				continue
			}
			for k, v := range part {
				if v != none && !yield(uint32(i*partNumbers+k), v) {
					return
				}
			}
		}
	}
}

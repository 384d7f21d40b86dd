// SPDX-License-Identifier: Apache-2.0

package publish

import "iter"

// byNumber keeps something of the numbers of URLs; the zero value of T says that there is nothing.
type byNumber[T comparable] struct{ parts []*[partNumbers]T }

// partNumbers is how many numbers have their memory together: few, so that those that lie apart take little.
const partNumbers = 64

// of returns what is kept of a number.
func (b *byNumber[T]) of(id uint32) (v T) {
	if i := id / partNumbers; i < uint32(len(b.parts)) && b.parts[i] != nil {
		return b.parts[i][id%partNumbers]
	}
	return v
}

// put keeps something of a number.
func (b *byNumber[T]) put(id uint32, v T) {
	i := int(id / partNumbers)
	for len(b.parts) <= i {
		b.parts = append(b.parts, nil)
	}
	if b.parts[i] == nil {
		b.parts[i] = new([partNumbers]T)
	}
	b.parts[i][id%partNumbers] = v
}

// all returns what is kept, by the numbers.
func (b *byNumber[T]) all() iter.Seq2[uint32, T] {
	return func(yield func(uint32, T) bool) {
		var none T
		for i, part := range b.parts {
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

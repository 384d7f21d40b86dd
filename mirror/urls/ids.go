// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"iter"
	"math/bits"
)

// IDSet is a set of URL numbers, as bits. The zero value is empty.
type IDSet []uint64

// Put adds a number, or removes it when in is false.
func (s *IDSet) Put(id uint32, in bool) {
	for int(id/64) >= len(*s) {
		if !in {
			return
		}
		*s = append(*s, 0)
	}
	if (*s)[id/64] &^= 1 << (id % 64); in {
		(*s)[id/64] |= 1 << (id % 64)
	}
}

// Has reports whether a number is in the set.
func (s IDSet) Has(id uint32) bool { return int(id/64) < len(s) && s[id/64]&(1<<(id%64)) != 0 }

// All yields the numbers in ascending order.
func (s IDSet) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(uint32(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package hashset has a set of 64-bit hashes that takes half of the memory of a map. With internal/texts it
// takes 60 to 90 bytes less of memory for each URL of a run than strings and a map.
package hashset

import "math/bits"

// Hashes is a set of 64-bit hashes, none of them zero: open addressing at eight bytes a slot. The zero value
// is empty. It is not safe for concurrent use.
type Hashes struct {
	slots []uint64 // a power of two of them; zero is free
	n     int
}

// New returns an empty set with capacity for n hashes.
func New(n int) Hashes {
	return Hashes{slots: make([]uint64, 1<<max(4, bits.Len(uint(n+n/3))))}
}

// Has reports whether a hash is in the set.
func (s *Hashes) Has(h uint64) bool {
	return len(s.slots) > 0 && s.slots[s.find(h)] == h
}

// find returns the slot of h, or the free one where it belongs.
func (s *Hashes) find(h uint64) int {
	mask := len(s.slots) - 1
	i := int(h>>32) & mask
	for s.slots[i] != 0 && s.slots[i] != h {
		i = (i + 1) & mask
	}
	return i
}

// Add adds a hash.
func (s *Hashes) Add(h uint64) {
	if 4*(s.n+1) > 3*len(s.slots) {
		old := s.slots
		s.slots = make([]uint64, max(16, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				s.slots[s.find(o)] = o
			}
		}
	}
	if i := s.find(h); s.slots[i] == 0 {
		s.slots[i] = h
		s.n++
	}
}

// SPDX-License-Identifier: Apache-2.0

package phm

import "math/bits"

// hashSet is a set of 64-bit hashes, none of them zero: open addressing at eight bytes a slot, half of what a
// map takes.
type hashSet struct {
	slots []uint64 // a power of two of them; zero is free
	n     int
}

func newHashSet(n int) hashSet {
	return hashSet{slots: make([]uint64, 1<<max(4, bits.Len(uint(n+n/3))))}
}

func (s *hashSet) has(h uint64) bool {
	return len(s.slots) > 0 && s.slots[s.find(h)] == h
}

// find returns the slot of h, or the free one where it belongs.
func (s *hashSet) find(h uint64) int {
	mask := len(s.slots) - 1
	i := int(h>>32) & mask
	for s.slots[i] != 0 && s.slots[i] != h {
		i = (i + 1) & mask
	}
	return i
}

func (s *hashSet) add(h uint64) {
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

// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"encoding/binary"

	"mirrord/replica/hash"
)

// pathHash is the fast hash by which paths of a host are distinguished, and leaves sampled: 64 bits, never 0,
// of 16 bytes at a time (after wyhash by Wang Yi). It is the same in every process, so that inventories can
// be merged.
func pathHash(b []byte) uint64 {
	h := uint64(len(b)) * hash.TokenSeed
	for ; len(b) > 16; b = b[16:] {
		h = hash.Mum(binary.LittleEndian.Uint64(b)^hash.RollPrime, binary.LittleEndian.Uint64(b[8:])^h)
	}
	var lo, hi uint64
	switch n := len(b); {
	case n >= 8:
		lo, hi = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		lo, hi = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		lo = uint64(b[0])<<16 | uint64(b[n/2])<<8 | uint64(b[n-1])
	}
	h = hash.Mum(hash.TokenPrime^lo, hi^h)
	return max(1, hash.Mum(h^hash.TextPrime, hash.TokenPrime))
}

// hashSet is a set of hashes other than 0: a table that is looked through from the place that the hash says,
// at most three quarters full. It takes 11 to 22 bytes a hash. The zero value is an empty set.
type hashSet struct {
	slots []uint64 // a power of two of them; 0 is free
	n     int
}

// add puts a hash in; false when it was there.
func (s *hashSet) add(h uint64) bool {
	if 4*(s.n+1) > 3*len(s.slots) {
		s.grow(max(16, 2*len(s.slots)))
	}
	if !s.put(h) {
		return false
	}
	s.n++
	return true
}

func (s *hashSet) put(h uint64) bool {
	mask := uint64(len(s.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		switch s.slots[at] {
		case 0:
			s.slots[at] = h
			return true
		case h:
			return false
		}
	}
}

func (s *hashSet) grow(size int) {
	old := s.slots
	s.slots = make([]uint64, size)
	for _, h := range old {
		if h != 0 {
			s.put(h)
		}
	}
}

// tally counts how often each number other than 0 came, in a table like that of hashSet: 16 to 32 bytes a
// number.
type tally struct {
	keys   []uint64
	counts []uint32
	n      int
}

func (t *tally) add(key uint64) {
	if 4*(t.n+1) > 3*len(t.keys) {
		old, counts := t.keys, t.counts
		size := max(1024, 2*len(old))
		t.keys, t.counts = make([]uint64, size), make([]uint32, size)
		for i, k := range old {
			if k != 0 {
				at := t.at(k)
				t.keys[at], t.counts[at] = k, counts[i]
			}
		}
	}
	at := t.at(key)
	if t.keys[at] == 0 {
		t.keys[at] = key
		t.n++
	}
	t.counts[at]++
}

// at is where a number is, or would be.
func (t *tally) at(key uint64) int {
	mask := uint64(len(t.keys) - 1)
	at := t.home(key)
	for t.keys[at] != 0 && t.keys[at] != key {
		at = (at + 1) & mask
	}
	return int(at)
}

// home is where a number is looked for first. It is of two numbers of hosts: all bits of both count.
func (t *tally) home(key uint64) uint64 { return hash.Mum(key, hash.TokenSeed) & uint64(len(t.keys)-1) }

// SPDX-License-Identifier: Apache-2.0

// Package unionfind has partitions of numbers: which pages, or which trivial clusters, belong together.
package unionfind

import "iter"

// Sets is a partition of the numbers 0 … n-1 (union-find). A set goes by its smallest number. Not for
// concurrent use. 4 bytes a number.
type Sets struct{ parent []uint32 }

// New returns n sets of one.
func New(n int) *Sets {
	s := &Sets{parent: make([]uint32, n)}
	for i := range s.parent {
		s.parent[i] = uint32(i)
	}
	return s
}

// Len is how many numbers there are.
func (s *Sets) Len() int { return len(s.parent) }

// Find returns the smallest number of the set of x.
func (s *Sets) Find(x uint32) uint32 {
	for s.parent[x] != x {
		s.parent[x] = s.parent[s.parent[x]]
		x = s.parent[x]
	}
	return x
}

// Union joins the sets of x and y.
func (s *Sets) Union(x, y uint32) {
	x, y = s.Find(x), s.Find(y)
	s.parent[max(x, y)] = min(x, y)
}

// All yields every set of at least least members, by its smallest number, with its members in ascending
// order. The slice is the caller's.
func (s *Sets) All(least int) iter.Seq2[uint32, []uint32] {
	return func(yield func(uint32, []uint32) bool) {
		n := len(s.parent)
		start := make([]uint32, n+1)
		for i := range n {
			start[s.Find(uint32(i))+1]++
		}
		for i := range n {
			start[i+1] += start[i]
		}
		members, at := make([]uint32, n), start
		for i := range n {
			root := s.Find(uint32(i))
			members[at[root]] = uint32(i)
			at[root]++
		}
		from := uint32(0) // at[root] is now the end of its members
		for i := range n {
			to := at[i]
			if set := members[from:to:to]; len(set) > 0 && len(set) >= least && !yield(uint32(i), set) {
				return
			}
			from = to
		}
	}
}

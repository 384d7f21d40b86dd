// SPDX-License-Identifier: Apache-2.0

package record

import (
	"iter"
	"math"
	"slices"
	"sort"
)

// Span is a run of URL numbers, both ends included.
type Span struct{ First, Last uint32 }

// IDs is a set of URL numbers, as ascending spans that do not touch.
type IDs []Span

// Add adds a number that is larger than all in the set.
func (s *IDs) Add(id uint32) {
	if n := len(*s); n > 0 && id > 0 && (*s)[n-1].Last == id-1 {
		(*s)[n-1].Last = id
		return
	}
	*s = append(*s, Span{id, id})
}

// Len is how many numbers the set has.
func (s IDs) Len() (n int) {
	for _, x := range s {
		n += int(x.Last-x.First) + 1
	}
	return n
}

// Has reports whether the set has a number.
func (s IDs) Has(id uint32) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].Last >= id })
	return i < len(s) && s[i].First <= id
}

// All yields the numbers, ascending.
func (s IDs) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, x := range s {
			for id := x.First; ; id++ {
				if !yield(id) {
					return
				}
				if id == x.Last {
					break
				}
			}
		}
	}
}

// code is the number of spans, and for each the gap to the one before and, for a span of several numbers, its
// length: a gap of up to 63 to a single number is one byte, of up to 8191 two.
func (s *IDs) code(c *coder) {
	n, next := len(*s), uint64(0)
	if numbers(c, &n); c.reads {
		if n < 0 || n > len(c.Rest) {
			c.Fail()
			return
		}
		if *s = nil; n > 0 {
			*s = make(IDs, n)
		}
	}
	for i := range *s {
		x := &(*s)[i]
		length := uint64(x.Last - x.First)
		gap := withBit(uint64(x.First)-next, length > 0)
		if numbers(c, &gap); gap&1 != 0 {
			numbers(c, &length)
		}
		first := next + gap>>1
		next = first + length + 1
		if !c.reads {
			continue
		}
		if c.Bad || first > math.MaxUint32 || length > math.MaxUint32-first {
			c.Fail()
			*s = nil
			return
		}
		*x = Span{uint32(first), uint32(first + length)}
	}
}

func (s IDs) union(o IDs) IDs {
	out := make(IDs, 0, len(s)+len(o))
	for len(s) > 0 || len(o) > 0 {
		if len(s) == 0 || (len(o) > 0 && o[0].First < s[0].First) {
			s, o = o, s
		}
		x := s[0]
		s = s[1:]
		if n := len(out); n > 0 && uint64(x.First) <= uint64(out[n-1].Last)+1 {
			out[n-1].Last = max(out[n-1].Last, x.Last)
			continue
		}
		out = append(out, x)
	}
	return out
}

// SetOf makes a set of numbers in any order.
func SetOf(ids ...uint32) (s IDs) {
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		s.Add(id)
	}
	return s
}

// Bits is a set of URL numbers in a bit each.
type Bits []uint64

func (b Bits) Has(id uint32) bool { return int(id>>6) < len(b) && b[id>>6]&(1<<(id&63)) != 0 }

func (b *Bits) Add(id uint32) {
	if need := int(id>>6) + 1; need > len(*b) {
		*b = append(*b, make([]uint64, need-len(*b))...)
	}
	(*b)[id>>6] |= 1 << (id & 63)
}

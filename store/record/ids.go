// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"mirrord/internal/binread"
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
	for lo, hi := 0, len(s); lo < hi; {
		switch m := (lo + hi) / 2; {
		case id < s[m].First:
			hi = m
		case id > s[m].Last:
			lo = m + 1
		default:
			return true
		}
	}
	return false
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

// append writes the number of spans, and for each the gap to the one before and, for a span of several
// numbers, its length: a gap of up to 63 to a single number is one byte, of up to 8191 two.
func (s IDs) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	next := uint64(0)
	for _, x := range s {
		gap := (uint64(x.First) - next) << 1
		if x.Last > x.First {
			gap |= 1
		}
		b = binary.AppendUvarint(b, gap)
		if x.Last > x.First {
			b = binary.AppendUvarint(b, uint64(x.Last-x.First))
		}
		next = uint64(x.Last) + 1
	}
	return b
}

// readIDs reads what append wrote.
func readIDs(d *binread.Reader) (s IDs) {
	n := d.Uvarint()
	if n > uint64(len(d.Rest)) {
		d.Fail()
		return nil
	}
	next := uint64(0)
	for ; n > 0 && !d.Bad; n-- {
		gap := d.Uvarint()
		first := next + gap>>1
		last := first
		if gap&1 != 0 {
			last += d.Uvarint()
		}
		if first > math.MaxUint32 || last > math.MaxUint32 || last < first {
			d.Bad = true
			return nil
		}
		s = append(s, Span{uint32(first), uint32(last)})
		next = last + 1
	}
	return s
}

// union returns the numbers of both sets.
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

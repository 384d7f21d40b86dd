// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"math/bits"
	"slices"
)

// bucketer finds the buckets of a band: the pages whose sketches agree in it. The keys of all pages are gone
// through twice: they are counted by their first bits, and put where those of the same first bits lie
// together. Such a group fits in a cache, and there unique keys are dropped, which are most, before the
// others are sorted. When there are more pages than may be held, ranges of keys are taken one after the
// other.
type bucketer struct {
	limit int    // entries held at a time
	pages bitmap // who takes part
	// takes entries in order (key in the upper half, page in the lower), all pages of a key in one call
	emit  func(sorted []uint64) error
	large func(sorted []uint64) error // takes those of a key that has more than limit pages, in several calls

	entries, spare []uint64
	seen           []uint8
	parents        []uint32
}

// column yields the keys of successive pages, from page 0.
type column func(visit func(from int, keys []uint32) error) error

const (
	partBits  = 11      // the first bits of keys that are distinguished at once, at most
	partSize  = 2048    // entries of a part that are wished for
	spareSize = 1 << 16 // entries that are sorted with as much again
	seenBits  = 16      // entries of the table of keys that were seen, as a power of two
)

// band goes through the buckets of a band.
func (b *bucketer) band(keys column, n int) error { return b.split(keys, 0, 0, n) }

// split goes through the n keys whose first known bits are prefix.
func (b *bucketer) split(keys column, prefix uint32, known, n int) error {
	width := min(max(bits.Len(uint(n/min(partSize, max(b.limit, 1)))), 1), partBits, 32-known)
	shift := 32 - known - width
	count, pages := make([]int, 1<<width), b.pages
	err := keys(func(from int, keys []uint32) error {
		for i, k := range keys {
			if uint64(k)>>(32-known) == uint64(prefix) && pages.has(from+i) {
				count[k>>shift&(1<<width-1)]++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	first := int(prefix) << width // the part that count begins with
	for lo := 0; lo < len(count); {
		hi, sum := lo, 0
		for ; hi < len(count) && sum+count[hi] <= b.limit; hi++ {
			sum += count[hi]
		}
		var err error
		switch {
		case hi > lo:
			err = b.parts(keys, count[lo:hi], first+lo, shift, sum)
		case shift > 0:
			err, hi = b.split(keys, uint32(first+lo), known+width, count[lo]), lo+1
		default:
			err, hi = b.single(keys, uint32(first+lo)), lo+1
		}
		if err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// parts takes those of the given sizes, the first of which holds the keys that begin with first.
func (b *bucketer) parts(keys column, size []int, first, shift, n int) error {
	b.entries = slices.Grow(b.entries[:0], n)[:n]
	at := make([]int, len(size))
	for i, sum := 1, size[0]; i < len(size); i++ {
		at[i], sum = sum, sum+size[i]
	}
	entries, pages := b.entries, b.pages
	err := keys(func(from int, keys []uint32) error {
		for i, k := range keys {
			if part := uint(k>>shift) - uint(first); part < uint(len(at)) && pages.has(from+i) {
				entries[at[part]] = uint64(k)<<32 | uint64(from+i)
				at[part]++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	from := 0
	for _, to := range at {
		if to-from > 1 {
			if err := b.emit(b.sort(b.repeated(entries[from:to]), shift)); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// single gives the pages of one key, in pieces.
func (b *bucketer) single(keys column, key uint32) error {
	b.entries = b.entries[:0]
	flush := func() error {
		err := b.large(b.entries)
		b.entries = b.entries[:0]
		return err
	}
	err := keys(func(from int, keys []uint32) error {
		for i, k := range keys {
			if k == key && b.pages.has(from+i) {
				b.entries = append(b.entries, uint64(k)<<32|uint64(from+i))
			}
		}
		if len(b.entries) >= b.limit {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// repeated leaves out of a part most of the keys that are there once. The order stays.
func (b *bucketer) repeated(part []uint64) []uint64 {
	width := min(bits.Len(uint(len(part)))+3, seenBits)
	if b.seen == nil {
		b.seen = make([]uint8, 1<<seenBits)
	}
	seen := b.seen[:1<<width]
	clear(seen)
	place := func(e uint64) uint32 { return uint32(e>>32) * 0x9e3779b1 >> (32 - width) }
	for _, e := range part {
		p := &seen[place(e)]
		*p = *p<<1 | 1
	}
	n := 0
	for _, e := range part {
		part[n] = e
		n += int(seen[place(e)] >> 1 & 1)
	}
	return part[:n]
}

// sort sorts entries whose keys agree in all but their last free bits. They come in the order of their pages.
func (b *bucketer) sort(part []uint64, free int) []uint64 {
	if len(part) < 128 || len(part) > spareSize {
		slices.Sort(part)
		return part
	}
	if b.spare == nil {
		b.spare = make([]uint64, spareSize)
	}
	from, to := part, b.spare[:len(part)]
	for shift := 32; shift < 32+free; shift += 8 {
		var at [256]uint32
		for _, e := range from {
			at[e>>shift&0xff]++
		}
		sum := uint32(0)
		for i, n := range at {
			at[i], sum = sum, sum+n
		}
		for _, e := range from {
			p := &at[e>>shift&0xff]
			to[*p] = e
			*p++
		}
		from, to = to, from
	}
	return from
}

// bitmap is a set of numbers.
type bitmap []uint64

func newBitmap(n int) bitmap { return make(bitmap, (n+63)/64) }

func (b bitmap) has(i int) bool { return b[uint(i)/64]>>(uint(i)%64)&1 != 0 }
func (b bitmap) add(i int)      { b[uint(i)/64] |= 1 << (uint(i) % 64) }

// sortHigh sorts entries by their upper halves and keeps the order of equal ones: a radix sort. Either slice
// is the result, the other is overwritten.
func sortHigh(entries, spare []uint64) []uint64 {
	const bits, mask = 11, 1<<11 - 1
	if len(entries) < 1024 {
		slices.SortStableFunc(entries, func(a, b uint64) int { return cmp.Compare(a>>32, b>>32) })
		return entries
	}
	var count [3][mask + 1]uint32
	for _, e := range entries {
		count[0][e>>32&mask]++
		count[1][e>>(32+bits)&mask]++
		count[2][e>>(32+2*bits)]++
	}
	from, to := entries, spare[:len(entries)]
	for pass := range count {
		at := uint32(0)
		for i, n := range count[pass] {
			count[pass][i], at = at, at+n
		}
		shift := 32 + pass*bits
		for _, e := range from {
			place := &count[pass][e>>shift&mask]
			to[*place] = e
			*place++
		}
		from, to = to, from
	}
	return from
}

// SPDX-License-Identifier: Apache-2.0

package zstdfast

import "math/bits"

const (
	// log2 of the entries of the table. 128 KiB, which second-level caches hold, are for ordinary frames, and
	// 512 KiB for those of more than largeFrame bytes: those of an export become 7 % smaller.
	hashBits      = 15
	largeHashBits = 17
	largeFrame    = 4 << 20

	prime = 0x9e3779b185ebca87 // odd, with its bits well mixed

	minMatch  = 3  // what the format subtracts from the length of a match (RFC 8878 3.1.1.3.2.1.1)
	margin    = 24 // bytes at the end of the input where no match begins: the search reads words behind it
	copyWords = 16 // bytes that literals are copied in

	// Bytes behind a match that may differ from those in the dictionary before the last offset is forgotten.
	// Of deltas of pages 8 saved 6 % of the bytes, and more of them nothing.
	mostChanged = 8

	// The step of the search grows by one for each 1<<hurry bytes without a match.
	hurry = 7
)

// hash returns the place in a table of the lower 7 bytes of v; shift is 64 less the bits of the table.
func hash(v uint64, shift uint8) uint32 {
	return uint32((v<<8*prime)>>(shift&63)) & (1<<largeHashBits - 1) // the mask changes nothing but the check
}

// seq is a sequence (RFC 8878 3.1.1.3.2.1): literals, then a match.
type seq struct {
	lit    uint32 // bytes
	match  uint32 // bytes, less minMatch
	offset uint32 // 1 for the last offset, or for the last but one after no literals; else the offset plus 3

	litCode, matchCode, offsetCode uint8 // see Encoder.code
}

// search finds matches for src[begin:end] in what lies before, and sets seqs and literals of the block.
//
// Source: the strategy "fast" of zstd, lib/compress/zstd_fast.c in its repository. Here one step looks at two
// positions, and a last offset is looked for only where a match ends: the table has it too, and a third place
// to look at took 4 % of the time for frames of the same size. An entry of the table that was not set says
// position 0, which is as good a candidate as others.
//
// What makes the reads without checks sound (see load64): s never passes len(src)-margin before a match is
// looked for, and each entry of the table, and each s less an offset, is a position before s. The first
// offsets may lead to before src, which is looked at.
func (e *Encoder) search(src []byte, begin, end int) {
	table, seqs, lits := &e.table, e.seqs[:], e.literals[:]
	nlits, n := 0, 0
	o1, o2, base, shift := e.offsets[0], e.offsets[1], e.base, e.shift
	anchor := begin // up to where all is in seqs and literals
	s := max(begin, 1)
	last := min(end-8, len(src)-margin)
	for s < last {
		v := load64(src, s)
		h0, h1 := hash(v, shift), hash(v>>8, shift)
		c0, c1 := int(table[h0]), int(table[h1])
		table[h0], table[h1] = uint32(s), uint32(s+1)
		from := s
		var t int // what matches s
		switch {
		case uint32(v) == load32(src, c0) && s-c0 <= maxWindow:
			t = c0
		case uint32(v>>8) == load32(src, c1) && s+1-c1 <= maxWindow:
			t = c1
			s++
		default:
			s += 2 + (s-anchor)>>hurry
			continue
		}
		at, to := s, t
		for at > anchor && to > 0 && src[at-1] == src[to-1] {
			at--
			to--
		}
		offset := uint32(1)
		if s-t != o1 || at == anchor {
			o2 = o1
			o1 = s - t
			offset = uint32(o1) + 3
		}
	match:
		s += 4
		t += 4
		for {
			if x := load64(src, s) ^ load64(src, t); x != 0 {
				s += bits.TrailingZeros64(x) >> 3
				break
			}
			s += 8
			t += 8
			if s > last {
				s += sameAfter(src, s, t, end)
				break
			}
		}
		s = min(s, end)
		k := at - anchor
		if k <= copyWords {
			store64(lits, nlits, load64(src, anchor))
			store64(lits, nlits+8, load64(src, anchor+8))
		} else {
			copy(lits[nlits:], src[anchor:at])
		}
		nlits += k
		q := &seqs[n]
		q.lit, q.match, q.offset = uint32(k), uint32(s-at-minMatch), offset
		n++
		anchor = s
		if s >= last {
			break
		}
		table[hash(load64(src, from+2), shift)] = uint32(from + 2)
		table[hash(load64(src, s-2), shift)] = uint32(s - 2)
		if v = load64(src, s); o2 <= s && uint32(v) == load32(src, s-o2) {
			table[hash(v, shift)] = uint32(s)
			o1, o2 = o2, o1
			from, at, t, offset = s, s, s-o1, 1
			goto match
		}
		if s-o1 < base { // what differs is often as long as the bytes at its place in the dictionary
			for to := min(s+mostChanged, last); s < to; s++ {
				if load32(src, s) == load32(src, s-o1) {
					from, at, t, offset = s, s, s-o1, 1
					goto match
				}
			}
			s = anchor
		}
	}
	nlits += copy(lits[nlits:], src[anchor:end])
	e.nseqs, e.nlits = n, nlits
	e.offsets = [2]int{o1, o2}
}

// index puts up to half as many positions before base into the table as it has places. The search looks at
// each position until it has found nothing for a while, so repetitions are found when they are longer than
// the step by the bytes of a hash.
func (e *Encoder) index(src []byte, base int) {
	step := 1 + base>>(63-e.shift)
	for s := 0; s < min(base, len(src)-margin); s += step {
		e.table[hash(load64(src, s), e.shift)] = uint32(s)
	}
}

// sameAfter returns how many bytes from s on, before end, are those from t on, which lies before s.
func sameAfter(src []byte, s, t, end int) int {
	n := 0
	for s+n+8 <= end {
		if x := load64(src, s+n) ^ load64(src, t+n); x != 0 {
			return n + bits.TrailingZeros64(x)>>3
		}
		n += 8
	}
	for s+n < end && src[s+n] == src[t+n] {
		n++
	}
	return n
}

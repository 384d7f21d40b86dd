// SPDX-License-Identifier: Apache-2.0

package zstdfast

import "math/bits"

const (
	maxStates  = 512 // of a table, see coder.maxLog
	maxSymbols = 64  // of a table; 53 are used
	minLog     = 5   // log2 of the states of a table at least (RFC 8878 4.1.1)

	unable = 1 << 30 // cost of symbols with a table that cannot encode them: more than any other
)

// states is a table of Finite State Entropy (RFC 8878 4.1) as an encoder uses it. A symbol has as many of the
// states as it comes often, and takes log2(all states / its states) bits on average.
type states struct {
	log     int               // log2 of the number of states
	used    int               // symbols that share has
	share   [maxSymbols]int16 // states of a symbol; -1 for one of a symbol that comes less often
	symbols [maxSymbols]symbol
	next    [maxStates]uint16 // state by symbol and by the remainder of the state before
}

// symbol says how a symbol is written in a state.
type symbol struct {
	bits  uint32 // the upper half of the sum of this and the state is how many bits of the state go out
	next  int16  // the sum of this and of the remainder of the state is a place in states.next
	extra uint8  // bits that follow the code
}

// begin returns the state that the symbol which is written first, and read last, begins with.
func (t *states) begin(code uint8) uint64 {
	s := &t.symbols[code]
	n := (s.bits + 1<<15) >> 16
	return uint64(t.next[int32((n<<16-s.bits)>>n)+int32(s.next)])
}

// cost returns how many bits the codes of symbols take that come so often.
func (t *states) cost(counts []uint32) int {
	if len(counts) > t.used {
		return unable
	}
	sum := 0
	for i, c := range counts {
		switch p := int(t.share[i]); {
		case c == 0:
		case p == 0:
			return unable
		default:
			sum += int(c) * symbolCost(t.log, max(p, 1))
		}
	}
	return sum >> 8
}

// symbolCost returns what a symbol with p of 1<<log states takes, in 1/256 of a bit: log - log2(p), where the
// logarithm is a parabola between powers of two.
func symbolCost(log, p int) int {
	whole := bits.Len(uint(p)) - 1
	part := p<<8>>whole - 256
	return (log-whole)<<8 - part - part*(256-part)*88>>16
}

// distribute sets the shares of at least two symbols by their counts, of which total is the sum.
func (t *states) distribute(counts []uint32, total, maxLog int) {
	// As the reference does: fewer states for little data, but enough for all symbols.
	log := min(maxLog, bits.Len(uint(total-1))-3)
	log = max(log, min(bits.Len(uint(total)), bits.Len(uint(len(counts)-1))+1))
	log = min(max(log, minLog), maxLog)
	t.log, t.used = log, len(counts)
	left, largest := 1<<log, 0
	for i, c := range counts {
		switch n := int(c) << log; {
		case c == 0:
			t.share[i] = 0
		case n <= total:
			t.share[i] = -1
			left--
		default:
			p := (2*n + total) / (2 * total)
			t.share[i] = int16(p)
			left -= p
		}
		if c > counts[largest] {
			largest = i
		}
	}
	for left < 0 { // a quarter of the largest share at a time
		at := 0
		for i, p := range t.share[:t.used] {
			if p > t.share[at] {
				at = i
			}
		}
		n := min(-left, max(int(t.share[at])/4, 1))
		t.share[at] -= int16(n)
		left += n
	}
	if left > 0 {
		t.share[largest] = max(t.share[largest], 1) + int16(left)
	}
}

// build makes symbols and next of the shares (RFC 8878 4.1.1).
func (t *states) build(extra *[maxSymbols]uint8) {
	size := 1 << t.log
	var order [maxStates]uint8             // symbol by state
	var place [maxSymbols + 1]uint16       // where the states of a symbol begin in next
	shares, high := t.share[:t.used], size // from high on there are symbols with -1
	for i, p := range shares {
		if p < 0 {
			high--
			order[high] = uint8(i)
			p = 1
		}
		place[i+1] = place[i] + uint16(p)
	}
	at, step := 0, size>>1+size>>3+3
	for i, p := range shares {
		for range p {
			order[at] = uint8(i)
			for at = (at + step) % size; at >= high; {
				at = (at + step) % size
			}
		}
	}
	for i, p := range shares {
		s := symbol{extra: extra[i], next: int16(place[i]) - max(p, 1)}
		most := t.log // bits that go out at most
		if p > 1 {
			most -= bits.Len(uint(p-1)) - 1
		}
		s.bits = uint32(most<<16 - max(int(p), 1)<<most)
		t.symbols[i] = s
	}
	for at, i := range order[:size] {
		t.next[place[i]] = uint16(size + at)
		place[i]++
	}
}

// single makes the table of one symbol, which takes no bits.
func (t *states) single(code int, extra uint8) {
	t.log, t.used = 0, 0
	t.symbols[code] = symbol{extra: extra}
	t.next[0] = 0
}

// appendShares appends the shares (RFC 8878 4.1.1).
func (t *states) appendShares(dst []byte) []byte {
	acc, have := uint64(t.log-minLog), 4
	put := func(v, n int) {
		acc |= uint64(v) << have
		for have += n; have >= 8; have -= 8 {
			dst = append(dst, byte(acc))
			acc >>= 8
		}
	}
	left := 1<<t.log + 1 // states to give, plus one
	for i := 0; left > 1; i++ {
		// A value from 0 to left takes as many bits as left, or one less when it is among the first.
		width := bits.Len(uint(left))
		p := int(t.share[i])
		v, short := p+1, 1<<width-1-left
		switch {
		case v < short:
			put(v, width-1)
		case v < 1<<(width-1):
			put(v, width)
		default:
			put(v+short, width)
		}
		left -= max(p, -p)
		if p != 0 {
			continue
		}
		zeros := 0 // that follow this one
		for ; t.share[i+1] == 0; i++ {
			zeros++
		}
		for ; zeros >= 3; zeros -= 3 {
			put(3, 2)
		}
		put(zeros, 2)
	}
	if have > 0 {
		dst = append(dst, byte(acc))
	}
	return dst
}

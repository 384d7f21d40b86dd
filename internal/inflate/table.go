// SPDX-License-Identifier: Apache-2.0

package inflate

import "math/bits"

const (
	maxLits   = 288
	maxDists  = 32
	maxLength = 15

	// how many bits choose in the first table
	litWidth  = 10
	distWidth = 8
	lenWidth  = 7
)

// entry is what a code stands for: the bits of the code, the extra bits that follow, and the literal or the
// base of the length or distance. Of a link, base is the place in more, and extra how many bits choose there.
// 0 is no code.
type entry uint32

const (
	isLiteral entry = 1 << 31
	isEnd     entry = 1 << 30
	isLink    entry = 1 << 29
)

func newEntry(base, extra uint) entry { return entry(base<<8 | extra<<4) }

func (e entry) length() uint    { return uint(e & 15) }
func (e entry) extra() uint     { return uint(e >> 4 & 15) }
func (e entry) base() uint      { return uint(e >> 8 & 0xffff) }
func (e entry) isLiteral() bool { return e&isLiteral != 0 }
func (e entry) isEnd() bool     { return e&isEnd != 0 }
func (e entry) isLink() bool    { return e&isLink != 0 }

// table finds entries by the next bits: by width of them, and for longer codes by those behind them.
type table struct {
	width uint
	first [1 << litWidth]entry
	more  []entry
}

// at returns the entry of the code with which bits begin; 0 for none.
func (t *table) at(bits uint64) entry {
	e := t.first[bits&(1<<t.width-1)&(1<<litWidth-1)]
	if e.isLink() {
		e = t.more[e.base()+uint(bits>>t.width)&(1<<e.extra()-1)]
	}
	return e
}

// make makes the table of a canonical code (RFC 1951 §3.2.2) from the lengths of its symbols. As in
// compress/flate, a code must be complete; it may be empty, or have one symbol of one bit.
func (t *table) make(width uint, lens []uint8, of func(symbol uint) entry) error {
	var count, place [maxLength + 2]uint
	for _, n := range lens {
		count[n]++
	}
	count[0] = 0
	code, longest := uint(0), uint(0)
	for n := uint(1); n <= maxLength; n++ {
		place[n+1] = place[n] + count[n]
		code = code<<1 + count[n]
		if count[n] > 0 {
			longest = n
		}
		if code > 1<<n {
			return ErrCorrupt
		}
	}
	if code != 1<<maxLength && longest > 0 && !(longest == 1 && count[1] == 1) {
		return ErrCorrupt
	}
	var sorted [maxLits]uint16 // by length
	for symbol, n := range lens {
		if n > 0 {
			sorted[place[n]] = uint16(symbol)
			place[n]++
		}
	}
	t.width, t.more, code = width, t.more[:0], 0
	clear(t.first[:2])
	symbols := sorted[:]
	for n := uint(1); n <= max(longest, width); n++ {
		code <<= 1
		for _, symbol := range symbols[:count[n]] {
			t.set(uint(bits.Reverse16(uint16(code))>>(16-n)), n, longest, of(uint(symbol))|entry(n))
			code++
		}
		symbols = symbols[count[n]:]
		if n < width { // one bit more does not matter to the codes so far
			copy(t.first[1<<n:2<<n], t.first[:1<<n])
		}
	}
	return nil
}

// set sets the entry of a code of n bits.
func (t *table) set(code, n, longest uint, e entry) {
	if n <= t.width {
		t.first[code] = e
		return
	}
	extra := longest - t.width
	link := &t.first[code&(1<<t.width-1)]
	if *link == 0 {
		*link = isLink | newEntry(uint(len(t.more)), extra)
		t.more = append(t.more, make([]entry, 1<<extra)...)
	}
	part := t.more[link.base():][:1<<extra]
	for i := code >> t.width; i < 1<<extra; i += 1 << (n - t.width) {
		part[i] = e
	}
}

// litEntry is what a symbol of literals and lengths stands for (RFC 1951 §3.2.5).
func litEntry(symbol uint) entry {
	switch {
	case symbol < 256:
		return isLiteral | newEntry(symbol, 0)
	case symbol == 256:
		return isEnd
	case symbol < 265:
		return newEntry(symbol-254, 0)
	case symbol < 285:
		extra := (symbol - 261) / 4
		return newEntry(3+(4+(symbol-265)%4)<<extra, extra)
	case symbol == 285:
		return newEntry(258, 0)
	}
	return 0 // with a length or distance of 0: no stream has it
}

// distEntry is what a symbol of distances stands for.
func distEntry(symbol uint) entry {
	switch {
	case symbol < 4:
		return newEntry(symbol+1, 0)
	case symbol < 30:
		extra := symbol/2 - 1
		return newEntry(1+(2+symbol%2)<<extra, extra)
	}
	return 0 // with a length or distance of 0: no stream has it
}

// plain is the entry of a code of lengths.
func plain(symbol uint) entry { return newEntry(symbol, 0) }

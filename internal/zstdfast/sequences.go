// SPDX-License-Identifier: Apache-2.0

package zstdfast

import (
	"encoding/binary"
	"math/bits"
)

// code gives each sequence of the block its codes (RFC 8878 3.1.1.3.2.1.1), and counts them.
func (e *Encoder) code() {
	for i := range e.coders {
		clear(e.coders[i].counts[:])
	}
	literals, matches := &e.coders[literalCodes].counts, &e.coders[matchCodes].counts
	offsets := &e.coders[offsetCodes].counts
	seqs := e.seqs[:e.nseqs]
	for i := range seqs {
		q := &seqs[i]
		l := uint8(bits.Len32(q.lit) + 18)
		if q.lit < 64 {
			l = e.codeOfLiterals[q.lit]
		}
		m := uint8(bits.Len32(q.match) + 35)
		if q.match < 128 {
			m = e.codeOfMatch[q.match]
		}
		o := uint8(bits.Len32(q.offset) - 1)
		q.litCode, q.matchCode, q.offsetCode = l, m, o
		literals[l%maxSymbols]++
		matches[m%maxSymbols]++
		offsets[o%maxSymbols]++
	}
}

// appendSequences appends the section of sequences (RFC 8878 3.1.1.3.2).
func (e *Encoder) appendSequences(dst []byte) []byte {
	const long = 0x7f00 // from here on the number has three bytes
	n := e.nseqs
	switch {
	case n == 0:
		return append(dst, 0)
	case n < 128:
		dst = append(dst, byte(n))
	case n < long:
		dst = append(dst, byte(n>>8+128), byte(n))
	default:
		dst = append(dst, 255, byte(n-long), byte((n-long)>>8))
	}
	e.code()
	at := len(dst)
	dst = append(dst, 0)
	modes := byte(0)
	for i := range e.coders {
		c := &e.coders[i]
		dst = c.choose(dst, n)
		modes = modes<<2 | c.mode
		e.now[i] = *c.use // together, so that one register points to all of them
	}
	dst[at] = modes << 2
	return e.appendBits(dst)
}

// appendBits appends the bit stream of the sequences, which is read from its end: the last sequence is the
// first one here (RFC 8878 3.1.1.3.2.1.2).
func (e *Encoder) appendBits(dst []byte) []byte {
	const most = 12 // bytes that a sequence takes at most: 26 bits of states, 16 + 16 + 23 behind the codes
	seqs := e.seqs[:e.nseqs]
	need := len(dst) + most*len(seqs) + 32
	if cap(dst) < need {
		dst = append(make([]byte, 0, need+need/2), dst...)
	}
	buf := dst[len(dst):need]
	w := bitWriter{buf: buf}
	q := &seqs[len(seqs)-1]
	ls, ms := e.now[literalCodes].begin(q.litCode), e.now[matchCodes].begin(q.matchCode)
	os := e.now[offsetCodes].begin(q.offsetCode)
	w.put(q.lit, e.now[literalCodes].symbols[q.litCode].extra)
	w.put(q.match, e.now[matchCodes].symbols[q.matchCode].extra)
	w.put(q.offset, e.now[offsetCodes].symbols[q.offsetCode].extra)

	bits, have, at := w.bits, w.have, w.at // registers; have < 8 at the beginning of each round
	for i := len(seqs) - 2; i >= 0; i-- {
		q := &seqs[i]
		l := &e.now[literalCodes].symbols[q.litCode%maxSymbols]
		m := &e.now[matchCodes].symbols[q.matchCode%maxSymbols]
		o := &e.now[offsetCodes].symbols[q.offsetCode%maxSymbols]

		n := (os + uint64(o.bits)) >> 16 & 31
		bits |= os & uint64(e.masks[n]) << (have & 63)
		have += uint(n)
		os = uint64(e.now[offsetCodes].next[(os>>n+uint64(o.next))%maxStates])

		n = (ms + uint64(m.bits)) >> 16 & 31
		bits |= ms & uint64(e.masks[n]) << (have & 63)
		have += uint(n)
		ms = uint64(e.now[matchCodes].next[(ms>>n+uint64(m.next))%maxStates])

		n = (ls + uint64(l.bits)) >> 16 & 31
		bits |= ls & uint64(e.masks[n]) << (have & 63)
		have += uint(n)
		ls = uint64(e.now[literalCodes].next[(ls>>n+uint64(l.next))%maxStates])

		le, me, oe := l.extra&31, m.extra&31, o.extra&31
		if have+uint(le+me+oe) > 64 {
			w.bits, w.have, w.at = bits, have, at
			w.flush()
			w.put(q.lit, le)
			w.put(q.match, me)
			w.put(q.offset, oe)
			bits, have, at = w.bits, w.have, w.at
			continue
		}
		extra := uint64(q.lit&e.masks[le]) | uint64(q.match&e.masks[me])<<le |
			uint64(q.offset&e.masks[oe])<<((le+me)&63)
		bits |= extra << (have & 63)
		have += uint(le + me + oe)
		store64(buf, at, bits) // buf has space for most bytes of each sequence, and for this word
		at += int(have >> 3)
		bits >>= have &^ 7
		have &= 7
	}
	w.bits, w.have, w.at = bits, have, at
	w.put(uint32(ms), uint8(e.now[matchCodes].log))
	w.put(uint32(os), uint8(e.now[offsetCodes].log))
	w.put(uint32(ls), uint8(e.now[literalCodes].log))
	w.put(1, 1) // marks the end
	if w.have > 0 {
		w.at++
	}
	return dst[:len(dst)+w.at]
}

// bitWriter writes bits, the lowest first. Bytes behind the last of them in buf may be changed.
type bitWriter struct {
	buf  []byte
	at   int    // bytes of buf that are written
	bits uint64 // those that are not, with have of them
	have uint
}

// put writes the lowest n bits of v.
func (w *bitWriter) put(v uint32, n uint8) {
	w.bits |= uint64(v&(1<<n-1)) << w.have
	w.have += uint(n)
	w.flush()
}

// flush leaves less than 8 bits.
func (w *bitWriter) flush() {
	binary.LittleEndian.PutUint64(w.buf[w.at:], w.bits)
	w.at += int(w.have >> 3)
	w.bits >>= w.have &^ 7
	w.have &= 7
}

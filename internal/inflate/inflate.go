// SPDX-License-Identifier: Apache-2.0

// Package inflate unpacks compressed data that lies in memory as a whole (RFC 1951), into memory that the
// caller provides. It is two to three times as fast as a decompressor that reads a stream, and can stop after
// the first bytes: what web archives need, whose records are small members of their own. For anything else
// there is compress/flate.
package inflate

import (
	"encoding/binary"
	"errors"
	"io"
)

var (
	// ErrFull says that there is more than the memory can hold. What it holds is good.
	ErrFull = errors.New("inflate: there is more")
	// ErrCorrupt says that the data is not what RFC 1951 describes.
	ErrCorrupt = errors.New("inflate: corrupt data")
)

// Decoder keeps tables between calls. Its zero value is ready for use; it is not safe for concurrent use.
type Decoder struct {
	src  []byte
	pos  int    // of the next byte of src
	bits uint64 // bits that were taken from src, the next one lowest
	have uint   // how many of bits count
	dst  []byte
	out  int // bytes of dst that are written

	lits, dists table
	lens        [maxLits + maxDists]uint8
}

// Decode unpacks the stream at the beginning of src into dst. It returns how many bytes of dst it wrote, and
// how many of src the stream has. The error is io.ErrUnexpectedEOF when src ends before the stream.
func (d *Decoder) Decode(dst, src []byte) (n, used int, err error) {
	d.src, d.pos, d.bits, d.have, d.dst, d.out = src, 0, 0, 0, dst, 0
	defer func() { d.src, d.dst = nil, nil }()
	for last := false; !last; {
		head, err := d.take(3)
		if err != nil {
			return d.out, d.pos, err
		}
		last = head&1 != 0
		if err := d.block(head >> 1); err != nil {
			return d.out, d.pos, err
		}
	}
	return d.out, d.pos - int(d.have/8), nil
}

// block unpacks a block of one of the three kinds of RFC 1951 §3.2.3.
func (d *Decoder) block(kind uint) error {
	var err error
	switch kind {
	case 0:
		return d.stored()
	case 1:
		err = d.fixed()
	case 2:
		err = d.dynamic()
	default:
		err = ErrCorrupt
	}
	if err != nil {
		return err
	}
	return d.symbols()
}

// fill makes at least 56 bits available, or all that are left.
func (d *Decoder) fill() {
	for d.have <= 56 && d.pos < len(d.src) {
		d.bits |= uint64(d.src[d.pos]) << d.have
		d.pos++
		d.have += 8
	}
}

// take takes up to 16 bits.
func (d *Decoder) take(n uint) (uint, error) {
	if d.have < n {
		if d.fill(); d.have < n {
			return 0, io.ErrUnexpectedEOF
		}
	}
	v := uint(d.bits & (1<<n - 1))
	d.bits >>= n
	d.have -= n
	return v, nil
}

// stored copies a block that is not compressed.
func (d *Decoder) stored() error {
	if _, err := d.take(d.have % 8); err != nil {
		return err
	}
	n, err := d.take(16)
	if err != nil {
		return err
	}
	inverse, err := d.take(16)
	if err != nil {
		return err
	}
	if n != ^inverse&0xffff {
		return ErrCorrupt
	}
	d.pos -= int(d.have / 8)
	d.bits, d.have = 0, 0
	take := min(int(n), len(d.src)-d.pos, len(d.dst)-d.out)
	copy(d.dst[d.out:], d.src[d.pos:d.pos+take])
	d.out += take
	d.pos += take
	switch {
	case take == int(n):
		return nil
	case d.out == len(d.dst):
		return ErrFull
	}
	return io.ErrUnexpectedEOF
}

// symbol takes the next symbol of a table. Its code is at most as long as what is available.
func (d *Decoder) symbol(t *table) (entry, error) {
	if d.have < 15 {
		d.fill()
	}
	e := t.at(d.bits)
	if e == 0 {
		if d.have < 15 && d.pos == len(d.src) {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, ErrCorrupt
	}
	if e.length() > d.have {
		return 0, io.ErrUnexpectedEOF
	}
	d.bits >>= e.length()
	d.have -= e.length()
	return e, nil
}

// symbols unpacks what is left of a compressed block.
func (d *Decoder) symbols() error {
	for {
		if ended, err := d.quick(); ended || err != nil {
			return err
		}
		e, err := d.symbol(&d.lits)
		if err != nil {
			return err
		}
		switch {
		case e.isEnd():
			return nil
		case e.isLiteral():
			if d.out == len(d.dst) {
				return ErrFull
			}
			d.dst[d.out] = byte(e.base())
			d.out++
			continue
		}
		if err := d.match(e); err != nil {
			return err
		}
	}
}

// match copies what a pair of length and distance stands for.
func (d *Decoder) match(e entry) error {
	extra, err := d.take(e.extra())
	if err != nil {
		return err
	}
	length := int(e.base() + extra)
	if e, err = d.symbol(&d.dists); err != nil {
		return err
	}
	if extra, err = d.take(e.extra()); err != nil {
		return err
	}
	back := int(e.base() + extra)
	if length == 0 || back == 0 || back > d.out {
		return ErrCorrupt
	}
	from := d.out - back
	for ; length > 0 && d.out < len(d.dst); length-- {
		d.dst[d.out] = d.dst[from]
		d.out++
		from++
	}
	if length > 0 {
		return ErrFull
	}
	return nil
}

// fixed makes the tables of RFC 1951 §3.2.6.
func (d *Decoder) fixed() error {
	lens := d.lens[:maxLits]
	for i := range lens {
		switch {
		case i < 144:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		case i < 280:
			lens[i] = 7
		default:
			lens[i] = 8
		}
	}
	if err := d.lits.make(litWidth, lens, litEntry); err != nil {
		return err
	}
	lens = lens[:maxDists]
	for i := range lens {
		lens[i] = 5
	}
	return d.dists.make(distWidth, lens, distEntry)
}

// lengthOrder is in which order the lengths of the code of lengths stand (RFC 1951 §3.2.7).
var lengthOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the tables of a block.
func (d *Decoder) dynamic() error {
	head, err := d.take(14)
	if err != nil {
		return err
	}
	lits, dists, codes := int(head&31)+257, int(head>>5&31)+1, int(head>>10)+4
	if lits > maxLits-2 || dists > maxDists-2 {
		return ErrCorrupt
	}
	lens := d.lens[:len(lengthOrder)]
	clear(lens)
	for _, at := range lengthOrder[:codes] {
		n, err := d.take(3)
		if err != nil {
			return err
		}
		lens[at] = uint8(n)
	}
	if err := d.dists.make(lenWidth, lens, plain); err != nil {
		return err
	}
	lens = d.lens[:lits+dists]
	for i := 0; i < len(lens); {
		e, err := d.symbol(&d.dists)
		if err != nil {
			return err
		}
		n, again, more := uint8(e.base()), 1, uint(0)
		switch n {
		case 16:
			if i == 0 {
				return ErrCorrupt
			}
			n = lens[i-1]
			more, err = d.take(2)
			again = 3 + int(more)
		case 17:
			n = 0
			more, err = d.take(3)
			again = 3 + int(more)
		case 18:
			n = 0
			more, err = d.take(7)
			again = 11 + int(more)
		}
		if err != nil {
			return err
		}
		if i+again > len(lens) {
			return ErrCorrupt
		}
		for range again {
			lens[i] = n
			i++
		}
	}
	if err := d.lits.make(litWidth, lens[:lits], litEntry); err != nil {
		return err
	}
	return d.dists.make(distWidth, lens[lits:], distEntry)
}

// Of the quick loop: what one turn of it needs at the most.
const (
	quickIn  = 16           // bytes of src
	quickOut = 2 + 258 + 16 // bytes of dst: literals, the longest match, what is copied too much
)

// quick unpacks symbols as long as neither end is near; ended says that the block did.
func (d *Decoder) quick() (ended bool, err error) {
	src, dst, bits, have, pos, out := d.src, d.dst, d.bits, d.have, d.pos, d.out
	lits, dists := &d.lits.first, &d.dists
	for pos+quickIn <= len(src) && out+quickOut <= len(dst) {
		bits |= binary.LittleEndian.Uint64(src[pos:]) << have // what is above have comes again
		pos += int((63 - have) >> 3)
		have |= 56
		e := lits[bits&(1<<litWidth-1)]
		if e.isLiteral() {
			bits >>= e.length()
			have -= e.length()
			dst[out] = byte(e.base())
			out++
			e = lits[bits&(1<<litWidth-1)]
			if e.isLiteral() {
				bits >>= e.length()
				have -= e.length()
				dst[out] = byte(e.base())
				out++
				continue
			}
			bits |= binary.LittleEndian.Uint64(src[pos:]) << have
			pos += int((63 - have) >> 3)
			have |= 56
		}
		if e.isLink() {
			e = d.lits.more[e.base()+uint(bits>>litWidth)&(1<<e.extra()-1)]
		}
		if e == 0 {
			err = ErrCorrupt
			break
		}
		bits >>= e.length()
		have -= e.length()
		if e.isLiteral() {
			dst[out] = byte(e.base())
			out++
			continue
		}
		if ended = e.isEnd(); ended {
			break
		}
		length := int(e.base() + uint(bits)&(1<<e.extra()-1))
		bits >>= e.extra()
		have -= e.extra()
		if e = dists.first[bits&(1<<distWidth-1)]; e.isLink() {
			e = dists.more[e.base()+uint(bits>>distWidth)&(1<<e.extra()-1)]
		}
		if e == 0 {
			err = ErrCorrupt
			break
		}
		bits >>= e.length()
		have -= e.length()
		back := int(e.base() + uint(bits)&(1<<e.extra()-1))
		bits >>= e.extra()
		have -= e.extra()
		if length == 0 || back == 0 || back > out {
			err = ErrCorrupt
			break
		}
		copyMatch(dst, out, back, length)
		out += length
	}
	d.bits, d.have, d.pos, d.out = bits&(1<<have-1), have, pos, out
	return ended, err
}

// copyMatch repeats what lies back bytes before a place; up to 15 bytes behind it may change.
func copyMatch(dst []byte, out, back, length int) {
	to, from := dst[out:], dst[out-back:]
	switch {
	case back >= length && length > 64:
		copy(to[:length], from)
	case back >= 16:
		for i := 0; i < length; i += 16 {
			*(*[16]byte)(to[i:]) = *(*[16]byte)(from[i:])
		}
	case back >= 8:
		for i := 0; i < length; i += 8 {
			binary.LittleEndian.PutUint64(to[i:], binary.LittleEndian.Uint64(from[i:]))
		}
	default:
		for i := range length {
			to[i] = from[i]
		}
	}
}

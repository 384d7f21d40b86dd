// SPDX-License-Identifier: Apache-2.0

// Package binread reads the small binary values that heads and the store write: bytes, unsigned varints, and
// strings with their length in front. It does no I/O, and never panics, for any bytes.
package binread

import "encoding/binary"

// Reader reads values from the front of Rest. After a read past the end Bad is set, and all later values are
// zero.
type Reader struct {
	Rest []byte
	Bad  bool
	all  string // of Sharing
}

// Sharing makes a Reader of a small value. Its texts are parts of one string: one allocation for all of them.
func Sharing(b []byte) Reader { return Reader{Rest: b, all: string(b)} }

// Byte reads one byte.
func (d *Reader) Byte() byte {
	if len(d.Rest) == 0 {
		d.Bad = true
		return 0
	}
	v := d.Rest[0]
	d.Rest = d.Rest[1:]
	return v
}

// Uvarint reads an unsigned varint.
func (d *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(d.Rest)
	if n <= 0 {
		d.Fail()
		return 0
	}
	d.Rest = d.Rest[n:]
	return v
}

// Take reads n bytes, which alias Rest.
func (d *Reader) Take(n int) []byte {
	if n < 0 || n > len(d.Rest) {
		d.Fail()
		return nil
	}
	v := d.Rest[:n]
	d.Rest = d.Rest[n:]
	return v
}

// Bytes reads a length and so many bytes, which alias Rest.
func (d *Reader) Bytes() []byte {
	n := d.Uvarint()
	if n > uint64(len(d.Rest)) {
		d.Fail()
		return nil
	}
	return d.Take(int(n))
}

// Text reads what AppendString wrote.
func (d *Reader) Text() string {
	v := d.Bytes()
	if d.all == "" {
		return string(v)
	}
	end := len(d.all) - len(d.Rest)
	return d.all[end-len(v) : end]
}

// Fail makes the reader one that has read past the end.
func (d *Reader) Fail() { d.Bad, d.Rest = true, nil }

// AppendString writes a string with its length in front.
func AppendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"

	"mirrord/internal/binread"
)

// coder reads values, or writes them. A type describes its bytes once, in a method code, which goes through
// them in their order: it changes the value only where that is read.
type coder struct {
	binread.Reader
	reads bool
	out   []byte // the values that were written
}

// written returns what code writes behind b.
func written(b []byte, code func(*coder)) []byte {
	c := coder{out: b}
	code(&c)
	return c.out
}

// read has code read from d.
func read(d *binread.Reader, code func(*coder)) {
	c := coder{Reader: *d, reads: true}
	code(&c)
	*d = c.Reader
}

func numbers[T int | int64 | uint16 | uint32 | uint64](c *coder, vs ...*T) {
	for _, v := range vs {
		if c.reads {
			*v = T(c.Uvarint())
		} else {
			c.out = binary.AppendUvarint(c.out, uint64(*v))
		}
	}
}

func octets[T ~uint8](c *coder, vs ...*T) {
	for _, v := range vs {
		if c.reads {
			*v = T(c.Byte())
		} else {
			c.out = append(c.out, byte(*v))
		}
	}
}

// hashes are numbers of 8 bytes, little endian.
func (c *coder) hashes(vs ...*uint64) {
	for _, v := range vs {
		if !c.reads {
			c.out = binary.LittleEndian.AppendUint64(c.out, *v)
		} else if b := c.Take(8); b != nil {
			*v = binary.LittleEndian.Uint64(b)
		}
	}
}

// texts have their length in front.
func (c *coder) texts(vs ...*string) {
	for _, v := range vs {
		if c.reads {
			*v = c.Text()
		} else {
			c.out = binread.AppendString(c.out, *v)
		}
	}
}

// flags are the bits of a byte, from the lowest. It returns what the bits above them say.
func (c *coder) flags(above byte, vs ...*bool) byte {
	b := above << len(vs)
	for i, v := range vs {
		if *v {
			b |= 1 << i
		}
	}
	octets(c, &b)
	for i, v := range vs {
		if c.reads {
			*v = b&(1<<i) != 0
		}
	}
	return b >> len(vs)
}

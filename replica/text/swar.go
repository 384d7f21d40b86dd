// SPDX-License-Identifier: Apache-2.0

package text

import "encoding/binary"

// Eight bytes at a time: a number holds eight bytes, the first one lowest; a mask has the top bit of each
// byte that is meant.
const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

// load returns the eight bytes from b[i], with zeros behind the end of b; i < len(b).
func load(b []byte, i int) uint64 {
	if i >= 0 && i < len(b)-7 { // so written the compiler makes one instruction of it
		return binary.LittleEndian.Uint64(b[i:])
	}
	return loadEnd(b[i:])
}

func loadEnd(b []byte) uint64 {
	x := uint64(0)
	for i := len(b) - 1; i >= 0; i-- {
		x = x<<8 | uint64(b[i])
	}
	return x
}

// has marks the bytes of x that are c. Only the first mark is certain: there may be wrong ones behind it.
func has(x uint64, c byte) uint64 {
	x ^= ones * uint64(c)
	return (x - ones) &^ x & tops
}

// alnum marks the ASCII letters and digits.
func alnum(x uint64) uint64 {
	low := x &^ tops
	letter := low | 0x20*ones
	a := (letter + (0x80-'a')*ones) ^ (letter + (0x80-'z'-1)*ones)
	d := (low + (0x80-'0')*ones) ^ (low + (0x80-'9'-1)*ones)
	return (a | d) &^ x & tops
}

// special marks "<", "&" and bytes beyond ASCII.
func special(x uint64) uint64 {
	low := x &^ tops
	lt := (low ^ '<'*ones) + 0x7f*ones
	amp := (low ^ '&'*ones) + 0x7f*ones
	return (^(lt & amp) | x) & tops
}

// lower makes ASCII letters small ones. Digits stay; other bytes may become others.
func lower(x uint64) uint64 { return x | 0x20*ones }

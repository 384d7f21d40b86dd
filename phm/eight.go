// SPDX-License-Identifier: Apache-2.0

package phm

// eight is eight bytes of a string, looked at side by side.
type eight uint64

const (
	ones  eight = 0x0101010101010101
	highs eight = 0x8080808080808080 // the highest bit of each byte
)

func eightOf(s string) eight {
	_ = s[7]
	return eight(s[0]) | eight(s[1])<<8 | eight(s[2])<<16 | eight(s[3])<<24 |
		eight(s[4])<<32 | eight(s[5])<<40 | eight(s[6])<<48 | eight(s[7])<<56
}

// lacks reports whether no byte is c.
func (w eight) lacks(c byte) bool { return w.below(ones*eight(c), 1) == 0 }

// below is not zero when a byte of w^x is less than c, which is at most 0x80. A byte that is too small
// borrows from the next one: which byte it is cannot be told.
func (w eight) below(x eight, c byte) eight { return (w ^ x - ones*eight(c)) &^ (w ^ x) & highs }

// upTo has the highest bits of the bytes from a to b set; all bytes are below 0x80.
func (w eight) upTo(a, b byte) eight {
	return (w + ones*eight(0x80-a)) &^ (w + ones*eight(0x7f-b)) & highs
}

// tail returns the last bytes of a string of no whole number of eights, filled up with others.
func tail(s string, with byte) string {
	b := [8]byte{with, with, with, with, with, with, with, with}
	copy(b[:], s)
	return string(b[:])
}

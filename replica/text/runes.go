// SPDX-License-Identifier: Apache-2.0

package text

import "unicode/utf8"

// letter is what a character beyond ASCII means in a word: the bytes of its lower case, their number, and
// whether it is a word of its own. Zero is what parts words.
type letter uint32

const (
	letterSizes = 24 // where the number of bytes stands
	letterAlone = 1 << 31
)

// letters keeps what was found out of the characters of the basic plane, by blocks of 256.
type letters [256]*[256]letter

// of returns what a character means. Those outside the basic plane are looked at each time.
func (l *letters) of(r rune) (x uint64, bits uint, alone bool) {
	if r > 0xffff {
		return letterOf(r)
	}
	e := l.find(r)
	return uint64(e & (1<<letterSizes - 1)), uint(e>>letterSizes&3) * 8, e&letterAlone != 0
}

// find is of for a character of the basic plane.
func (l *letters) find(r rune) letter {
	if block := l[r>>8&0xff]; block != nil {
		return block[r&0xff]
	}
	block := newLetters(r &^ 0xff)
	l[r>>8&0xff] = block
	return block[r&0xff]
}

func newLetters(first rune) *[256]letter {
	block := new([256]letter)
	for i := range block {
		x, bits, alone := letterOf(first + rune(i))
		e := letter(x) | letter(bits/8)<<letterSizes
		if alone {
			e |= letterAlone
		}
		block[i] = e
	}
	return block
}

// letterOf finds out what a character means: the bytes of its lower case, how many bits these are, none when
// it is no part of a word, and whether it stands alone.
func letterOf(r rune) (x uint64, bits uint, alone bool) {
	if r = lowerRune(r); !isWord(r) {
		return 0, 0, false
	}
	var buf [utf8.UTFMax]byte
	for _, c := range buf[:utf8.EncodeRune(buf[:], r)] {
		x |= uint64(c) << bits
		bits += 8
	}
	return x, bits, standsAlone(r)
}

// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math/bits"
	"unicode/utf8"

	"mirrord/replica/hash"
)

// scan feeds the words of a page; false when it must be read again, as Latin-1. It looks at eight bytes at a
// time: which are letters and digits, and which of the others need more than being skipped. A word is hashed
// from there, unless it continues behind a tag, a reference or a character beyond ASCII: then it waits in
// s.word.
func (s *Sketcher) scan(d *decoded, markup bool) bool {
	b := d.text
	for i := 0; i < len(b); {
		if !s.word.some {
			i = s.run(b, i)
		} else {
			i = s.more(b, i)
			if i < len(b) && b[i] < utf8.RuneSelf && b[i] != '<' && b[i] != '&' {
				s.endWord()
				i++
				continue
			}
		}
		if i >= len(b) {
			break
		}
		switch c := b[i]; {
		case c == '<':
			if !markup {
				s.endWord()
				i++
				continue
			}
			if !s.word.some {
				if i = quickly(b, i); i >= len(b) || b[i] != '<' {
					continue
				}
			}
			next, name := quick(b, i)
			switch {
			case next > 0:
				if i = next; s.markup.tags.meaning(name) != inline {
					s.endWord()
				}
			case opens(b, i):
				var kind tagKind
				if i, kind = s.markup.skip(b, i); kind != inline {
					s.endWord()
				}
			default:
				i++
				s.endWord()
			}
		case c == '&':
			if !markup {
				s.endWord()
				i++
				continue
			}
			i = s.reference(b, i)
		default:
			if !d.latin1 {
				if i = s.wide(b, i); i >= len(b) || b[i] < utf8.RuneSelf {
					continue
				}
			}
			r, size, again := d.rune(i)
			if again {
				return false
			}
			s.char(r)
			i += size
		}
	}
	s.endWord()
	return true
}

// run takes the words from b[i] up to what needs more than being skipped, and returns where that is. A word
// before it is left in s.word.
func (s *Sketcher) run(b []byte, i int) int {
	for i < len(b) {
		var sum, nums uint64
		x := load(b, i)
		// a one added to it is carried to the first byte that is no letter or digit
		runs := alnum(x) | ^uint64(tops)
		for runs+1 == 0 {
			sum = hash.Mum(sum^hash.TokenSeed^lower(x), hash.BlockPrime)
			nums |= digits(x)
			if i += 8; i >= len(b) {
				x, runs = 0, ^uint64(tops)
				break
			}
			x = load(b, i)
			runs = alnum(x) | ^uint64(tops)
		}
		odd := special(x)
		next := runs&(runs+1)&tops | odd
		part := lower(x) & ((runs ^ (runs + 1)) >> 8)
		i += int(uint(bits.TrailingZeros64(next)) / 8)
		next &= -next // the next word, or what needs more
		if next&odd != 0 && next == (runs+1)&^runs {
			if sum|part != 0 {
				s.word = word{sum, part, uint(bits.TrailingZeros64(next)) - 7, nums | digits(part), true}
			}
			return i
		}
		if s.n >= batch {
			s.take()
		}
		s.wait[maxK+s.n] = endWord(sum, part)
		s.nums[s.n] = nums | digits(part)
		all := sum | part
		s.n += int((all | -all) >> 63) // unless it is empty; without a branch, because it is unpredictable
		if next&odd != 0 {
			return i
		}
	}
	return i
}

// more adds the letters and digits from b[i] to the word that is being read, and returns where they end.
func (s *Sketcher) more(b []byte, i int) int {
	for i < len(b) {
		x := load(b, i)
		end := uint(bits.TrailingZeros64(^alnum(x)&tops)) &^ 7
		s.word.add(lower(x)&(1<<end-1), end)
		i += int(end / 8)
		if end < 64 {
			break
		}
	}
	return i
}

// char takes one character.
func (s *Sketcher) char(r rune) {
	x, bits, alone := s.runes.of(r)
	if bits == 0 || alone {
		s.endWord()
	}
	if bits > 0 {
		s.word.add(x, bits)
	}
	if alone {
		s.endWord()
	}
}

// wide continues character by character from b[i], which is not ASCII, as long as it is valid UTF-8 of at
// most three bytes, and returns where something else comes, or where ASCII follows the end of a word.
func (s *Sketcher) wide(b []byte, i int) int {
	w := s.word
	for i+2 < len(b) {
		r := rune(b[i])
		size := 1
		switch {
		case r < utf8.RuneSelf:
			switch l := r | 0x20; {
			case 'a' <= l && l <= 'z':
				w.add(uint64(l), 8)
			case '0' <= r && r <= '9':
				w.add(uint64(r), 8)
			case r == '<' || r == '&':
				s.word = w
				return i
			default:
				if w.some {
					s.emit(w.end(), w.nums)
					w = word{}
				}
				if b[i+1] < utf8.RuneSelf {
					s.word = w
					return i + 1
				}
			}
			i++
			continue
		case r&0xe0 == 0xc0 && b[i+1]&0xc0 == 0x80:
			r = r&0x1f<<6 | rune(b[i+1]&0x3f)
			if size = 2; r < utf8.RuneSelf {
				s.word = w
				return i
			}
		case r&0xf0 == 0xe0 && b[i+1]&0xc0 == 0x80 && b[i+2]&0xc0 == 0x80:
			r = r&0x0f<<12 | rune(b[i+1]&0x3f)<<6 | rune(b[i+2]&0x3f)
			if size = 3; r < 0x800 || r&0xf800 == 0xd800 {
				s.word = w
				return i
			}
		default:
			s.word = w
			return i
		}
		i += size
		e := s.runes.find(r)
		x := uint64(e & (1<<letterSizes - 1))
		if e != 0 && e&letterAlone == 0 {
			w.add(x, uint(e>>letterSizes&3)*8)
			continue
		}
		if w.some {
			s.emit(w.end(), w.nums)
			w = word{}
		}
		if e != 0 {
			s.emit(endWord(0, x), 0)
		}
	}
	s.word = w
	return i
}

// refs keeps what short references mean.
type refs [64]struct {
	ref  uint64 // "&", name and ";", the first one lowest
	text string
}

// reference takes the character reference, or "&", at b[i], and returns where the text continues.
func (s *Sketcher) reference(b []byte, i int) int {
	x := load(b, i)
	semicolon := has(x, ';')
	semicolon &= -semicolon
	x &= semicolon<<1 - 1
	kept := &s.refs[x*hash.TokenPrime>>(64-6)]
	if semicolon == 0 || kept.ref != x {
		var end int
		s.ref, end = entity(s.ref[:0], b, i)
		if semicolon == 0 || end-i != bits.TrailingZeros64(semicolon)/8+1 {
			for rest := s.ref; len(rest) > 0; {
				r, size := utf8.DecodeRune(rest)
				rest = rest[size:]
				s.char(r)
			}
			return end
		}
		kept.ref, kept.text = x, string(s.ref)
	}
	for _, r := range kept.text {
		s.char(r)
	}
	return i + bits.TrailingZeros64(semicolon)/8 + 1
}

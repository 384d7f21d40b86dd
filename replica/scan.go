package replica

import (
	"math/bits"
	"unicode/utf8"
)

// scan feeds the words of b, which is UTF-8 or Latin-1. It looks at eight bytes at a time: which are letters and digits, and which of the
// others need more than being skipped. A word is hashed from there, unless it goes on behind a tag, a reference or a character beyond ASCII:
// then it waits in s.word.
func (s *Sketcher) scan(b []byte, latin1, markup bool) {
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
		case latin1:
			s.char(rune(c))
			i++
		default:
			r, size := utf8.DecodeRune(b[i:])
			s.char(r)
			i += size
		}
	}
	s.endWord()
}

// run takes the words from b[i] up to what needs more than being skipped, and returns where that is. A word before it is left in s.word.
func (s *Sketcher) run(b []byte, i int) int {
	for i < len(b) {
		var sum uint64
		x := load(b, i)
		runs := alnum(x) | ^uint64(tops) // a one added to it is carried to the first byte that is no letter or digit
		for runs+1 == 0 {
			sum = mum(sum^tokenSeed^lower(x), blockPrime)
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
				s.word = word{sum, part, uint(bits.TrailingZeros64(next)) - 7, true}
			}
			return i
		}
		if s.n >= batch {
			s.shingle()
		}
		s.wait[maxK+s.n] = endWord(sum, part)
		all := sum | part
		s.n += int((all | -all) >> 63) // unless it is empty; without a branch, because nobody could guess it
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

// refs keeps what short references mean.
type refs [64]struct {
	ref  uint64 // "&", name and ";", the first one lowest
	text string
}

// reference takes the character reference, or "&", at b[i], and returns where the text goes on.
func (s *Sketcher) reference(b []byte, i int) int {
	x := load(b, i)
	semicolon := has(x, ';')
	semicolon &= -semicolon
	x &= semicolon<<1 - 1
	kept := &s.refs[x*tokenPrime>>(64-6)]
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

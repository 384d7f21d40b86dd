// SPDX-License-Identifier: Apache-2.0

package find

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// piece is a run of letters, digits and marks in a text: a word, or a run of characters of a script that does
// not part words by blanks.
type piece struct {
	start, end int    // in the text, in bytes
	folded     string // as it is compared
	grams      bool   // it is cut into trigrams
}

// isGram says whether a letter belongs to a script that does not part words by blanks, or to Korean, whose
// words carry particles.
func isGram(r rune) bool {
	// the prolonged sound mark, and the mark for repeated characters, belong to several scripts
	return r >= 0x0e00 && (r == 'ー' || r == '々' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// class tells what a character is for words.
type class uint8

const (
	apart class = iota // it parts words
	wordy
	gram
	mark // it belongs to the character before it
)

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		if ('a' <= r|0x20 && r|0x20 <= 'z') || ('0' <= r && r <= '9') {
			return wordy
		}
		return apart
	case unicode.IsLetter(r), unicode.IsNumber(r):
		if isGram(r) {
			return gram
		}
		return wordy
	case unicode.IsMark(r),
		r == '\u200c', r == '\u200d', r == '\u00ad': // joiners within words, and soft hyphens
		return mark
	}
	return apart
}

// folder folds words. It keeps its buffers; not for concurrent use.
type folder struct {
	lower cases.Caser
	buf   []byte
	known map[string]string // folded words that are not as they were, by word; at most 16 384 of 128 bytes
}

func newFolder() *folder { return &folder{lower: cases.Fold(), known: map[string]string{}} }

// pieces calls f for each piece of a text until it returns false.
func (o *folder) pieces(text string, f func(p piece) bool) {
	start, kind := -1, apart
	end := func(at int) bool {
		if start < 0 {
			return true
		}
		p := piece{
			start:  start,
			end:    at,
			folded: o.fold(text[start:at]),
			grams:  kind == gram,
		}
		start = -1
		return p.folded == "" || f(p)
	}
	for i, r := range text {
		c := classOf(r)
		switch {
		case c == mark && start >= 0, c == kind && start >= 0:
			continue
		case !end(i):
			return
		}
		if c == wordy || c == gram {
			start, kind = i, c
		}
	}
	end(len(text))
}

// fold makes a word what it is compared as: compatible forms are one, letters lose case and accents. Signs
// that are vowels, as those of Hindi and Thai, stay.
func (o *folder) fold(word string) string {
	if isFolded(word) {
		return word
	}
	folded, ok := o.known[word]
	if ok {
		return folded
	}
	o.buf = o.buf[:0]
	for _, r := range norm.NFKD.String(o.lower.String(word)) {
		if !dropped(r) {
			o.buf = utf8.AppendRune(o.buf, r)
		}
	}
	folded = strings.ToLower(norm.NFC.String(string(o.buf)))
	if len(word) <= longestWord {
		if len(o.known) == 1<<14 {
			clear(o.known)
		}
		o.known[strings.Clone(word)] = folded
	}
	return folded
}

// isFolded reports whether fold leaves a word as it is, for small letters and digits of ASCII, and for Han,
// kana and Hangul: those that it does not change alone or next to one another.
func isFolded(word string) bool {
	for _, r := range word {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', 0x3400 <= r && r <= 0x4dbf, 0x4e00 <= r && r <= 0x9fff,
			0xac00 <= r && r <= 0xd7a3, 0x3041 <= r && r <= 0x3096, 0x30a1 <= r && r <= 0x30fc, r == '々':
		default:
			return false
		}
	}
	return true
}

// dropped says whether a mark does not count: accents of Latin, Greek and Cyrillic, points of Hebrew and
// Arabic, joiners, and what stretches Arabic words.
func dropped(r rune) bool {
	switch {
	case 0x0300 <= r && r <= 0x036f, 0x0591 <= r && r <= 0x05c7, 0x0610 <= r && r <= 0x061a,
		0x064b <= r && r <= 0x065f, r == 0x0670, r == 0x0640, r == 0x00ad, r == 0x200c, r == 0x200d:
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}

// gramLength is how many characters of a script without blanks make a word.
const gramLength = 3

// appendGrams appends the words that a run of characters is cut into: each three in a row, and the shorter
// ones at its end, so that a shorter query finds it there.
func appendGrams(b []byte, run string, tails bool) []byte {
	start, n := 0, 0
	next := func() {
		_, size := utf8.DecodeRuneInString(run[start:])
		start += size
	}
	for i := range run {
		if n++; n > gramLength {
			b = appendWord(b, run[start:i])
			next()
		}
	}
	b = appendWord(b, run[start:])
	for next(); tails && start < len(run); next() {
		b = appendWord(b, run[start:])
	}
	return b
}

// appendWord appends a word to others, with a blank between them.
func appendWord(b []byte, word string) []byte {
	if len(b) > 0 {
		b = append(b, ' ')
	}
	return append(b, word...)
}

// longestWord is how long a word may be, in bytes: a longer one is data, such as pictures within a page.
const longestWord = 128

// pageWords is what the index gets of a page: the words of its title and body in order, with trigrams; the
// characters of which there are trigrams, and the other words, each once.
type pageWords struct{ title, body, single, each []byte }

// page reads a page for the index.
func (o *folder) page(title, said string) (out pageWords) {
	words, runes := map[string]bool{}, map[rune]bool{}
	read := func(text string) []byte {
		b := make([]byte, 0, len(text)+len(text)/8)
		o.pieces(text, func(p piece) bool {
			switch {
			case p.grams:
				b = appendGrams(b, p.folded, true)
				for _, r := range p.folded {
					if !runes[r] && !unicode.IsMark(r) {
						out.single = appendWord(out.single, string(r))
					}
					runes[r] = true
				}
			case len(p.folded) <= longestWord:
				b = appendWord(b, p.folded)
				if !words[p.folded] {
					words[p.folded] = true
					out.each = appendWord(out.each, p.folded)
				}
			}
			return true
		})
		return b
	}
	out.title, out.body = read(title), read(said)
	return out
}

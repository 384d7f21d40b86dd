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

// gramScripts are the scripts that do not part words by blanks, and Korean, whose words carry particles.
func gramScripts() []*unicode.RangeTable {
	return []*unicode.RangeTable{
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar,
	}
}

// isGram says whether a letter belongs to one of gramScripts.
func isGram(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	// the prolonged sound mark, and the mark for repeated characters, which belong to several scripts
	return unicode.In(r, gramScripts()...) || r == 'ー' || r == '々'
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
	case isGram(r):
		if unicode.IsMark(r) {
			return mark
		}
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return gram
		}
		return apart
	case unicode.IsLetter(r), unicode.IsNumber(r):
		return wordy
	case unicode.IsMark(r):
		return mark
	case r == '\u200c', r == '\u200d', r == '\u00ad': // joiners within words, and soft hyphens
		return mark
	}
	return apart
}

// folder folds words. It keeps its buffers; not for concurrent use.
type folder struct {
	lower cases.Caser
	buf   []byte
}

func newFolder() *folder { return &folder{lower: cases.Fold()} }

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
	ascii := true
	for i := range len(word) {
		ascii = ascii && word[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(word)
	}
	o.buf = o.buf[:0]
	for _, r := range norm.NFKD.String(o.lower.String(word)) {
		if !dropped(r) {
			o.buf = utf8.AppendRune(o.buf, r)
		}
	}
	return strings.ToLower(norm.NFC.String(string(o.buf)))
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
	at := make([]int, 0, len(run)+1)
	for i := range run {
		at = append(at, i)
	}
	at = append(at, len(run))
	n := len(at) - 1
	last := n
	if !tails {
		last = max(1, n-gramLength+1)
	}
	for i := range last {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, run[at[i]:at[min(i+gramLength, n)]]...)
	}
	return b
}

// longestWord is how long a word may be, in bytes: a longer one is data, such as pictures within a page.
const longestWord = 128

// indexedText is what the index gets of a text.
type indexedText struct {
	words  string          // in order, with trigrams
	single string          // the characters of which there are trigrams
	each   map[string]bool // the other words
}

// indexed reads a text for the index.
func (o *folder) indexed(text string) indexedText {
	b := make([]byte, 0, len(text)+len(text)/8)
	out := indexedText{each: map[string]bool{}}
	var seen map[rune]bool
	o.pieces(text, func(p piece) bool {
		if p.grams {
			b = appendGrams(b, p.folded, true)
			if seen == nil {
				seen = map[rune]bool{}
			}
			for _, r := range p.folded {
				seen[r] = true
			}
			return true
		}
		if len(p.folded) > longestWord {
			return true
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, p.folded...)
		out.each[p.folded] = true
		return true
	})
	var s []byte
	for r := range seen {
		if unicode.IsMark(r) {
			continue
		}
		s = append(utf8.AppendRune(s, r), ' ')
	}
	out.words, out.single = string(b), string(s)
	return out
}

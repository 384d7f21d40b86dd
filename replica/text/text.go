// SPDX-License-Identifier: Apache-2.0

// Package text extracts the text of a page, independent of its markup and encoding, and makes short digests
// of it that can be compared.
//
//   - [Extract] decodes and de-tags a page, [Tokens] splits the text, [Shingles] are its k-grams.
//   - A [Sketcher] makes a [ContentDigest] of a page's bytes in one pass: 144 bytes that stand for its words
//     and its shingles, or a [Said]: 16 bytes for its words.
//   - [SeenPages] says of one page after the other whether one was seen before that says the same.
//
// Sources: Broder, On the resemblance and containment of documents (1997); Manning, Raghavan, Schütze,
// Introduction to Information Retrieval, the chapter on crawling (shingles, sketches); Li, Owen, Zhang, One
// permutation hashing (2012), with the optimal densification of Shrivastava (2017).
package text

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Extract returns what a page says: decoded and de-tagged, blocks parted by line ends, white space within a
// block one blank. Comments, scripts and styles are dropped; character references are decoded last. In a pre
// element every line is a block.
func Extract(body []byte) string { return ExtractAs(body, true) }

// ExtractAs is Extract for a body that may not be HTML: then every line is a block.
func ExtractAs(body []byte, isHTML bool) string {
	w := &blockWriter{lines: !isHTML}
	new(markup).feed(w, decode(body, ""), isHTML)
	return w.out.String()
}

// Page is ExtractAs for a body whose answer named an encoding, "" for none, with the title of a page apart
// from the rest: the text of the first title element that has any.
func Page(body []byte, label string, isHTML bool) (title, said string) {
	w := &titledWriter{rest: blockWriter{lines: !isHTML}}
	new(markup).feed(w, decode(body, label), isHTML)
	if w.open { // the title does not end
		return "", w.rest.out.String() + w.title.out.String()
	}
	return w.title.out.String(), w.rest.out.String()
}

// TitleWithin is how many bytes of a page are searched for its title.
const TitleWithin = 64 << 10

// Title returns the title of a page as Page does, without zero bytes, if it ends within the first TitleWithin
// bytes.
func Title(body []byte, label string) string {
	title, _ := Page(body[:min(len(body), TitleWithin)], label, true)
	return strings.ReplaceAll(title, "\x00", "")
}

// titledWriter collects the title of a page and the rest.
type titledWriter struct {
	title, rest blockWriter
	open        bool // what comes is the title
}

func (w *titledWriter) reset() { *w = titledWriter{rest: blockWriter{lines: w.rest.lines}} }

func (w *titledWriter) now() *blockWriter {
	if w.open {
		return &w.title
	}
	return &w.rest
}

func (w *titledWriter) ascii(text []byte) int { return w.now().ascii(text) }
func (w *titledWriter) char(r rune)           { w.now().char(r) }

func (w *titledWriter) tag(kind tagKind, tag []byte) {
	switch {
	case w.open:
		w.open = !isTag(tag, "/title")
	case w.title.out.Len() == 0 && isTag(tag, "title"):
		w.title, w.open = blockWriter{}, true
	}
	w.now().tag(kind, tag)
}

// isTag says whether a tag, without its "<", has a name.
func isTag(tag []byte, name string) bool {
	if len(tag) <= len(name) || !bytes.EqualFold(tag[:len(name)], []byte(name)) {
		return false
	}
	c := tag[len(name)]
	return c == '>' || c == ' ' || c == '/' || ('\t' <= c && c <= '\r')
}

// blockWriter collects text block by block.
type blockWriter struct {
	lines bool // every line is a block

	out    strings.Builder
	pre    int  // pre elements that are open
	spaced bool // a blank is due before the next character
	broken bool // a line end is due before the next character
}

func (w *blockWriter) reset() { *w = blockWriter{lines: w.lines} }

func (w *blockWriter) tag(kind tagKind, _ []byte) {
	switch kind {
	case blank:
		w.spaced = true
	case boundary:
		w.broken = true
	case preOpen:
		w.broken = true
		w.pre++
	case preClose:
		w.broken = true
		w.pre = max(0, w.pre-1)
	}
}

func (w *blockWriter) ascii(text []byte) int {
	for i := 0; i < len(text); {
		if i > 0 && endsASCII(text[i]) {
			return i
		}
		w.char(rune(text[i]))
		end := i + 1
		if text[i] > ' ' {
			for end < len(text) && text[end] > ' ' && !endsASCII(text[end]) {
				end++
			}
			w.out.Write(text[i+1 : end])
		}
		i = end
	}
	return len(text)
}

func (w *blockWriter) char(r rune) {
	if (r == '\n' || r == '\r') && (w.lines || w.pre > 0) {
		w.broken = true
		return
	}
	if unicode.IsSpace(r) {
		w.spaced = true
		return
	}
	if w.out.Len() > 0 {
		if w.broken {
			w.out.WriteByte('\n')
		} else if w.spaced {
			w.out.WriteByte(' ')
		}
	}
	w.broken, w.spaced = false, false
	w.out.WriteRune(r)
}

// Tokens cuts text into words: lower case, maximal runs of letters and numbers; each Han or kana character is
// a word of its own, else Japanese would have no shingles.
func Tokens(text string) []string {
	var out []string
	var word []byte
	end := func() {
		if len(word) > 0 {
			out = append(out, string(word))
			word = word[:0]
		}
	}
	for _, r := range text {
		switch r = lowerRune(r); {
		case !isWord(r):
			end()
		case standsAlone(r):
			end()
			out = append(out, string(r))
		default:
			word = utf8.AppendRune(word, r)
		}
	}
	end()
	return out
}

// lowerRune is the lower case of one character, regardless of its neighbors.
func lowerRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r |= 0x20
		}
		return r
	}
	return unicode.ToLower(r)
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return IsLetter(byte(r)) || ('0' <= r && r <= '9')
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// standsAlone says whether a letter is kana or Han.
func standsAlone(r rune) bool {
	return r >= 0x3005 && (r <= 0x3007 || (0x3040 <= r && r <= 0x30ff) || (0x31f0 <= r && r <= 0x31ff) ||
		(0x3400 <= r && r <= 0x4dbf) || (0x4e00 <= r && r <= 0x9fff) ||
		(0xf900 <= r && r <= 0xfaff) || (0xff66 <= r && r <= 0xff9f) || (0x20000 <= r && r <= 0x3ffff))
}

// SPDX-License-Identifier: Apache-2.0

// Package text extracts the text of a page, independent of its markup and encoding, and makes short digests
// of it that can be compared.
//
//   - [Extract] decodes and de-tags a page, [Tokens] and [Lines] split the text, [Shingles] are its
//     k-grams, [Chunks] its fingerprints by lines.
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
func Extract(body []byte) string {
	_, said := extract(body, "", false)
	return said
}

// Page is Extract for a page whose answer named an encoding, "" for none, with its title apart from the rest.
func Page(body []byte, label string) (title, said string) { return extract(body, label, true) }

// extract is Extract; with apart, the text of the first title element is no part of the rest.
func extract(body []byte, label string, apart bool) (title, said string) {
	d := decode(nil, body, label)
	b, tags := d.text, newTagTable()
	w, m := &blockWriter{}, markup{tags: tags}
	var rest *blockWriter // w is that of the title; nil: it is not
	var ref []byte
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case c == '<' && opens(b, i):
			switch {
			case rest != nil && isTag(b[i+1:], "/title"):
				title, w, rest = w.String(), rest, nil
			case apart && rest == nil && title == "" && isTag(b[i+1:], "title"):
				w, rest = &blockWriter{}, w
			}
			next, kind := m.skip(b, i)
			i = next
			w.tag(kind)
		case c == '&':
			ref, i = entity(ref[:0], b, i)
			for left := ref; len(left) > 0; {
				r, size := utf8.DecodeRune(left)
				left = left[size:]
				w.char(r)
			}
		case c < utf8.RuneSelf:
			w.char(rune(c))
			i++
		default:
			r, size, again := d.rune(i)
			if again {
				i, w, m = 0, &blockWriter{}, markup{tags: tags}
				title, rest = "", nil
				continue
			}
			w.char(r)
			i += size
		}
	}
	if rest != nil { // the title does not end
		return "", rest.String() + w.String()
	}
	return title, w.String()
}

// isTag says whether a tag, without its "<", has a name.
func isTag(tag []byte, name string) bool {
	if len(tag) <= len(name) || !bytes.EqualFold(tag[:len(name)], []byte(name)) {
		return false
	}
	c := tag[len(name)]
	return c == '>' || c == ' ' || c == '/' || ('\t' <= c && c <= '\r')
}

// ExtractPlain is Extract for a body that is not HTML: every line is a block.
func ExtractPlain(body []byte) string { return Plain(body, "") }

// Plain is ExtractPlain for a body whose answer named an encoding.
func Plain(body []byte, label string) string {
	d := decode(nil, body, label)
	w := &blockWriter{pre: 1}
	for i := 0; i < len(d.text); {
		r, size, again := rune(d.text[i]), 1, false
		if r >= utf8.RuneSelf {
			if r, size, again = d.rune(i); again {
				i, w = 0, &blockWriter{pre: 1}
				continue
			}
		}
		w.char(r)
		i += size
	}
	return w.String()
}

// blockWriter collects text block by block.
type blockWriter struct {
	out    strings.Builder
	pre    int
	spaced bool // a blank is due before the next character
	broken bool // a line end is due before the next character
}

func (w *blockWriter) tag(kind tagKind) {
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

func (w *blockWriter) char(r rune) {
	if (r == '\n' && w.pre > 0) || (r == '\r' && w.pre > 0) {
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

func (w *blockWriter) String() string { return w.out.String() }

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

// lineWidth is the width that Lines fills, in characters.
const lineWidth = 72

// Lines re-flows every block of a text to lines of at most 72 characters, filled greedily; a longer word has
// a line of its own. So lines depend on the text and not on the source of the page.
func Lines(text string) []string {
	var out []string
	for block := range strings.SplitSeq(text, "\n") {
		var line []byte
		width := 0
		for word := range strings.FieldsSeq(block) {
			n := utf8.RuneCountInString(word)
			if width > 0 && width+1+n > lineWidth {
				out = append(out, string(line))
				line, width = line[:0], 0
			}
			if width > 0 {
				line = append(line, ' ')
				width++
			}
			line = append(line, word...)
			width += n
		}
		if width > 0 {
			out = append(out, string(bytes.TrimSpace(line)))
		}
	}
	return out
}

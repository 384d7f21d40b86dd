// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"math/bits"
	"strings"
)

// tagKind is what a tag means for the text around it.
type tagKind uint8

const (
	inline   tagKind = iota // nothing: "x<b>y</b>z" is one word
	blank                   // a cell of a table: a blank
	boundary                // a block begins or ends
	preOpen                 // a block in which line ends are boundaries
	preClose
	raw // script or style: its content is no text
)

// Elements that are no part of a line of text.
const blocks = "p br dd dl dt h1 h2 h3 h4 h5 h6 hr li ol tr ul col dir div nav body form head html main " +
	"menu aside frame table tbody tfoot thead title center " +
	"dialog figure footer header iframe legend option select address article caption details section summary"

// tagTable knows the elements with a name of at most seven letters that mean something for the text around
// them. No two have one slot.
type tagTable [128]struct {
	name uint64 // the first letter lowest
	kind tagKind
}

func tagSlot(name uint64) uint64 { return name * 0xa8450fba5d67cd81 >> (64 - 7) }

func newTagTable() *tagTable {
	t := new(tagTable)
	put := func(name string, kind tagKind) {
		key := load([]byte(name), 0)
		e := &t[tagSlot(key)]
		e.name, e.kind = key, kind
	}
	for name := range strings.FieldsSeq(blocks) {
		put(name, boundary)
	}
	put("td", blank)
	put("th", blank)
	put("pre", preOpen)
	put("script", raw)
	put("style", raw)
	return t
}

// kind returns what an element means, by its name in small letters.
func (t *tagTable) kind(name []byte) tagKind {
	if len(name) == 0 {
		return inline
	}
	if len(name) <= 7 {
		return t.meaning(load(name, 0))
	}
	switch string(name) {
	case "blockquote", "colgroup", "fieldset", "figcaption", "frameset", "noframes", "noscript", "optgroup",
		"textarea":
		return boundary
	}
	return inline
}

// meaning is kind for a name of at most seven letters.
func (t *tagTable) meaning(name uint64) tagKind {
	if e := &t[tagSlot(name)]; e.name == name {
		return e.kind
	}
	return inline
}

// quick finds the end of most tags: a name of at most six letters, then the end, or attributes of which the
// last one is quoted. It returns the name for meaning, and 0 for any other tag, for script and style, and for
// other markup.
func quick(b []byte, i int) (next int, name uint64) {
	if i++; i >= len(b) {
		return 0, 0
	}
	x := load(b, i)
	closing := (uint64(byte(x)^'/') - 1) >> 63 // 1 if it is "/"
	x >>= closing * 8
	stop := ^alnum(x) & tops
	stop &= -stop
	name = lower(x) & ((stop - 1) >> 7)
	end := bits.TrailingZeros64(stop)
	if byte(name) < 'a' || end >= 56 || name == scriptName || name == styleName {
		return 0, 0
	}
	i += int(closing) + end/8
	switch byte(x >> (end - 7)) {
	case '>':
		return i + 1, name
	case ' ', '\n':
		if n := quickEnd(b[i:]); n > 0 {
			return i + n, name
		}
	}
	return 0, 0
}

// quickly skips most tags, regardless of their meaning, and blanks and line ends between and after them.
// It leaves scripts, styles, comments and other markup.
func quickly(b []byte, i int) int {
	for i+1 < len(b) && b[i] == '<' {
		c := b[i+1]
		if c != '/' && !IsLetter(c) {
			break
		}
		x := load(b, i+1)
		end := has(x, '>')
		quotes := has(x, '"') | has(x, '\'')
		switch {
		case lower(x)&(1<<48-1) == scriptName || lower(x)&(1<<40-1) == styleName:
			return i
		case end != 0 && quotes&(end^(end-1)) == 0:
			i += bits.TrailingZeros64(end)/8 + 2
		default:
			n := quickEnd(b[i+1:])
			if n == 0 {
				return i
			}
			i += 1 + n
		}
		for i < len(b) && (b[i] == ' ' || b[i] == '\n') {
			i++
		}
	}
	return i
}

// Names as quick returns them.
const (
	scriptName = 's' | 'c'<<8 | 'r'<<16 | 'i'<<24 | 'p'<<32 | 't'<<40
	styleName  = 's' | 't'<<8 | 'y'<<16 | 'l'<<24 | 'e'<<32
)

// quickEnd returns where a tag ends whose attributes begin at b[0]; 0 when that takes a closer look. The
// first ">" is no part of a value when there is no single quote before it, and the last thing before it is a
// double quote that begins no value: it ends one, or stands for nothing.
func quickEnd(b []byte) int {
	end := bytes.IndexByte(b, '>')
	if end < 2 {
		return 0
	}
	last := end - 1
	if b[last] == '/' {
		last--
	}
	if b[last] == ' ' {
		last--
	}
	if last < 1 || b[last] != '"' || b[last-1] == '=' || isSpace(b[last-1]) ||
		bytes.IndexByte(b[:last], '\'') >= 0 {
		return 0
	}
	return end + 1
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

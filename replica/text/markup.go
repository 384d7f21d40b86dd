// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"html"
	"math/bits"
)

// markup skips markup. Each search that fails once would fail again, so it is not made again: a
// page takes linear time.
type markup struct {
	tags      *tagTable
	noComment bool // no further comment ends
	noQuotes  bool // an attribute's quote was never closed: tags end at the first ">"
}

// longestName is longer than the name of any element that means something.
const longestName = 12

// opens says whether the "<" at b[i] begins markup; else it is a character like others.
func opens(b []byte, i int) bool {
	if i+1 >= len(b) {
		return false
	}
	c := b[i+1]
	return IsLetter(c) || c == '/' || c == '!' || c == '?'
}

// skip returns where the text continues after the markup at b[i], which opens, and what it means. A script
// or style is skipped with its content.
func (m *markup) skip(b []byte, i int) (int, tagKind) {
	rest := b[i:]
	switch {
	case rest[1] == '!' && len(rest) >= 4 && rest[2] == '-' && rest[3] == '-' && !m.noComment:
		if end := bytes.Index(rest[4:], []byte("-->")); end >= 0 {
			return i + 4 + end + 3, inline
		}
		m.noComment = true
		fallthrough
	case rest[1] == '!' || rest[1] == '?':
		if end := bytes.IndexByte(rest, '>'); end >= 0 {
			return i + end + 1, inline
		}
		return len(b), inline
	}
	at, closing := 1, false
	if rest[1] == '/' {
		at, closing = 2, true
	}
	var name [longestName]byte
	n := 0
	for ; at < len(rest) && n < len(name); n++ {
		c := rest[at]
		if IsLetter(c) {
			c |= 0x20
		} else if c < '0' || c > '9' {
			break
		}
		name[n] = c
		at++
	}
	kind := inline
	if at == len(rest) || (rest[at] != '-' && rest[at] != ':') { // else it is a custom element
		kind = m.tags.kind(name[:n])
	}
	next := i + m.tagEnd(rest, at)
	switch {
	case kind == raw && closing:
		return next, inline
	case kind == raw:
		return rawEnd(b, next, string(name[:n])), inline
	case kind == preOpen && closing:
		return next, preClose
	}
	return next, kind
}

// tagEnd returns where a tag ends: behind the ">" outside of quoted values.
func (m *markup) tagEnd(tag []byte, from int) int {
	for i := from; i < len(tag); {
		x := load(tag, i)
		hit := has(x, '>') | has(x, '"') | has(x, '\'')
		if hit == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(hit) / 8
		c := tag[i]
		if c == '>' {
			return i + 1
		}
		i++
		if m.noQuotes || !afterEquals(tag[:i-1]) {
			continue
		}
		end := bytes.IndexByte(tag[i:], c)
		if end < 0 {
			m.noQuotes = true
			continue
		}
		i += end + 1
	}
	return len(tag)
}

// afterEquals says whether what comes next is the value of an attribute.
func afterEquals(b []byte) bool {
	for i := len(b) - 1; i >= 0 && i > len(b)-16; i-- {
		switch b[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return b[i] == '='
		}
	}
	return false
}

// rawEnd returns where the content of a script or style ends, behind its end tag.
func rawEnd(b []byte, i int, name string) int {
	for {
		at := bytes.Index(b[i:], []byte("</"))
		if at < 0 {
			return len(b)
		}
		i += at + 2
		if len(b) >= i+len(name) && bytes.EqualFold(b[i:i+len(name)], []byte(name)) {
			if end := bytes.IndexByte(b[i:], '>'); end >= 0 {
				return i + end + 1
			}
			return len(b)
		}
	}
}

// maxEntity bounds a character reference: the longest name has 31 letters, and more digits say nothing more.
const maxEntity = 34

// entity decodes the character reference at b[i], which is "&", into dst, and returns where the text
// continues. Other text is copied as it is.
func entity(dst []byte, b []byte, i int) ([]byte, int) {
	end := i + 1
	for end < len(b) && end < i+maxEntity &&
		(IsLetter(b[end]) || (b[end] >= '0' && b[end] <= '9') || b[end] == '#') {
		end++
	}
	if end < i+3 { // no reference is that short
		return append(dst, b[i:end]...), end
	}
	if end < len(b) && b[end] == ';' {
		end++
	}
	switch string(b[i:end]) {
	case "&amp;":
		return append(dst, '&'), end
	case "&lt;":
		return append(dst, '<'), end
	case "&gt;":
		return append(dst, '>'), end
	case "&quot;":
		return append(dst, '"'), end
	case "&nbsp;", "&#160;":
		return append(dst, "\u00a0"...), end
	}
	return append(dst, html.UnescapeString(string(b[i:end]))...), end
}

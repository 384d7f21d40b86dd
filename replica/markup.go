package replica

import (
	"bytes"
	"html"
)

// tagKind is what a tag means for the text around it.
type tagKind uint8

const (
	inline   tagKind = iota // nothing: "x<b>y</b>z" is one word
	blank                   // a cell of a table: a blank
	boundary                // a block begins or ends
	preOpen                 // a block in which line ends are boundaries
	preClose
)

// markup skips what is not text. Each search that fails once would fail again, so it is not made again: a page takes linear time.
type markup struct {
	noComment bool // no further comment ends
	noQuotes  bool // an attribute's quote was never closed: tags end at the first ">"
}

// opens says whether the "<" at b[i] begins markup; else it is a character like others.
func opens(b []byte, i int) bool {
	if i+1 >= len(b) {
		return false
	}
	c := b[i+1]
	return isLetter(c) || c == '/' || c == '!' || c == '?'
}

// skip returns where the text goes on after the markup at b[i], which opens, and what it means. A script or style is skipped with its content.
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
	name := uint64(0)
	for n := 0; at < len(rest) && n < 8; n++ {
		c := rest[at]
		if isLetter(c) {
			c |= 0x20
		} else if c < '0' || c > '9' {
			break
		}
		name = name<<8 | uint64(c)
		at++
	}
	if at < len(rest) && (rest[at] == '-' || rest[at] == ':') {
		name = 0 // an element of somebody's own
	}
	end := m.tagEnd(rest, at)
	next := i + end
	switch name {
	case 's'<<40 | 'c'<<32 | 'r'<<24 | 'i'<<16 | 'p'<<8 | 't':
		if !closing {
			return rawEnd(b, next, "script"), inline
		}
	case 's'<<32 | 't'<<24 | 'y'<<16 | 'l'<<8 | 'e':
		if !closing {
			return rawEnd(b, next, "style"), inline
		}
	case 'p'<<16 | 'r'<<8 | 'e':
		if closing {
			return next, preClose
		}
		return next, preOpen
	case 't'<<8 | 'd', 't'<<8 | 'h':
		return next, blank
	}
	return next, blockKind(name)
}

// tagEnd returns where a tag ends: behind the ">" that stands in no quoted value.
func (m *markup) tagEnd(tag []byte, from int) int {
	for i := from; i < len(tag); i++ {
		switch c := tag[i]; {
		case c == '>':
			return i + 1
		case (c == '"' || c == '\'') && !m.noQuotes && afterEquals(tag[:i]):
			end := bytes.IndexByte(tag[i+1:], c)
			if end < 0 {
				m.noQuotes = true
				continue
			}
			i += 1 + end
		}
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

// entity decodes the character reference at b[i], which is "&", into dst, and returns where the text goes on. What is no reference
// stays as it is.
func entity(dst []byte, b []byte, i int) ([]byte, int) {
	end := i + 1
	for end < len(b) && end < i+maxEntity && (isLetter(b[end]) || b[end] >= '0' && b[end] <= '9' || b[end] == '#') {
		end++
	}
	if end == i+1 {
		return append(dst, '&'), end
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

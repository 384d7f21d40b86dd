// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"html"
	"unicode/utf8"
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

// kindOf returns what an element means, by its name in small letters.
func kindOf(name []byte) tagKind {
	switch string(name) {
	case "td", "th":
		return blank
	case "pre":
		return preOpen
	case "script", "style":
		return raw
	case "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "col", "colgroup",
		"dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer",
		"form", "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html",
		"iframe", "legend", "li", "main", "menu", "nav", "noframes", "noscript", "ol", "optgroup", "option",
		"p", "section", "select", "summary", "table", "tbody", "textarea", "tfoot", "thead", "title", "tr",
		"ul":
		return boundary
	}
	return inline
}

// sink takes what a page says.
type sink interface {
	reset()                // the page begins, or begins again
	ascii(text []byte) int // takes ASCII up to what endsASCII, at least one, and says how many
	char(r rune)
	tag(kind tagKind, tag []byte) // from behind its "<" to the end of the page
}

// markup skips markup. Each search that fails once would fail again, so it is not made again: a
// page takes linear time.
type markup struct {
	noComment bool // no further comment ends
	noQuotes  bool // an attribute's quote was never closed: tags end at the first ">"
	ref       []byte
}

// feed gives a page to a sink, in linear time and without a copy.
func (m *markup) feed(to sink, d decoded, isHTML bool) {
	b := d.text
	m.noComment, m.noQuotes = false, false
	to.reset()
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case isHTML && c == '<' && opens(b, i):
			next, kind := m.skip(b, i)
			to.tag(kind, b[i+1:])
			i = next
		case isHTML && c == '&':
			m.ref, i = entity(m.ref[:0], b, i)
			for _, r := range string(m.ref) {
				to.char(r)
			}
		case c < utf8.RuneSelf:
			i += to.ascii(b[i:])
		default:
			r, size, again := d.rune(i)
			if again {
				m.feed(to, d, isHTML)
				return
			}
			to.char(r)
			i += size
		}
	}
}

// endsASCII reports whether a byte may be more than a character of its own.
func endsASCII(c byte) bool { return c == '<' || c == '&' || c >= utf8.RuneSelf }

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
		kind = kindOf(name[:n])
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
	for i := from; i < len(tag); i++ {
		c := tag[i]
		if c == '>' {
			return i + 1
		}
		if (c != '"' && c != '\'') || m.noQuotes || !afterEquals(tag[:i]) {
			continue
		}
		end := bytes.IndexByte(tag[i+1:], c)
		m.noQuotes = end < 0
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

// SPDX-License-Identifier: Apache-2.0

package relocate

import "bytes"

// Markup is what a place of an HTML page is part of.
type Markup uint8

const (
	MarkupTag  Markup = iota // a start or end tag
	MarkupText               // where character references are decoded: text, titles
	MarkupRaw                // scripts, styles, comments and the like
)

// MarkupFinder finds out what places of an HTML page are part of, by the HTML tokenization rules. The zero
// value is one of an empty page.
type MarkupFinder struct {
	page       []byte
	start, end int // of the part that was read last
	part       Markup
	raw        string // the element whose raw text comes next, "" for none
}

// FindMarkup returns the parts of a page.
func FindMarkup(page []byte) MarkupFinder { return MarkupFinder{page: page} }

// At returns the part at an offset, and where that part begins. Offsets must not decrease.
func (x *MarkupFinder) At(at int) (start int, p Markup) {
	for x.end <= at && x.end < len(x.page) {
		x.next()
	}
	return x.start, x.part
}

// next reads the part that begins at end.
func (x *MarkupFinder) next() {
	s, p := x.page, x.end
	x.start = p
	if name := x.raw; name != "" {
		x.raw = ""
		x.part, x.end = MarkupRaw, len(s)
		if name == "title" || name == "textarea" {
			x.part = MarkupText
		}
		if name != "plaintext" {
			x.end = rawEnd(s, p, name)
		}
		if x.end > p {
			return
		}
	}
	if end := textEnd(s, p); end > p {
		x.part, x.end = MarkupText, end
		return
	}
	x.part = MarkupRaw
	switch c := s[p+1]; {
	case letter(c):
		x.startTag(p + 1)
	case c == '!':
		x.end = skipMarkup(s, p+2)
	case c == '/' && letter(s[p+2]):
		x.part, x.end = MarkupTag, skipTag(s, p+2)
	default:
		x.end = after(s, p, '>')
	}
	if x.end < 0 { // the page ends inside a tag, which therefore does not count
		x.part, x.end = MarkupRaw, len(s)
	}
}

// textEnd returns where the text ends that begins at s[p]: before a tag, a comment or the like.
func textEnd(s []byte, p int) int {
	for {
		i := bytes.IndexByte(s[p:], '<')
		if i < 0 || p+i+1 >= len(s) {
			return len(s)
		}
		p += i
		switch c := s[p+1]; {
		case letter(c), c == '!', c == '?':
			return p
		case c == '/' && p+2 < len(s):
			return p
		}
		p++
	}
}

// startTag reads a tag whose name starts at s[p].
func (x *MarkupFinder) startTag(p int) {
	x.part, x.end = MarkupTag, skipTag(x.page, p)
	end, hash := tagName(x.page, p)
	if tag := tagNames.of(hash, x.page[p:end]); tag != tagNoscript {
		x.raw = rawNames[tag]
	}
}

// SPDX-License-Identifier: Apache-2.0

package relocate

import "bytes"

// The tokenization rules here are those of golang.org/x/net/html's Tokenizer, which follows the HTML
// standard, section 13.2.5; a differential fuzz test holds the two together.

// rawAttr is one attribute as it is written: s[k0:k1] is its name, s[v0:v1] its value, s[k0:end] all of it
// with quotes.
type rawAttr struct {
	k0, k1, v0, v1, end int
	hash                uint64 // of the name, see names.go
	quote               byte   // '"', '\'' or 0
}

// The classes of bytes inside a tag.
const (
	tagSpace   = 1 << iota // white space
	tagNameEnd             // ends a tag name: white space / >
	tagKeyEnd              // ends an attribute name: white space / > =
)

var tagClass = func() (t [256]uint8) {
	for _, c := range []byte(" \n\r\t\f") {
		t[c] = tagSpace | tagNameEnd | tagKeyEnd
	}
	t['/'], t['>'] = tagNameEnd|tagKeyEnd, tagNameEnd|tagKeyEnd
	t['='] = tagKeyEnd
	return t
}()

// tagName returns the end of the tag name that starts at s[p] and the name's hash.
func tagName(s []byte, p int) (end int, hash uint64) {
	for ; p < len(s); p++ {
		c := s[p]
		if tagClass[c]&tagNameEnd != 0 {
			break
		}
		hash = addName(hash, c)
	}
	return p, hash
}

// What nextAttr returns in place of a position.
const (
	attrEOF  = -1 // the document ends inside the tag, which therefore does not count
	attrNone = -2 // the tag is complete; a.end is the position after its '>'
)

// nextAttr reads the attribute at or after s[p] and returns the position after it. The name may be empty:
// that is no attribute.
func nextAttr(s []byte, p int, a *rawAttr) int {
	for p < len(s) && tagClass[s[p]]&tagSpace != 0 {
		p++
	}
	if p >= len(s) {
		return attrEOF
	}
	if s[p] == '>' {
		a.end = p + 1
		return attrNone
	}
	k0 := p
	hash := uint64(0)
	if s[p] == '=' { // an equals sign before a name belongs to it
		hash = addName(0, '=')
		p++
	}
	for p < len(s) {
		c := s[p]
		if tagClass[c]&tagKeyEnd != 0 {
			break
		}
		hash = addName(hash, c)
		p++
	}
	if p >= len(s) {
		return attrEOF
	}
	a.k0, a.k1, a.hash, a.quote = k0, p, hash, 0
	a.v0, a.v1, a.end = p, p, p
	if s[p] != '=' {
		for p < len(s) && tagClass[s[p]]&tagSpace != 0 {
			p++
		}
		if p >= len(s) {
			return attrEOF
		}
		if s[p] == '/' {
			return p + 1
		}
		if s[p] != '=' {
			return p
		}
	}
	for p++; p < len(s) && tagClass[s[p]]&tagSpace != 0; p++ {
	}
	if p >= len(s) {
		return attrEOF
	}
	switch c := s[p]; c {
	case '>':
		a.v0, a.v1, a.end = p, p, p
		return p
	case '"', '\'':
		p++
		i := bytes.IndexByte(s[p:], c)
		if i < 0 {
			return attrEOF
		}
		a.quote, a.v0, a.v1, a.end = c, p, p+i, p+i+1
		return p + i + 1
	}
	a.v0 = p
	for p < len(s) && s[p] != '>' && tagClass[s[p]]&tagSpace == 0 {
		p++
	}
	if p >= len(s) {
		return attrEOF
	}
	a.v1, a.end = p, p
	return p
}

// skipTag returns the position after the tag whose name starts at s[p], or -1 if the document ends inside it.
func skipTag(s []byte, p int) int {
	p, _ = tagName(s, p)
	if p < len(s) && s[p] == '>' {
		return p + 1
	}
	var a rawAttr
	for {
		if p = nextAttr(s, p, &a); p == attrNone {
			return a.end
		} else if p == attrEOF {
			return -1
		}
	}
}

// skipMarkup returns the position after the markup declaration whose "<!" ends at s[p].
func skipMarkup(s []byte, p int) int {
	if p+1 < len(s) && s[p] == '-' && s[p+1] == '-' {
		return skipComment(s, p+2)
	}
	return after(s, p, '>')
}

// after returns the position after the next c at or after s[p], or the end.
func after(s []byte, p int, c byte) int {
	if i := bytes.IndexByte(s[p:], c); i >= 0 {
		return p + i + 1
	}
	return len(s)
}

// skipComment returns the position after the comment whose text starts at s[p]. It ends at the first '>' that
// follows "--" or "--!", or nothing but dashes.
func skipComment(s []byte, p int) int {
	start := p
	dashes := p // s[start:dashes] is dashes only
	for dashes < len(s) && s[dashes] == '-' {
		dashes++
	}
	for {
		i := bytes.IndexByte(s[p:], '>')
		if i < 0 {
			return len(s)
		}
		p += i
		switch text := s[start:p]; {
		case p == dashes,
			bytes.HasSuffix(text, []byte("--")),
			bytes.HasSuffix(text, []byte("--!")):
			return p + 1
		}
		p++
	}
}

// rawEnd returns the position of the "</name" that ends raw text starting at s[p], or the end. name is in
// lower case.
func rawEnd(s []byte, p int, name string) int {
	if name == "script" {
		return scriptEnd(s, p)
	}
	for {
		i := bytes.IndexByte(s[p:], '<')
		if i < 0 {
			return len(s)
		}
		p += i
		if endTagAt(s, p, name) {
			return p
		}
		p++
	}
}

// endTagAt reports whether s[p:] starts with "</name" and a byte that ends a tag name.
func endTagAt(s []byte, p int, name string) bool {
	n := p + 2 + len(name)
	return n < len(s) && s[p+1] == '/' && tagClass[s[n]]&tagNameEnd != 0 && equalFold(s[p+2:n], name)
}

// scriptEnd is rawEnd for scripts, where "<!--" hides "</script" after another "<script" (HTML standard,
// sections 13.2.5.17 to 31).
func scriptEnd(s []byte, p int) int {
	for { // script data state
		i := bytes.IndexByte(s[p:], '<')
		if i < 0 {
			return len(s)
		}
		p += i
		if endTagAt(s, p, "script") {
			return p
		}
		p++
		if !bytes.HasPrefix(s[p:], []byte("!--")) {
			continue
		}
		var closed bool
		if p, closed = escapedScript(s, p+3); closed {
			return p
		}
	}
}

// escapedScript reads on after "<!--" in a script. It returns either the position of the script's end tag, or
// the end of the document, and true, or the position after the "-->" that ends the escape.
func escapedScript(s []byte, p int) (end int, closed bool) {
	double := false
	gt := -1 // the next '>' at or after p, once looked for
	for p < len(s) {
		lt := bytes.IndexByte(s[p:], '<')
		if lt < 0 {
			lt = len(s)
		} else {
			lt += p
		}
		for {
			if gt < p {
				if i := bytes.IndexByte(s[p:], '>'); i >= 0 {
					gt = p + i
				} else {
					gt = len(s)
				}
			}
			if gt > lt || gt >= len(s) {
				break
			}
			if s[gt-1] == '-' && s[gt-2] == '-' { // the first two dashes are those of "<!--"
				return gt + 1, false
			}
			p = gt + 1
		}
		if lt >= len(s) {
			break
		}
		p = lt + 1
		switch {
		case !double && endTagAt(s, lt, "script"):
			return lt, true
		case !double && p+6 < len(s) && equalFold(s[p:p+6], "script") && tagClass[s[p+6]]&tagNameEnd != 0:
			double = true
			p += 7
		case double && endTagAt(s, lt, "script"):
			double = false
			p += 8
		}
	}
	return len(s), true
}

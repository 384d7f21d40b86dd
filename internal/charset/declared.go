// SPDX-License-Identifier: Apache-2.0

package charset

import (
	"bytes"

	"golang.org/x/net/html"
)

// Window is how far into a document browsers look for its encoding (HTML Standard, section 13.2.3.2).
const Window = 1024

// Syntax says where documents of a format name their encoding.
type Syntax uint8

// The kinds of documents.
const (
	Other Syntax = iota // nowhere
	HTML                // in a meta element, or an XML declaration
	XML                 // in an XML declaration
	CSS                 // in an @charset rule
	JSON                // nowhere, and it is UTF-8 regardless of the header
)

// Declared returns the encoding that a document names in its first bytes.
func Declared(head []byte, k Syntax) (Charset, bool) {
	switch k {
	case HTML:
		if bytes.HasPrefix(head, []byte("<\x00?\x00x\x00")) {
			return Lookup([]byte("utf-16le"))
		}
		if bytes.HasPrefix(head, []byte("\x00<\x00?\x00x")) {
			return Lookup([]byte("utf-16be"))
		}
		if c, ok := prescan(head); ok {
			return c, true
		}
		if label, _, _ := XMLDeclaration(head); len(label) > 0 {
			return InDocument(label)
		}
	case CSS:
		if a, b := CSSRule(head); b > 0 {
			return InDocument(head[a:b])
		}
	case XML:
		if bytes.HasPrefix(head, []byte("<\x00?\x00")) {
			return Lookup([]byte("utf-16le"))
		}
		if bytes.HasPrefix(head, []byte("\x00<\x00?")) {
			return Lookup([]byte("utf-16be"))
		}
		if label, _, _ := XMLDeclaration(head); len(label) > 0 {
			return InDocument(label)
		}
	}
	return Charset{}, false
}

// CSSRule returns the span of the name in an @charset rule, which must be the first bytes, spelled exactly so
// (CSS Syntax, section 3.2), or 0, 0.
func CSSRule(head []byte) (start, end int) {
	const prefix = `@charset "`
	if !bytes.HasPrefix(head, []byte(prefix)) {
		return 0, 0
	}
	rest := head[len(prefix):]
	if i := bytes.IndexByte(rest, '"'); i >= 0 && i+1 < len(rest) && rest[i+1] == ';' {
		return len(prefix), len(prefix) + i
	}
	return 0, 0
}

// XMLDeclaration returns the encoding that an XML declaration names and the span of the name. Without an
// encoding the span is empty and stands where one can be inserted; without a declaration it is 0, 0.
func XMLDeclaration(head []byte) (label []byte, start, end int) {
	if !bytes.HasPrefix(head, []byte("<?xml")) || len(head) < 6 || !space(head[5]) {
		return nil, 0, 0
	}
	stop := bytes.Index(head, []byte("?>"))
	if stop < 0 {
		return nil, 0, 0
	}
	decl := head[:stop]
	i := bytes.Index(decl, []byte("encoding"))
	if i < 0 {
		at := stop
		if j := bytes.Index(decl, []byte("standalone")); j > 0 {
			at = j
		}
		for at > 0 && space(decl[at-1]) {
			at--
		}
		return nil, at, at
	}
	for i += len("encoding"); i < len(decl) && space(decl[i]); i++ {
	}
	if i >= len(decl) || decl[i] != '=' {
		return nil, 0, 0
	}
	for i++; i < len(decl) && space(decl[i]); i++ {
	}
	if i >= len(decl) || (decl[i] != '"' && decl[i] != '\'') {
		return nil, 0, 0
	}
	j := bytes.IndexByte(decl[i+1:], decl[i])
	if j < 0 {
		return nil, 0, 0
	}
	return decl[i+1 : i+1+j], i + 1, i + 1 + j
}

// space reports ASCII white space.
func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// prescan looks for a meta element that names an encoding (HTML standard, section 13.2.3.2, "prescan a byte
// stream to determine its encoding"). As Chromium does, it goes by the tags of a tokenizer, which finds none
// in scripts and titles.
func prescan(b []byte) (Charset, bool) {
	z := html.NewTokenizer(bytes.NewReader(b))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return Charset{}, false
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) != "meta" || indexFold(z.Raw(), "charset") < 0 {
				continue
			}
			attrs := map[string][]byte{}
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				if _, ok := attrs[string(key)]; !ok { // of attributes with one name the first counts
					attrs[string(key)] = value
				}
			}
			if c, ok := ofMeta(attrs); ok {
				return c, true
			}
		}
	}
}

// ofMeta returns the encoding that a meta element names: in its charset, or, with a pragma, in its content.
func ofMeta(attrs map[string][]byte) (Charset, bool) {
	label, ok := attrs["charset"]
	if !ok {
		if !equalFold(attrs["http-equiv"], "content-type") {
			return Charset{}, false
		}
		label = MetaContent(attrs["content"])
	}
	return InDocument(label)
}

// MetaContent is the standard's "extracting a character encoding from a meta element".
func MetaContent(b []byte) []byte {
	for {
		i := indexFold(b, "charset")
		if i < 0 {
			return nil
		}
		for b = b[i+len("charset"):]; len(b) > 0 && space(b[0]); b = b[1:] {
		}
		if len(b) == 0 || b[0] != '=' {
			continue
		}
		for b = b[1:]; len(b) > 0 && space(b[0]); b = b[1:] {
		}
		if len(b) == 0 {
			return nil
		}
		if q := b[0]; q == '"' || q == '\'' {
			if i := bytes.IndexByte(b[1:], q); i >= 0 {
				return b[1 : 1+i]
			}
			return nil
		}
		if i := bytes.IndexAny(b, "; \t\n\f\r"); i >= 0 {
			b = b[:i]
		}
		return b
	}
}

// indexFold returns where word, which is lower case, first occurs in b, case aside, or -1.
func indexFold(b []byte, word string) int {
	for i := 0; i+len(word) <= len(b); i++ {
		if b[i]|0x20 == word[0] && equalFold(b[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}

// equalFold reports whether b is word, which is ASCII, case aside.
func equalFold(b []byte, word string) bool {
	return len(b) == len(word) && bytes.EqualFold(b, []byte(word))
}

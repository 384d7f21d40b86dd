// SPDX-License-Identifier: Apache-2.0

// Package charset decides how the bytes of a document become characters. There are two rules. [Browser] is
// what browsers do, for links: what the document or its header names counts, regardless of the bytes.
// [Content] is what the bytes most probably are, for comparing what pages say: a wrong name must not make two
// copies of a page differ. Both know the same names and find the same declarations in a document.
//
// Sources: WHATWG, Encoding Standard; HTML Standard, section 13.2.3.2 ("Determining the character encoding").
package charset

import (
	"bytes"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// Charset is a document's encoding. The zero value is UTF-8.
type Charset struct {
	Name     string            // WHATWG name in lower case; "" for UTF-8
	Encoding encoding.Encoding // nil for UTF-8
	ASCII    bool              // the label was that of ASCII, which the standard reads as windows-1252
}

// IsUTF8 reports whether the encoding is UTF-8.
func (c Charset) IsUTF8() bool { return c.Name == "" }

// String returns the WHATWG name in lower case.
func (c Charset) String() string {
	if c.IsUTF8() {
		return "utf-8"
	}
	return c.Name
}

// IsUTF16 reports whether the encoding is UTF-16, in either order.
func (c Charset) IsUTF16() bool { return c.Name == "utf-16le" || c.Name == "utf-16be" }

// Transcoded reports whether ASCII bytes of the document may not be ASCII characters, so that it cannot be
// scanned bytewise.
func (c Charset) Transcoded() bool { return c.IsUTF16() || c.Name == "iso-2022-jp" }

// Lookup returns the encoding that a label names, as the WHATWG encoding standard lists them. The
// "replacement" encodings, whose documents browsers do not show at all, count as windows-1252: their ASCII
// links can still be found.
func Lookup(label []byte) (Charset, bool) {
	label = bytes.Trim(label, "\t\n\f\r \"'")
	if equalFold(label, "utf-8") || equalFold(label, "utf8") {
		return Charset{}, true
	}
	if len(label) > 32 { // longer than any label
		return Charset{}, false
	}
	enc, err := htmlindex.Get(strings.ToLower(string(label)))
	if err != nil {
		return Charset{}, false
	}
	name, err := htmlindex.Name(enc)
	switch {
	case err != nil:
		return Charset{}, false
	case name == "utf-8":
		return Charset{}, true
	case name == "replacement":
		return Windows1252(), true
	case name == "utf-16": // an alias of little endian
		name = "utf-16le"
	}
	return Charset{
		Name:     name,
		Encoding: enc,
		ASCII:    equalFold(label, "us-ascii") || equalFold(label, "ascii"),
	}, true
}

// Windows1252 is what browsers read ISO 8859-1 as, and pages that name no encoding.
func Windows1252() Charset { return named("windows-1252") }

func named(name string) Charset {
	c, _ := Lookup([]byte(name))
	return c
}

// InDocument applies the standard's rule for a label inside a document that was read as ASCII: UTF-16 cannot
// be true.
func InDocument(label []byte) (Charset, bool) {
	c, ok := Lookup(label)
	switch c.Name {
	case "utf-16le", "utf-16be":
		return Charset{}, true
	case "x-user-defined":
		return Windows1252(), true
	}
	return c, ok
}

// Len returns the length of the character at the start of s, whose first byte is not ASCII. A lead byte that
// no valid trail byte follows is a character of its own, as in the standard's decoders.
func (c Charset) Len(s []byte) int {
	if len(s) < 2 {
		return 1
	}
	b, t := s[0], s[1]
	switch c.Name {
	case "shift_jis":
		if ((0x81 <= b && b <= 0x9f) || (0xe0 <= b && b <= 0xfc)) &&
			((0x40 <= t && t <= 0x7e) || (0x80 <= t && t <= 0xfc)) {
			return 2
		}
	case "euc-jp":
		if b == 0x8f && len(s) > 2 && t >= 0xa1 && s[2] >= 0xa1 {
			return 3
		}
		if b >= 0x8e && t >= 0xa1 {
			return 2
		}
	case "gbk", "gb18030":
		if b == 0x80 || b == 0xff {
			return 1
		}
		if len(s) > 3 && '0' <= t && t <= '9' && s[2] >= 0x81 && '0' <= s[3] && s[3] <= '9' {
			return 4
		}
		if (0x40 <= t && t <= 0x7e) || (0x80 <= t && t <= 0xfe) {
			return 2
		}
	case "big5":
		if 0x81 <= b && b <= 0xfe && ((0x40 <= t && t <= 0x7e) || (0xa1 <= t && t <= 0xfe)) {
			return 2
		}
	case "euc-kr":
		if 0x81 <= b && b <= 0xfe && 0x41 <= t && t <= 0xfe {
			return 2
		}
	}
	return 1
}

// Decode returns s, whole characters, in UTF-8. Invalid characters become U+FFFD.
func (c Charset) Decode(s []byte) []byte {
	if c.IsUTF8() {
		return bytes.ToValidUTF8(s, []byte("\ufffd"))
	}
	out, err := c.Encoding.NewDecoder().Bytes(s)
	if err != nil {
		return []byte("\ufffd")
	}
	return out
}

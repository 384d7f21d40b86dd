// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"html"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// entityAt decodes the character reference at the start of s, which is '&', as in an attribute value (HTML
// standard, section 13.2.5.72 and following): a name without semicolon is no reference when '=' or an
// alphanumeric follows. It returns one or two characters and the bytes consumed, or 0 for no reference. In
// XML only the five predefined names exist.
func entityAt(s []byte, xml bool) (r1, r2 rune, n int) {
	if len(s) < 3 {
		return 0, 0, 0
	}
	if s[1] == '#' {
		return numericAt(s)
	}
	i := 1
	for i < len(s) && i < maxEntity && alnum(s[i]) {
		i++
	}
	if i == 1 {
		return 0, 0, 0
	}
	semicolon := i < len(s) && s[i] == ';'
	switch string(s[1:i]) {
	case "amp":
		r1 = '&'
	case "lt":
		r1 = '<'
	case "gt":
		r1 = '>'
	case "quot":
		r1 = '"'
	case "apos":
		if !semicolon {
			return 0, 0, 0
		}
		r1 = '\''
	}
	if r1 != 0 {
		if semicolon {
			return r1, 0, i + 1
		}
		if xml || (i < len(s) && (s[i] == '=' || alnum(s[i]))) {
			return 0, 0, 0
		}
		return r1, 0, i
	}
	if xml || (!semicolon && i < len(s) && (s[i] == '=' || alnum(s[i]))) {
		return 0, 0, 0
	}
	if semicolon {
		i++
	}
	return namedRef(string(s[:i]))
}

// maxEntity is longer than any name in the standard's table (&CounterClockwiseContourIntegral;).
const maxEntity = 40

// namedRef looks ref up in the standard library's table. The library decodes the longest prefix that is a
// name; only the whole counts here. A prefix leaves a rest that ends in the semicolon or, without one, more
// than the one character that every name valid without semicolon stands for.
func namedRef(ref string) (r1, r2 rune, n int) {
	out := html.UnescapeString(ref)
	if out == ref {
		return 0, 0, 0
	}
	r1, k := utf8.DecodeRuneInString(out)
	if k < len(out) {
		var k2 int
		r2, k2 = utf8.DecodeRuneInString(out[k:])
		if ref[len(ref)-1] != ';' || k+k2 < len(out) || r2 == ';' {
			return 0, 0, 0
		}
	}
	return r1, r2, len(ref)
}

func numericAt(s []byte) (r1, r2 rune, n int) {
	i, base := 2, rune(10)
	if s[i]|0x20 == 'x' {
		i, base = 3, 16
	}
	x, start := rune(0), i
	for ; i < len(s); i++ {
		d := digit(s[i])
		if d >= base {
			break
		}
		if x <= utf8.MaxRune {
			x = x*base + d
		}
	}
	if i == start {
		return 0, 0, 0
	}
	if i < len(s) && s[i] == ';' {
		i++
	}
	switch {
	case 0x80 <= x && x <= 0x9f:
		// HTML standard, section 13.2.5.80; what the encoding has no character for stays
		if r := charmap.Windows1252.DecodeByte(byte(x)); r != utf8.RuneError {
			x = r
		}
	case x == 0, x > utf8.MaxRune, 0xd800 <= x && x <= 0xdfff:
		x = utf8.RuneError
	}
	return x, 0, i
}

// digit returns the value of a hexadecimal digit, or 16.
func digit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return 16
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func alnum(c byte) bool  { return letter(c) || ('0' <= c && c <= '9') }

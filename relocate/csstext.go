// SPDX-License-Identifier: Apache-2.0

package relocate

import "unicode/utf8"

// textOfCSS returns the text of v, a string or unquoted url(), with its escapes decoded.
func textOfCSS(sc *scanner, v view) view {
	d := sc.newDecoder(&v)
	s := v.s
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			d.put(i, s[i])
			i++
			continue
		}
		r, n := cssEscape(s[i:])
		switch {
		case n > 0:
			d.rune(i, r)
			i += n
		case i+2 < len(s) && s[i+1] == '\r' && s[i+2] == '\n':
			i += 3
		default: // a line continuation, or a backslash at the end
			i += min(2, len(s)-i)
		}
	}
	return d.view(len(s))
}

// cssEscape decodes the escape at the start of s, which is a backslash, and returns the bytes consumed: 0
// when a line end or nothing follows, which is no escape (CSS Syntax, section 4.3.7).
func cssEscape(s []byte) (r rune, n int) {
	if len(s) < 2 || s[1] == '\n' || s[1] == '\r' || s[1] == '\f' {
		return 0, 0
	}
	x, i := rune(0), 1
	for ; i < len(s) && i < 7; i++ {
		d := digit(s[i])
		if d > 15 {
			break
		}
		x = x<<4 | d
	}
	if i == 1 {
		if s[1] < 0x80 {
			return rune(s[1]), 2
		}
		r, n = utf8.DecodeRune(s[1:])
		return r, n + 1
	}
	if i+1 < len(s) && s[i] == '\r' && s[i+1] == '\n' {
		i += 2
	} else if i < len(s) && space(s[i]) {
		i++
	}
	if x == 0 || x > 0x10ffff || (0xd800 <= x && x <= 0xdfff) {
		x = 0xfffd
	}
	return x, i
}

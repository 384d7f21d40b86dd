// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding/japanese"

	"mirrord/internal/charset"
)

// syntaxOf says where documents of a format name their encoding.
func syntaxOf(f Format) charset.Syntax {
	if r := known.all[f]; r != nil {
		return r.syntax
	}
	return charset.Other
}

// unit16 returns the UTF-16 code unit at s[i:].
func unit16(s []byte, i int, big bool) rune {
	if big {
		return rune(s[i])<<8 | rune(s[i+1])
	}
	return rune(s[i]) | rune(s[i+1])<<8
}

// document returns a document of an encoding that the scanner cannot read as it is, in UTF-8.
func (d *decoder) document(cs charset.Charset) view {
	if cs.Name == "iso-2022-jp" {
		return d.iso2022()
	}
	return d.utf16(cs.Name == "utf-16be")
}

// utf16 returns a UTF-16 document in UTF-8. The byte order mark, if any, is left out.
func (d *decoder) utf16(big bool) view {
	s := d.v.s
	i := 0
	if len(s) >= 2 && unit16(s, 0, big) == 0xfeff {
		i = 2
	}
	for i+1 < len(s) {
		r, n := unit16(s, i, big), 2
		switch {
		case r < 0x80:
			d.put(i, byte(r))
			i += 2
			continue
		case 0xd800 <= r && r < 0xdc00 && i+3 < len(s) && unit16(s, i+2, big)&0xfc00 == 0xdc00:
			r, n = 0x10000+(r-0xd800)<<10+unit16(s, i+2, big)-0xdc00, 4
		case 0xd800 <= r && r < 0xe000:
			r = 0xfffd
		}
		d.rune(i, r)
		i += n
	}
	if i < len(s) {
		d.rune(i, 0xfffd)
	}
	w := d.view(len(s))
	w.escaped = false
	return w
}

// iso2022 returns an ISO-2022-JP document in UTF-8 (WHATWG encoding standard, section 12.2). An escape
// sequence belongs to the character after it: a link that ends in Japanese then keeps its return to ASCII,
// and a replacement is in ASCII state.
func (d *decoder) iso2022() view {
	const (
		asciiState = iota
		romanState
		katakanaState
		kanjiState
	)
	dec := japanese.EUCJP.NewDecoder()
	s := d.v.s
	state, from := asciiState, 0
	for i := 0; i < len(s); {
		if s[i] == 0x1b && i+2 < len(s) {
			next := -1
			switch string(s[i+1 : i+3]) {
			case "(B":
				next = asciiState
			case "(J":
				next = romanState
			case "(I":
				next = katakanaState
			case "$@", "$B":
				next = kanjiState
			}
			if next >= 0 {
				state = next
				i += 3
				continue
			}
		}
		c := s[i]
		switch {
		case state == kanjiState && 0x21 <= c && c <= 0x7e && i+1 < len(s) && 0x21 <= s[i+1] && s[i+1] <= 0x7e:
			out, err := dec.Bytes([]byte{c | 0x80, s[i+1] | 0x80})
			if err != nil {
				out = []byte("\ufffd")
			}
			d.put(from, out...)
			i++
		case state == katakanaState && 0x21 <= c && c <= 0x5f:
			d.rune(from, 0xff61-0x21+rune(c))
		case state == romanState && c == '\\':
			d.rune(from, '¥')
		case state == romanState && c == '~':
			d.rune(from, '‾')
		case c < 0x80 && (state < katakanaState || c == '\n' || c == '\r'):
			d.put(from, c)
		default:
			d.rune(from, 0xfffd)
		}
		i++
		from = i
	}
	w := d.view(len(s))
	w.escaped = false
	return w
}

// queryIn returns ref with the non-ASCII characters of its query percent-encoded in the document's encoding,
// which is what a browser sends (WHATWG URL standard, "query state" and "percent-encode after encoding"): of
// the bytes of a character those are escaped that no query may hold, so the second byte of a character of
// Shift_JIS or Big5 often stands as it is; a character that the encoding lacks becomes a percent-encoded
// &#NNN;. ref is UTF-8.
func (sc *scanner) queryIn(ref []byte) []byte {
	q := bytes.IndexByte(ref, '?')
	if q < 0 || sc.cs.IsUTF8() || sc.cs.IsUTF16() || ascii(ref[q:]) {
		return ref
	}
	e := queryEncoder{charset: sc.cs.Name, encoder: sc.cs.Encoding.NewEncoder()}
	start := len(sc.arena)
	sc.arena = append(sc.arena, ref[:q]...)
	for text := ref[q:]; len(text) > 0; {
		r, n := utf8.DecodeRune(text)
		sc.arena = e.append(sc.arena, r)
		text = text[n:]
	}
	sc.arena = e.escape(sc.arena, inASCII)
	return sc.arena[start:len(sc.arena):len(sc.arena)]
}

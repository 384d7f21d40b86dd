package relocate

import (
	"bytes"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
)

// charset is a document's encoding. The zero value is UTF-8.
type charset struct {
	name string // WHATWG name in lower case; "" for UTF-8
	enc  encoding.Encoding
}

func (c charset) utf8() bool { return c.name == "" }

func (c charset) String() string {
	if c.utf8() {
		return "utf-8"
	}
	return c.name
}

// transcoded reports whether ASCII bytes of the document may not be ASCII characters, so that it cannot be scanned bytewise.
func (c charset) transcoded() bool {
	return c.name == "utf-16le" || c.name == "utf-16be" || c.name == "iso-2022-jp"
}

// lookup returns the encoding that a label names, as the WHATWG encoding standard lists them. The "replacement" encodings, whose
// documents browsers do not show at all, count as windows-1252: their ASCII links can still be found.
func lookup(label []byte) (charset, bool) {
	label = bytes.Trim(label, "\t\n\f\r \"'")
	if equalFold(label, "utf-8") || equalFold(label, "utf8") {
		return charset{}, true
	}
	if len(label) > 32 { // longer than any label
		return charset{}, false
	}
	enc, err := htmlindex.Get(strings.ToLower(string(label)))
	if err != nil {
		return charset{}, false
	}
	name, err := htmlindex.Name(enc)
	switch {
	case err != nil:
		return charset{}, false
	case name == "utf-8":
		return charset{}, true
	case name == "replacement":
		return windows1252(), true
	case name == "utf-16": // an alias of little endian
		name = "utf-16le"
	}
	return charset{name: name, enc: enc}, true
}

func windows1252() charset {
	c, _ := lookup([]byte("windows-1252"))
	return c
}

// fromMeta applies what the standard says of a label found inside a document that was read as ASCII: UTF-16 cannot be true.
func fromMeta(label []byte) (charset, bool) {
	c, ok := lookup(label)
	switch c.name {
	case "utf-16le", "utf-16be":
		return charset{}, true
	case "x-user-defined":
		return windows1252(), true
	}
	return c, ok
}

// charLen returns the length of the character at the start of s, whose first byte is not ASCII. A lead byte that no valid trail
// byte follows is a character of its own, as in the standard's decoders.
func (c charset) charLen(s []byte) int {
	if len(s) < 2 {
		return 1
	}
	b, t := s[0], s[1]
	switch c.name {
	case "shift_jis":
		if (0x81 <= b && b <= 0x9f || 0xe0 <= b && b <= 0xfc) && (0x40 <= t && t <= 0x7e || 0x80 <= t && t <= 0xfc) {
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
		if 0x40 <= t && t <= 0x7e || 0x80 <= t && t <= 0xfe {
			return 2
		}
	case "big5":
		if 0x81 <= b && b <= 0xfe && (0x40 <= t && t <= 0x7e || 0xa1 <= t && t <= 0xfe) {
			return 2
		}
	case "euc-kr":
		if 0x81 <= b && b <= 0xfe && 0x41 <= t && t <= 0xfe {
			return 2
		}
	}
	return 1
}

// decode returns s, whole characters, in UTF-8. What is no character becomes U+FFFD.
func (c charset) decode(s []byte) []byte {
	if c.utf8() {
		return bytes.ToValidUTF8(s, []byte("\ufffd"))
	}
	out, err := c.enc.NewDecoder().Bytes(s)
	if err != nil {
		return []byte("\ufffd")
	}
	return out
}

// unit16 returns the UTF-16 code unit at s[i:].
func unit16(s []byte, i int, big bool) rune {
	if big {
		return rune(s[i])<<8 | rune(s[i+1])
	}
	return rune(s[i]) | rune(s[i+1])<<8
}

// decodeUTF16 returns the document in UTF-8. The byte order mark, if any, is left out.
func (sc *scanner) decodeUTF16(v view, big bool) view {
	d := sc.newDecoder(&v)
	s := v.s
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

// decode2022 returns an ISO-2022-JP document in UTF-8 (WHATWG encoding standard, section 12.2). An escape sequence belongs to the
// character after it: a link that ends in Japanese then keeps its return to ASCII, and a replacement stands in ASCII state.
func (sc *scanner) decode2022(v view) view {
	const (
		asciiState = iota
		romanState
		katakanaState
		kanjiState
	)
	d := sc.newDecoder(&v)
	dec := japanese.EUCJP.NewDecoder()
	s := v.s
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

// queryIn returns ref with the non-ASCII characters of its query percent-encoded in the document's encoding, which is what a browser
// sends (WHATWG URL standard, "query state"; a character that the encoding lacks becomes a percent-encoded &#NNN;). ref is UTF-8.
func (sc *scanner) queryIn(ref []byte) []byte {
	q := bytes.IndexByte(ref, '?')
	if q < 0 || sc.cs.utf8() || sc.cs.name == "utf-16le" || sc.cs.name == "utf-16be" || ascii(ref[q:]) {
		return ref
	}
	enc := encoding.HTMLEscapeUnsupported(sc.cs.enc.NewEncoder())
	start := len(sc.arena)
	sc.arena = append(sc.arena, ref[:q]...)
	for i := q; i < len(ref); {
		if ref[i] < 0x80 {
			sc.arena = append(sc.arena, ref[i])
			i++
			continue
		}
		j := i
		for j < len(ref) && ref[j] >= 0x80 {
			j++
		}
		out, err := enc.Bytes(ref[i:j])
		if err != nil {
			out = ref[i:j]
		}
		for _, c := range out {
			if alnum(c) || c == '-' || c == '.' || c == '_' || c == '~' {
				sc.arena = append(sc.arena, c)
			} else {
				sc.arena = append(sc.arena, '%', upperHex[c>>4], upperHex[c&15])
			}
		}
		i = j
	}
	return sc.arena[start:len(sc.arena):len(sc.arena)]
}

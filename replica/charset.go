package replica

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// charset says how bytes become characters.
type charset struct {
	latin1 bool              // each byte is a character: see latin1
	utf16  binary.ByteOrder  // UTF-16
	other  encoding.Encoding // neither UTF-8 nor Latin-1
	skip   int               // length of a byte order mark
	guess  bool              // it is UTF-8 unless that turns out wrong
}

// How far into a page its encoding may be declared, and how far bytes are looked at for being text at all.
const (
	declaredWithin = 2048
	binaryWithin   = 1024
)

// charsetOf finds how a page is encoded: UTF-16 or UTF-8 by its byte order mark, what the answer's header names (label), what a meta element or the XML
// declaration says, UTF-8 if it is that, else Latin-1. What is not all UTF-8 is Latin-1 if more of it is wrong than right, also where it says that it
// is UTF-8; else it was cut off, say. UTF-16 without a mark is known by its first characters, or by the header if there are zeros.
func charsetOf(body []byte, label string) charset {
	switch {
	case bytes.HasPrefix(body, []byte{0xef, 0xbb, 0xbf}):
		return charset{skip: 3}
	case bytes.HasPrefix(body, []byte{0xff, 0xfe}):
		return charset{skip: 2, utf16: binary.LittleEndian}
	case bytes.HasPrefix(body, []byte{0xfe, 0xff}):
		return charset{skip: 2, utf16: binary.BigEndian}
	}
	if order := unmarkedUTF16(body); order != nil {
		return charset{utf16: order}
	}
	if order := labelledUTF16(body, label); order != nil {
		return charset{utf16: order}
	}
	cs, ok := named(label)
	if name := declared(body[:min(len(body), declaredWithin)]); !ok && len(name) > 0 {
		cs, ok = named(string(name))
	}
	if !ok || !cs.latin1 && cs.other == nil {
		cs = charset{guess: true}
	}
	return cs
}

// mostlyUTF8 says whether more characters of several bytes are UTF-8 than bytes are none.
func mostlyUTF8(b []byte) bool {
	right, wrong := 0, 0
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if i += size; r == utf8.RuneError && size == 1 {
			wrong++
		} else {
			right++
		}
	}
	return right > wrong
}

// unmarkedUTF16 finds UTF-16 that has no byte order mark: every second byte of what comes first is zero, and the others are readable. Nil for
// any other body.
func unmarkedUTF16(body []byte) binary.ByteOrder {
	const looked = 16
	if len(body) < looked || body[0] != 0 && body[1] != 0 {
		return nil
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if body[0] == 0 {
		order = binary.BigEndian
	}
	for i := 0; i < looked; i += 2 {
		if c := order.Uint16(body[i:]); c != '\t' && c != '\n' && c != '\r' && (c < ' ' || c > '~') {
			return nil
		}
	}
	return order
}

// labelledUTF16 is the order of UTF-16 that only the answer's header names, if there are zeros as in no other text. Nil for any other body.
func labelledUTF16(body []byte, label string) binary.ByteOrder {
	order := binary.ByteOrder(binary.LittleEndian)
	switch strings.ToLower(label) {
	case "utf-16", "utf-16le":
	case "utf-16be":
		order = binary.BigEndian
	default:
		return nil
	}
	if bytes.IndexByte(body[:min(len(body), binaryWithin)], 0) < 0 {
		return nil
	}
	return order
}

// named is the encoding with a name; ok is false for what is none, or cannot be right.
func named(name string) (cs charset, ok bool) {
	switch lower := strings.ToLower(name); lower {
	case "":
	case "utf-8", "utf8":
		return charset{}, true
	case "iso-8859-1", "iso8859-1", "latin1", "latin-1":
		return charset{latin1: true}, true
	case "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be": // what is readable up to its name is not UTF-16
	default:
		if e, err := htmlindex.Get(lower); err == nil {
			if e == charmap.Windows1252 {
				return charset{latin1: true}, true
			}
			return charset{other: e}, true
		}
	}
	return charset{}, false
}

// declared returns the name that a meta element at the start of a page gives its encoding, else that of its XML declaration: in this order, as browsers do.
func declared(head []byte) []byte {
	for from := 0; ; {
		at := bytes.IndexByte(head[from:], '<')
		if at < 0 {
			break
		}
		from += at + 1
		tag := head[from:]
		if bytes.HasPrefix(tag, []byte("!--")) {
			end := bytes.Index(tag, []byte("-->"))
			if end < 0 {
				break
			}
			from += end
			continue
		}
		if len(tag) < 5 || !bytes.EqualFold(tag[:4], []byte("meta")) || !isSpace(tag[4]) && tag[4] != '/' {
			continue
		}
		if end := bytes.IndexByte(tag, '>'); end >= 0 {
			tag = tag[:end]
		}
		if name := metaCharset(tag); len(name) > 0 {
			return name
		}
	}
	if rest, ok := bytes.CutPrefix(head, []byte("<?xml")); ok {
		if end := bytes.IndexByte(rest, '>'); end >= 0 {
			if at := bytes.Index(rest[:end], []byte("encoding")); at >= 0 {
				return valueAt(rest[at+len("encoding") : end])
			}
		}
	}
	return nil
}

// metaCharset returns the encoding that a meta element names: within the value of an attribute only where that stands for a header.
func metaCharset(tag []byte) []byte {
	quote, looked, header := byte(0), false, false
	for i := 4; i+7 <= len(tag); i++ {
		switch c := tag[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c|0x20 == 'c' && bytes.EqualFold(tag[i:i+7], []byte("charset")):
			if quote != 0 && !looked {
				looked, header = true, bytes.Contains(bytes.ToLower(tag), []byte("http-equiv"))
			}
			if name := valueAt(tag[i+7:]); len(name) > 0 && (quote == 0 || header) {
				return name
			}
		}
	}
	return nil
}

// valueAt reads `= "name"`, quoted or not.
func valueAt(b []byte) []byte {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != '=' {
		return nil
	}
	b = bytes.TrimLeft(b[1:], " \t\r\n\"'")
	end := 0
	for end < len(b) && (isLetter(b[end]) || b[end] >= '0' && b[end] <= '9' || b[end] == '-' || b[end] == '_' || b[end] == '.' || b[end] == ':') {
		end++
	}
	return b[:end]
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsText says whether a body can be text: it has a byte order mark, is UTF-16 without one, or has no NUL among its first 1024 bytes. Pages that are
// none have no words.
func IsText(body []byte) bool {
	if cs := charsetOf(body[:min(len(body), 3)], ""); cs.skip > 0 || unmarkedUTF16(body) != nil {
		return true
	}
	return bytes.IndexByte(body[:min(len(body), binaryWithin)], 0) < 0
}

// decoded is a body that is UTF-8 or Latin-1.
type decoded struct {
	text   []byte
	latin1 bool
	guess  bool // it is UTF-8 unless there is something in the text that is not, and mostlyUTF8 says no
	copied bool
}

// decode finds how a body is to be read. In UTF-8 an invalid byte counts as a character that is no letter. Only other encodings than that and
// Latin-1 cost a copy, that of UTF-16 in buf if there is room.
func decode(buf, body []byte, label string) decoded {
	cs := charsetOf(body, label)
	if cs.utf16 == nil && !IsText(body) {
		return decoded{}
	}
	body = body[cs.skip:]
	switch {
	case cs.utf16 != nil:
		return decoded{text: fromUTF16(buf[:0], body, cs.utf16), copied: true}
	case cs.other != nil:
		if out, err := cs.other.NewDecoder().Bytes(body); err == nil {
			return decoded{text: out, copied: true}
		}
		cs = charset{guess: true}
	}
	return decoded{text: body, latin1: cs.latin1, guess: cs.guess}
}

// latin1 is the character of a byte beyond ASCII in what says that it is ISO 8859-1, or says nothing: that of windows-1252, as browsers have it.
// What the two have apart are control characters in the former.
func latin1(b byte) rune {
	if b >= 0xa0 {
		return rune(b)
	}
	return charmap.Windows1252.DecodeByte(b)
}

// rune decodes the character at text[i], which is not ASCII. Where that shows that all of the text is to be read as Latin-1, from the beginning,
// again is true.
func (d *decoded) rune(i int) (r rune, size int, again bool) {
	if d.latin1 {
		return latin1(d.text[i]), 1, false
	}
	r, size = utf8.DecodeRune(d.text[i:])
	if d.guess && r == utf8.RuneError && size == 1 {
		d.guess = false
		d.latin1 = !mostlyUTF8(d.text)
		again = d.latin1
	}
	return r, size, again
}

// fromUTF16 appends the UTF-8 of b to dst. What is no character becomes U+FFFD.
func fromUTF16(dst, b []byte, order binary.ByteOrder) []byte {
	little := order == binary.LittleEndian
	dst = slices.Grow(dst, len(b)/2+8)
	for len(b) >= 2 {
		for len(b) >= 8 { // four ASCII characters
			x := binary.LittleEndian.Uint64(b)
			if !little {
				x = x>>8&0x00ff00ff00ff00ff | x<<8&^0x00ff00ff00ff00ff
			}
			if x&^0x007f007f007f007f != 0 {
				break
			}
			dst = append(dst, byte(x), byte(x>>16), byte(x>>32), byte(x>>48))
			b = b[8:]
		}
		if len(b) < 2 {
			break
		}
		r := rune(order.Uint16(b))
		b = b[2:]
		if utf16.IsSurrogate(r) {
			r2 := rune(0)
			if len(b) >= 2 {
				r2 = rune(order.Uint16(b))
			}
			if r = utf16.DecodeRune(r, r2); r != utf8.RuneError {
				b = b[2:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	if len(b) > 0 {
		dst = utf8.AppendRune(dst, utf8.RuneError)
	}
	return dst
}

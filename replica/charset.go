package replica

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// charset says how bytes become characters.
type charset struct {
	latin1 bool              // each byte is the character of its number
	other  encoding.Encoding // neither UTF-8 nor Latin-1
	skip   int               // length of a byte order mark
}

// How far into a page its encoding may be declared, and how far bytes are looked at for being text at all.
const (
	declaredWithin = 2048
	binaryWithin   = 1024
)

// charsetOf finds how a page is encoded: UTF-16 or UTF-8 by its byte order mark, what the answer's header names (label), what a meta element or the XML
// declaration says, UTF-8 if it is valid UTF-8, else Latin-1.
func charsetOf(body []byte, label string) charset {
	switch {
	case bytes.HasPrefix(body, []byte{0xef, 0xbb, 0xbf}):
		return charset{skip: 3}
	case bytes.HasPrefix(body, []byte{0xff, 0xfe}):
		return charset{skip: 2, other: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}
	case bytes.HasPrefix(body, []byte{0xfe, 0xff}):
		return charset{skip: 2, other: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)}
	}
	if cs, ok := named(label); ok {
		return cs
	}
	if name := declared(body[:min(len(body), declaredWithin)]); len(name) > 0 {
		if cs, ok := named(string(name)); ok {
			return cs
		}
	}
	return charset{latin1: !utf8.Valid(body)}
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
			return charset{other: e}, true
		}
	}
	return charset{}, false
}

// declared returns the name that a meta element or the XML declaration at the start of a page gives its encoding.
func declared(head []byte) []byte {
	if rest, ok := bytes.CutPrefix(head, []byte("<?xml")); ok {
		if end := bytes.IndexByte(rest, '>'); end >= 0 {
			if at := bytes.Index(rest[:end], []byte("encoding")); at >= 0 {
				if name := valueAt(rest[at+len("encoding") : end]); len(name) > 0 {
					return name
				}
			}
		}
	}
	for from := 0; ; {
		at := bytes.IndexByte(head[from:], '<')
		if at < 0 {
			return nil
		}
		from += at + 1
		tag := head[from:]
		if len(tag) < 5 || !bytes.EqualFold(tag[:4], []byte("meta")) {
			continue
		}
		if end := bytes.IndexByte(tag, '>'); end >= 0 {
			tag = tag[:end]
		}
		for i := 4; i+7 <= len(tag); i++ {
			if bytes.EqualFold(tag[i:i+7], []byte("charset")) {
				if name := valueAt(tag[i+7:]); len(name) > 0 {
					return name
				}
			}
		}
	}
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

// IsText says whether a body can be text: it has a byte order mark, or no NUL among its first 1024 bytes. Pages that are none have no words.
func IsText(body []byte) bool {
	if cs := charsetOf(body[:min(len(body), 3)], ""); cs.skip > 0 {
		return true
	}
	return bytes.IndexByte(body[:min(len(body), binaryWithin)], 0) < 0
}

// decode returns the bytes to scan and whether they are Latin-1; else they are UTF-8, where an invalid byte counts as a character that is
// no letter. Only other encodings cost a copy.
func decode(body []byte, label string) (text []byte, latin1 bool) {
	if !IsText(body) {
		return nil, false
	}
	cs := charsetOf(body, label)
	body = body[cs.skip:]
	if cs.other == nil {
		return body, cs.latin1
	}
	out, err := cs.other.NewDecoder().Bytes(body)
	if err != nil {
		return body, !utf8.Valid(body)
	}
	return out, false
}

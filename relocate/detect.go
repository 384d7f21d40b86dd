// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"strings"

	"mirrord/site"
)

// sniffBytes is how much of a body Detect looks at.
const sniffBytes = 1024

func extension(u site.URL) string {
	if u.IsZero() {
		return ""
	}
	return extensionOf(u.Path())
}

// extensionOf returns what follows the last point of a path's last name, in lower case.
func extensionOf(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return strings.ToLower(name[i+1:])
	}
	return ""
}

// binaryBody reports whether head starts a file of a well-known binary type, or is mostly bytes that no text
// has. UTF-16 is text.
func binaryBody(head []byte) bool {
	return (len(head) > 0 && head[0] != '<' && hasMagic(head)) || manyControls(head)
}

// hasMagic reports whether head begins like a file of a well-known binary type.
func hasMagic(head []byte) bool {
	for _, magic := range [...]string{
		"%PDF-", "%!PS-Adobe-", "\x89PNG\r\n", "GIF87a", "GIF89a", "\xff\xd8\xff", "PK\x03\x04", "\x1f\x8b", "BZh",
		"\xfd7zXZ\x00", "7z\xbc\xaf\x27\x1c", "Rar!\x1a\x07", "\x28\xb5\x2f\xfd", "OggS", "ID3", "\x00\x00\x01\x00",
		"wOFF", "wOF2", "\x00asm", "\x7fELF",
		"\x00\x01\x00\x00", "OTTO", "MZ\x90\x00", "\xca\xfe\xba\xbe", "SQLite format 3\x00", "\x1aE\xdf\xa3",
	} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return len(head) > 12 && (string(head[:4]) == "RIFF" || string(head[4:8]) == "ftyp")
}

// manyControls reports whether head has many bytes that no text has.
func manyControls(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return false
	}
	controls, nul := 0, [2]int{}
	for i, c := range head {
		if c == 0 {
			nul[i&1]++
		}
		if c < 9 || c == 0xb || (0xe <= c && c <= 0x1a) || (0x1c <= c && c < ' ') {
			controls++
		}
	}
	others := controls - nul[0] - nul[1] // in UTF-16 some: a dash is U+2013
	if n := len(head); nul[0] > n/5 != (nul[1] > n/5) && others <= n/16 {
		return false // UTF-16 without a mark
	}
	return controls > len(head)/8
}

// sniffSpace are the white space bytes of MIME Sniffing, section 3.
const sniffSpace = "\t\n\f\r "

// looksHTML reports whether the table of MIME Sniffing, section 7.1, takes head for HTML: white space, a tag
// in any case, and a byte that ends a tag, which is a blank or ">"; or "<!--". A byte order mark makes it
// plain text there.
func looksHTML(head []byte) bool {
	b := bytes.TrimLeft(head, sniffSpace)
	if bytes.HasPrefix(b, []byte("<!--")) {
		return true
	}
	for _, tag := range [...]string{
		"<!doctype html", "<html", "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table", "<a", "<style",
		"<title", "<b", "<body", "<br", "<p",
	} {
		if len(b) > len(tag) && equalFold(b[:len(tag)], tag) && (b[len(tag)] == '>' || b[len(tag)] == ' ') {
			return true
		}
	}
	return false
}

// looksXML reports whether head begins with an XML declaration, white space in front of it allowed.
func looksXML(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, sniffSpace), []byte("<?xml"))
}

// xmlRoot returns the format that the root element of an XML document speaks for, or Unknown when head is not
// the start of one.
func xmlRoot(head []byte) Format {
	b := bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	// UTF-16: ASCII is all that counts here
	if len(b) > 1 && (b[0] == 0 || b[1] == 0 || b[0] == 0xff || b[0] == 0xfe) {
		b = bytes.ReplaceAll(bytes.TrimLeft(b, "\xff\xfe"), []byte{0}, nil)
	}
	for {
		b = bytes.TrimLeft(b, "\t\n\r ")
		if len(b) < 2 || b[0] != '<' {
			return Unknown
		}
		var stop string
		switch {
		case b[1] == '?':
			stop = "?>"
		case bytes.HasPrefix(b, []byte("<!--")):
			stop = "-->"
		case b[1] == '!':
			stop = ">"
			if i, j := bytes.IndexByte(b, '['), bytes.IndexByte(b, '>'); i >= 0 && i < j {
				stop = "]>"
			}
		default:
			n := 1
			for n < len(b) && tagClass[b[n]]&tagNameEnd == 0 {
				n++
			}
			name := b[1:n]
			if i := bytes.LastIndexByte(name, ':'); i >= 0 {
				name = name[i+1:]
			}
			if f, ok := known.roots[string(name)]; ok {
				return f
			}
			if len(name) == 0 || (!letter(name[0]) && name[0] < 0x80 && name[0] != '_') {
				return Unknown
			}
			return SVG
		}
		i := bytes.Index(b, []byte(stop))
		if i < 0 {
			return SVG // the root lies beyond what was given; the prologue alone says XML
		}
		b = b[i+len(stop):]
	}
}

// SPDX-License-Identifier: Apache-2.0

package charset

import "bytes"

// From says what determined a document's encoding.
type From uint8

// What browsers go by, in the order in which it counts.
const (
	FromMark     From = iota // byte order mark
	FromHeader               // Content-Type
	FromDocument             // <meta>, XML declaration, @charset
	FromDefault              // nothing: windows-1252 for HTML, UTF-8 for the rest
)

// Browser determines the encoding of a document as browsers do: byte order mark, Content-Type, the document
// itself, the default. header is the charset parameter of its Content-Type, any label.
func Browser(raw []byte, k Syntax, header string) (Charset, From) {
	if c, n := marked(raw); n > 0 {
		return c, FromMark
	}
	if k == JSON {
		return Charset{}, FromDefault
	}
	if header != "" {
		if c, ok := Lookup([]byte(header)); ok {
			return c, FromHeader
		}
	}
	if c, ok := Declared(raw[:min(len(raw), Window)], k); ok {
		return c, FromDocument
	}
	if k == HTML {
		return Windows1252(), FromDefault
	}
	return Charset{}, FromDefault
}

// Reading is how a page is read.
type Reading struct {
	Charset
	Mark int // length of a byte order mark
	// it is UTF-8 unless there is something that is not, and MostlyUTF8 says no: then it is windows-1252
	Guess bool
}

// contentWindow is how far into a page Content looks for what it declares.
const contentWindow = 2048

// Content determines how the bytes of a page are read: UTF-16 or UTF-8 by a byte order mark, what the
// answer's header names, what a meta element or the XML declaration names, UTF-8 if it is that, else
// windows-1252. A body with invalid UTF-8 is windows-1252 if more of it is invalid than valid, also where
// it says that it is UTF-8; else it was cut off, say. What says that it is ASCII or UTF-16 says nothing.
// UTF-16 without a mark is known by its first characters, or by the header if there are zeros.
func Content(body []byte, header string) Reading {
	if c, n := marked(body); n > 0 {
		return Reading{Charset: c, Mark: n}
	}
	if c, ok := unmarkedUTF16(body); ok {
		return Reading{Charset: c}
	}
	c, ok := Lookup([]byte(header))
	if ok && c.IsUTF16() && bytes.IndexByte(body[:min(len(body), textWindow)], 0) >= 0 {
		return Reading{Charset: c}
	}
	if !ok || c.ASCII || c.IsUTF16() {
		c, _ = Declared(body[:min(len(body), contentWindow)], HTML)
	}
	if c.IsUTF8() || c.ASCII || c.IsUTF16() {
		return Reading{Guess: true}
	}
	return Reading{Charset: c}
}

// marked returns the encoding that a byte order mark stands for, and the length of the mark; 0 without one.
func marked(b []byte) (Charset, int) {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return Charset{}, 3
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return named("utf-16be"), 2
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return named("utf-16le"), 2
	}
	return Charset{}, 0
}

// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"strings"

	"mirrord/site"
)

// sniffBytes is how much of a body Detect looks at.
const sniffBytes = 1024

// Detect decides how a body is scanned: by its Content-Type, for XML and unknown types by its first bytes, of which head should have
// 1024, and by the URL's extension where browsers, or readers of a copy without HTTP header, go by it. A body that is evidently binary
// is Unknown whatever its type says. So is application/octet-stream, which names a file to be kept as it is: its bytes are never looked
// at for HTML, only its name may say so.
func Detect(mime string, u site.URL, head []byte) Format {
	if len(head) > sniffBytes {
		head = head[:sniffBytes]
	}
	if binaryBody(head) {
		return Unknown
	}
	essence, _, _ := strings.Cut(mime, ";")
	essence = strings.ToLower(strings.TrimSpace(essence))
	ext := extension(u)
	switch essence {
	case "text/html":
		switch f := xmlRoot(head); f {
		case Feed, Sitemap:
			return f // browsers, too, look for feeds in text/html (MIME Sniffing, section 7.3)
		}
		return HTML
	case "application/xhtml+xml", "image/svg+xml":
		return SVG
	case "text/css":
		return CSS
	case "text/javascript", "application/javascript", "application/x-javascript", "text/x-javascript", "application/ecmascript", "text/ecmascript":
		if looksHTML(head) {
			return Unknown // an error page that says it is a script
		}
		return Script
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml":
		if xmlRoot(head) == Unknown {
			return Unknown
		}
		return Feed
	case "application/manifest+json", "application/x-web-app-manifest+json":
		return Manifest
	case "application/json", "text/json":
		if ext == "webmanifest" || strings.HasSuffix(u.Path(), "/manifest.json") {
			return Manifest
		}
		return Unknown
	case "text/xml", "application/xml":
		return xmlRoot(head)
	case "text/plain":
		return byUse(ext)
	case "application/octet-stream", "binary/octet-stream":
		if ext == "html" || ext == "htm" {
			return HTML // so a copy opens it
		}
		return byUse(ext)
	case "", "unknown/unknown", "application/unknown", "*/*": // the unknown types of MIME Sniffing, section 7
		return byContent(ext, head)
	}
	if strings.HasSuffix(essence, "+xml") {
		return xmlRoot(head)
	}
	return Unknown
}

// byUse decides by extension for files that browsers use for what the page says they are, whatever their type.
func byUse(ext string) Format {
	switch ext {
	case "css":
		return CSS
	case "webmanifest":
		return Manifest
	case "js", "mjs":
		return Script
	}
	return Unknown
}

// byContent decides for an unknown type: by the extension, which is all that a reader of a copy has, else by MIME Sniffing, section
// 7.1, whose only rows with links are those of HTML and of "<?xml". All other rows, of which binaryBody knows the usual ones, are Unknown.
func byContent(ext string, head []byte) Format {
	if f := byUse(ext); f != Unknown {
		return f
	}
	switch ext {
	case "html", "htm", "xhtml", "xht":
		if f := xmlRoot(head); f == SVG && ext[0] == 'x' {
			return SVG
		}
		return HTML
	case "svg", "rss", "atom", "rdf", "xml":
		return xmlRoot(head)
	}
	if looksHTML(head) {
		return HTML
	}
	if bytes.HasPrefix(bytes.TrimLeft(head, sniffSpace), []byte("<?xml")) {
		return xmlRoot(head)
	}
	return Unknown
}

func extension(u site.URL) string {
	if u.IsZero() {
		return ""
	}
	p := u.Path()
	p = p[strings.LastIndexByte(p, '/')+1:]
	if i := strings.LastIndexByte(p, '.'); i >= 0 {
		return strings.ToLower(p[i+1:])
	}
	return ""
}

// binaryBody reports whether head starts a file of a well-known binary type, or is mostly bytes that no text has. UTF-16 is text.
func binaryBody(head []byte) bool {
	for _, magic := range [...]string{"%PDF-", "%!PS-Adobe-", "\x89PNG\r\n", "GIF87a", "GIF89a", "\xff\xd8\xff", "PK\x03\x04", "\x1f\x8b", "BZh",
		"\xfd7zXZ\x00", "7z\xbc\xaf\x27\x1c", "Rar!\x1a\x07", "\x28\xb5\x2f\xfd", "OggS", "ID3", "\x00\x00\x01\x00", "wOFF", "wOF2", "\x00asm", "\x7fELF",
		"\x00\x01\x00\x00", "OTTO", "MZ\x90\x00", "\xca\xfe\xba\xbe", "SQLite format 3\x00", "\x1aE\xdf\xa3"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	if len(head) > 12 && (string(head[:4]) == "RIFF" || string(head[4:8]) == "ftyp") {
		return true
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return false
	}
	controls, nul := 0, [2]int{}
	for i, c := range head {
		if c == 0 {
			nul[i&1]++
		}
		if c < 9 || c == 0xb || 0xe <= c && c <= 0x1a || 0x1c <= c && c <= 0x1f {
			controls++
		}
	}
	if n := len(head); nul[0] > n/5 != (nul[1] > n/5) && controls == nul[0]+nul[1] {
		return false // UTF-16 without a mark
	}
	return controls > len(head)/8
}

// sniffSpace are the white space bytes of MIME Sniffing, section 3.
const sniffSpace = "\t\n\f\r "

// looksHTML reports whether the table of MIME Sniffing, section 7.1, takes head for HTML: white space, a tag in any case, and a byte that
// ends a tag, which is a blank or ">"; or "<!--". A byte order mark makes it plain text there.
func looksHTML(head []byte) bool {
	b := bytes.TrimLeft(head, sniffSpace)
	if bytes.HasPrefix(b, []byte("<!--")) {
		return true
	}
	for _, tag := range [...]string{"<!doctype html", "<html", "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table", "<a", "<style",
		"<title", "<b", "<body", "<br", "<p"} {
		if len(b) > len(tag) && equalFold(b[:len(tag)], tag) && (b[len(tag)] == '>' || b[len(tag)] == ' ') {
			return true
		}
	}
	return false
}

// xmlRoot returns the format that the root element of an XML document speaks for, or Unknown when head is not the start of one.
func xmlRoot(head []byte) Format {
	b := bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if len(b) > 1 && (b[0] == 0 || b[1] == 0 || b[0] == 0xff || b[0] == 0xfe) { // UTF-16: ASCII is all that counts here
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
			switch string(name) {
			case "rss", "feed", "RDF":
				return Feed
			case "urlset", "sitemapindex":
				return Sitemap
			}
			if len(name) == 0 || !letter(name[0]) && name[0] < 0x80 && name[0] != '_' {
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

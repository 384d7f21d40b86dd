// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// decode returns a text in UTF-8 with newlines alone; ok is false for other data. The encoding is found
// as browsers do, but a text that is valid UTF-8 and does not say otherwise is UTF-8.
func decode(b Body) (text string, ok bool) {
	mime := mimeType(b)
	if !textual(mime) {
		return "", false
	}
	e, _, certain := charset.DetermineEncoding(b.Data, mime)
	data := b.Data
	if certain || !utf8.Valid(data) {
		var err error
		if data, err = e.NewDecoder().Bytes(data); err != nil {
			return "", false
		}
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return "", false
	}
	text = strings.TrimPrefix(strings.ToValidUTF8(string(data), "\ufffd"), "\ufeff")
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), true
}

func mimeType(b Body) string {
	m, _, _ := strings.Cut(strings.ToLower(b.Type), ";")
	return strings.TrimSpace(m)
}

// textual reports whether files of a type are worth being read as text. What has no type is looked at.
func textual(mime string) bool {
	if mime == "" || strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "+xml") ||
		strings.HasSuffix(mime, "+json") {
		return true
	}
	sub, ok := strings.CutPrefix(mime, "application/")
	if !ok {
		return false
	}
	switch strings.TrimPrefix(sub, "x-") {
	case "xml", "json", "javascript", "ecmascript", "typescript", "sh", "csh", "perl", "python", "ruby", "php",
		"httpd-php", "tex", "latex", "yaml", "toml", "sql", "pem-file":
		return true
	}
	return false
}

func isMarkup(b Body) bool {
	m := mimeType(b)
	return m == "text/html" || m == "text/xml" || m == "application/xml" || strings.HasSuffix(m, "+xml")
}

// longLine is from how many bytes on a line of markup is broken at every tag.
const longLine = 400

// split makes lines of a text, each with a newline at its end. Markup is broken before the tags that begin
// something, so that a page without line breaks is not one line; where it is broken depends on the line
// alone.
func split(text string, markup bool) string {
	if text == "" {
		return ""
	}
	if !markup {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		from := 0
		for i := 1; i < len(line); i++ {
			if line[i] != '<' || !beginsTag(line[i:]) || strings.TrimSpace(line[from:i]) == "" {
				continue
			}
			if inline(line[i:]) && i-from < longLine {
				continue
			}
			b.WriteString(line[from:i])
			b.WriteByte('\n')
			from = i
		}
		b.WriteString(line[from:])
		b.WriteByte('\n')
	}
	return b.String()
}

// beginsTag reports whether "<" at the start of s begins a tag, a comment or a declaration that is worth a
// line.
func beginsTag(s string) bool {
	return len(s) > 1 && (isLetter(s[1]) || s[1] == '!')
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// inline reports whether the start tag at s is one that stands within a line of text.
func inline(s string) bool {
	n := 1
	for n < len(s) && n < 12 && (isLetter(s[n]) || ('0' <= s[n] && s[n] <= '9')) {
		n++
	}
	switch strings.ToLower(s[1:n]) {
	case "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "em", "font", "i", "ins", "kbd", "mark",
		"q", "s", "samp", "small", "span", "strong", "sub", "sup",
		"time", "tt", "u", "var", "wbr":
		return true
	}
	return false
}

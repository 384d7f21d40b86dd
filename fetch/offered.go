// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"
)

// mostDisposition is how many bytes of a Content-Disposition are read.
const mostDisposition = 4 << 10

// OfferedName returns the name under which an answer offers its body (Content-Disposition, RFC 6266), "" for
// none. It is foreign text. filename* goes before filename; what browsers also read is read: names without
// quotes, in UTF-8 or ISO 8859-1, and encoded words.
func (h *Head) OfferedName() string {
	field := first(h.Header, "Content-Disposition")
	if len(field) > mostDisposition {
		return ""
	}
	kind, params, _ := strings.Cut(field, ";")
	if strings.Contains(kind, "=") { // a disposition without a type
		params = field
	}
	plain := ""
	for name, value := range parameters(params) {
		switch name {
		case "filename*":
			if s, ok := extendedValue(strings.TrimSpace(value)); ok {
				return s
			}
		case "filename":
			if plain == "" {
				plain = plainValue(value)
			}
		}
	}
	return plain
}

// extendedValue reads a value that names its encoding (RFC 8187).
func extendedValue(s string) (string, bool) {
	charset, rest, ok := strings.Cut(s, "'")
	_, text, hasLanguage := strings.Cut(rest, "'")
	text, err := url.PathUnescape(text)
	if !ok || !hasLanguage || err != nil || text == "" {
		return "", false
	}
	switch strings.ToLower(charset) {
	case "utf-8":
		return text, utf8.ValidString(text)
	case "iso-8859-1":
		return latin1(text), true
	}
	return "", false
}

// plainValue reads a value that does not name its encoding.
func plainValue(s string) string {
	s = strings.TrimSpace(s)
	if words, err := new(mime.WordDecoder).DecodeHeader(s); err == nil {
		s = words
	}
	if !utf8.ValidString(s) {
		return latin1(s)
	}
	return s
}

// latin1 decodes ISO 8859-1.
func latin1(s string) string {
	out := make([]rune, 0, len(s))
	for _, c := range []byte(s) {
		out = append(out, rune(c))
	}
	return string(out)
}

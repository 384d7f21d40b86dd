// SPDX-License-Identifier: Apache-2.0

package site

import (
	"encoding/hex"
	"strings"
)

// A byteSet says of each byte whether it is in the set. The sets below are constants in all but name: nothing
// writes them.
type byteSet [256]bool

// The bytes that each part of a URL keeps as they are; all others are percent-encoded or mean something.
// Source: WHATWG URL standard, section 1.3 "percent-encoded bytes" (the sets there are the complements). '^'
// is in the path's set since 2025 (whatwg/url#846); the library is older than that, and WPT's cases there
// too.
var (
	pathPlain     = plainExcept("\"#<>?^`{}/\\")
	queryPlain    = plainExcept("\"#<>'") // the special-query set: our schemes are special
	fragmentPlain = plainExcept("\"<>`")
)

// plainExcept returns the printable ASCII characters without space and those of except.
func plainExcept(except string) *byteSet {
	var set byteSet
	for c := '!'; c <= '~'; c++ {
		set[c] = !strings.ContainsRune(except, c)
	}
	return &set
}

// Unescape decodes percent-encoded bytes; all others stay.
func Unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if d, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				c = d[0]
				i += 2
			}
		}
		b = append(b, c)
	}
	return string(b)
}

type scheme uint8

const (
	schemeNone  scheme = iota
	schemeOther        // neither http nor https
	schemeHTTP
	schemeHTTPS
)

// splitScheme returns the scheme of s and where the rest starts.
func splitScheme(s string) (scheme, int) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && (('0' <= c && c <= '9') || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			if i == 4 && strings.EqualFold(s[:4], "http") {
				return schemeHTTP, 5
			}
			if i == 5 && strings.EqualFold(s[:5], "https") {
				return schemeHTTPS, 6
			}
			return schemeOther, i + 1
		default:
			return schemeNone, 0
		}
	}
	return schemeNone, 0
}

// trim removes leading and trailing C0 controls and spaces, and returns how many bytes went in front.
func trim(s string) (string, int) {
	lo := 0
	for lo < len(s) && s[lo] <= ' ' {
		lo++
	}
	return trimRight(s[lo:]), lo
}

func trimRight(s string) string {
	for s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

func isSlash(s string, i int) bool { return i < len(s) && (s[i] == '/' || s[i] == '\\') }

// stripTabs removes tabs and line ends, as the standard does first. Bad UTF-8 counts as U+FFFD before:
// removal must not make characters of it.
func stripTabs(s string) string {
	if !strings.ContainsAny(s, tabs) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(tabs, r) {
			return -1
		}
		return r
	}, s)
}

const tabs = "\t\n\r"

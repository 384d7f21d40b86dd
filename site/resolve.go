// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// MaxLen bounds a serialized URL in bytes. No server takes such a request line, and no database key holds
// more.
const MaxLen = 64 << 10

// What makes a reference no URL, beside ErrNotWeb.
var (
	ErrTooLong  = errors.New("longer than 64 KiB")
	ErrRelative = errors.New("relative reference without a base")
	ErrHost     = errors.New("invalid host")
	ErrPort     = errors.New("invalid port")
)

// AppendResolve appends to dst the canonical absolute URL, without fragment, that ref means in a document
// whose base is u, and returns the extended slice; Canonical(string(out[len(dst):])) is the URL that Resolve
// returns. frag is the index in ref of the '#' that starts the fragment, or -1. With an error, out is dst.
//
// A zero u is no base: ref must be absolute. ref is UTF-8; bytes that are none count as U+FFFD, as after a
// browser's decoder. Other schemes than http and https give ErrNotWeb itself. Nothing is allocated for
// ordinary references; a host that needs IDNA, or is an IP address in an unusual notation, goes through the
// library, and tabs or line ends inside ref cost a copy.
//
// Source: WHATWG URL standard, section 4.4 "basic URL parser", for special schemes without a state override.
func (u URL) AppendResolve(dst, ref []byte) (out []byte, frag int, err error) {
	// The string shares ref's bytes and does not outlive this call: errors hold copies of what they quote.
	return u.appendResolve(dst, unsafe.String(unsafe.SliceData(ref), len(ref)))
}

func (u URL) appendResolve(dst []byte, ref string) ([]byte, int, error) {
	s, lo := trim(ref)
	frag := strings.IndexByte(s, '#')
	if frag >= 0 {
		s = s[:frag]
		frag += lo
	}
	s = stripTabs(s)
	scheme, rest := splitScheme(s)
	if scheme == schemeOther {
		return dst, -1, ErrNotWeb
	}
	if len(s) > MaxLen {
		return dst, -1, fmt.Errorf("resolve %s: %w", quote(s), ErrTooLong)
	}
	start := len(dst)
	out, err := u.appendSplit(dst, scheme, s[rest:])
	if err == nil && len(out)-start > MaxLen {
		err = ErrTooLong
	}
	if err != nil {
		return dst, -1, fmt.Errorf("resolve %s: %w", quote(s), err)
	}
	return out, frag, nil
}

// appendSplit appends the URL of s, which follows its scheme and has no fragment.
func (u URL) appendSplit(dst []byte, scheme scheme, s string) ([]byte, error) {
	baseScheme := schemeNone
	if u.s != "" {
		baseScheme = schemeHTTP
		if u.s[4] == 's' {
			baseScheme = schemeHTTPS
		}
	}
	switch {
	case scheme == schemeNone && baseScheme == schemeNone:
		return dst, ErrRelative
	case scheme != schemeNone && (scheme != baseScheme || (isSlash(s, 0) && isSlash(s, 1))):
		// A state of its own in the standard for the same scheme, but with the same result here: two slashes of
		// either kind.
		return u.appendAuthority(dst, scheme, s)
	case isSlash(s, 0) && isSlash(s, 1):
		return u.appendAuthority(dst, baseScheme, s)
	}

	switch {
	case s == "":
		return append(dst, u.s...), nil
	case s[0] == '?':
		return appendQuery(append(dst, u.s[:u.queryAt]...), s), nil
	}
	root := len(dst) + int(u.pathStart)
	if isSlash(s, 0) {
		dst = append(dst, u.s[:u.pathStart+1]...)
		s = s[1:]
	} else {
		p := u.s[:u.queryAt]
		i := len(p) - 1
		for p[i] != '/' {
			i--
		}
		dst = append(dst, p[:i+1]...)
	}
	return appendPathQuery(dst, root, s), nil
}

// appendAuthority appends a URL whose s starts with any number of slashes and then the authority.
func (u URL) appendAuthority(dst []byte, scheme scheme, s string) (out []byte, err error) {
	for isSlash(s, 0) {
		s = s[1:]
	}
	end, start, colon := 0, 0, false
scan:
	for ; end < len(s); end++ {
		switch s[end] {
		case '/', '\\', '?':
			break scan
		case '@':
			start, colon = end+1, false // credentials are dropped
		case ':':
			colon = true
		}
	}
	host, port := s[start:end], ""
	s = s[end:]
	if colon {
		host, port = splitPort(host)
	}

	if scheme == schemeHTTPS {
		dst = append(dst, "https://"...)
	} else {
		dst = append(dst, "http://"...)
	}
	if u.s != "" && host == u.Hostname() {
		dst = append(dst, host...)
	} else if out, ok := appendPlainHost(dst, host); ok {
		dst = out
	} else if host, err = slowHost(host); err != nil {
		return dst, err
	} else {
		dst = append(dst, host...)
	}
	if dst, err = appendPort(dst, scheme, port); err != nil {
		return dst, err
	}
	root := len(dst)
	dst = append(dst, '/')
	if isSlash(s, 0) {
		s = s[1:]
	}
	return appendPathQuery(dst, root, s), nil
}

// appendPathQuery appends s, a path and perhaps a query, to dst, whose path begins at root and ends in '/'.
func appendPathQuery(dst []byte, root int, s string) []byte {
	dst, n := appendPath(dst, root, s)
	return appendQuery(dst, s[n:])
}

// appendPath appends the segments of s up to a '?' and returns how many bytes of s it took.
func appendPath(dst []byte, root int, s string) (out []byte, n int) {
	i := 0
	for {
		seg := len(dst)
		var c byte // what ended the segment; 0 at the end of s
		for {
			j := i
			for j < len(s) && pathPlain[s[j]] {
				j++
			}
			dst = append(dst, s[i:j]...)
			i, c = j, 0
			if i == len(s) {
				break
			}
			c = s[i]
			if c == '/' || c == '\\' || c == '?' {
				break
			}
			dst, i = appendEncoded(dst, s, i)
		}
		more := c == '/' || c == '\\'
		switch dotSegment(dst[seg:]) {
		case 2:
			dst = dst[:seg]
			if seg-1 > root {
				dst = dst[:bytes.LastIndexByte(dst[:seg-1], '/')+1]
			}
		case 1:
			dst = dst[:seg]
		default:
			if more {
				dst = append(dst, '/')
			}
		}
		if !more {
			return dst, i
		}
		i++
	}
}

// appendQuery appends s, which is empty or starts with '?'.
func appendQuery(dst []byte, s string) []byte { return appendSome(dst, s, queryPlain) }

// fragmentOf returns a fragment (without '#') as the standard serializes it.
func fragmentOf(s string) string { return string(appendSome(nil, stripTabs(s), fragmentPlain)) }

// appendSome appends s, of which characters that are not plain are percent-encoded.
func appendSome(dst []byte, s string, plain *byteSet) []byte {
	for i := 0; ; {
		j := i
		for j < len(s) && plain[s[j]] {
			j++
		}
		dst = append(dst, s[i:j]...)
		if j == len(s) {
			return dst
		}
		dst, i = appendEncoded(dst, s, j)
	}
}

// appendEncoded appends the character at s[i] percent-encoded, and returns the index after it.
func appendEncoded(dst []byte, s string, i int) ([]byte, int) {
	const hex = "0123456789ABCDEF"
	r, n := utf8.DecodeRuneInString(s[i:])
	var b [utf8.UTFMax]byte
	for _, c := range b[:utf8.EncodeRune(b[:], r)] {
		dst = append(dst, '%', hex[c>>4], hex[c&15])
	}
	return dst, i + n
}

// dotSegment returns 1 for ".", 2 for "..", each dot perhaps written %2e, and 0 for all else.
func dotSegment[T string | []byte](seg T) int {
	if len(seg) == 0 || len(seg) > 6 || (seg[0] != '.' && seg[0] != '%') {
		return 0
	}
	n := 0
	for len(seg) > 0 {
		switch {
		case seg[0] == '.':
			seg = seg[1:]
		case len(seg) >= 3 && seg[0] == '%' && seg[1] == '2' && seg[2]|0x20 == 'e':
			seg = seg[3:]
		default:
			return 0
		}
		n++
	}
	if n > 2 {
		return 0
	}
	return n
}

// quote returns a printable copy of s that is short enough for an error.
func quote(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%.200q…", s)
	}
	return fmt.Sprintf("%q", s)
}

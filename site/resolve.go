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
	scheme, rest := splitScheme(s)
	if scheme == schemeTab {
		return u.resolveStripped(dst, ref, lo)
	}
	if scheme == schemeOther {
		return dst, -1, ErrNotWeb
	}
	frag := strings.IndexByte(s, '#')
	if frag >= 0 {
		s = s[:frag]
		frag += lo
	}
	if len(s) > MaxLen {
		return dst, -1, fmt.Errorf("resolve %s: %w", quote(s), ErrTooLong)
	}
	start := len(dst)
	out, tab, err := u.appendSplit(dst, scheme, s[rest:])
	if tab {
		return u.resolveStripped(dst, ref, lo)
	}
	if err == nil && len(out)-start > MaxLen {
		err = ErrTooLong
	}
	if err != nil {
		return dst, -1, fmt.Errorf("resolve %s: %w", quote(s), err)
	}
	return out, frag, nil
}

// resolveStripped resolves a ref in which there are tabs or line ends: the standard removes them first.
func (u URL) resolveStripped(dst []byte, ref string, lo int) ([]byte, int, error) {
	frag := strings.IndexByte(ref[lo:], '#')
	if frag >= 0 {
		frag += lo
		ref = ref[:frag+1] // the mark stays, or blanks before it would be trimmed as the end
	}
	out, _, err := u.appendResolve(dst, stripTabs(ref))
	if err != nil {
		frag = -1
	}
	return out, frag, err
}

// appendSplit appends the URL of s, which follows its scheme and has no fragment. tab reports that s has tabs
// or line ends that must be removed first; out and err mean nothing then.
func (u URL) appendSplit(dst []byte, scheme scheme, s string) (out []byte, tab bool, err error) {
	baseScheme := schemeNone
	if u.s != "" {
		baseScheme = schemeHTTP
		if u.s[4] == 's' {
			baseScheme = schemeHTTPS
		}
	}
	switch {
	case scheme == schemeNone && baseScheme == schemeNone:
		return dst, hasTab(s), ErrRelative
	case scheme != schemeNone && (scheme != baseScheme || (isSlash(s, 0) && isSlash(s, 1))):
		// A state of its own in the standard for the same scheme, but with the same result here: two slashes of
		// either kind.
		return u.appendAuthority(dst, scheme, s)
	case isSlash(s, 0) && isSlash(s, 1):
		return u.appendAuthority(dst, baseScheme, s)
	}

	switch {
	case s == "":
		return append(dst, u.s...), false, nil
	case s[0] == '?':
		dst = append(dst, u.s[:u.queryAt]...)
		dst, tab = appendQuery(dst, s)
		return dst, tab, nil
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
	return appendPathQuery(dst, root, s)
}

// appendAuthority appends a URL whose s starts with any number of slashes and then the authority.
func (u URL) appendAuthority(dst []byte, scheme scheme, s string) (out []byte, tab bool, err error) {
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
		case '\t', '\n', '\r':
			return dst, true, nil
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
		return dst, false, err
	} else {
		dst = append(dst, host...)
	}
	if dst, err = appendPort(dst, scheme, port); err != nil {
		return dst, false, err
	}
	root := len(dst)
	dst = append(dst, '/')
	if isSlash(s, 0) {
		s = s[1:]
	}
	return appendPathQuery(dst, root, s)
}

// appendPathQuery appends s, a path and perhaps a query, to dst, whose path begins at root and ends in '/'.
func appendPathQuery(dst []byte, root int, s string) (out []byte, tab bool, err error) {
	dst, n, tab := appendPath(dst, root, s)
	if !tab && n < len(s) {
		dst, tab = appendQuery(dst, s[n:])
	}
	return dst, tab, nil
}

// appendPath appends the segments of s up to a '?' and returns how many bytes of s it took.
func appendPath(dst []byte, root int, s string) (out []byte, n int, tab bool) {
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
			if isTab(c) {
				return dst, i, true
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
			return dst, i, false
		}
		i++
	}
}

// appendQuery appends s, which starts with '?'.
func appendQuery(dst []byte, s string) (out []byte, tab bool) {
	for i := 0; ; {
		j := i
		for j < len(s) && queryPlain[s[j]] {
			j++
		}
		dst = append(dst, s[i:j]...)
		if j == len(s) {
			return dst, false
		}
		if isTab(s[j]) {
			return dst, true
		}
		dst, i = appendEncoded(dst, s, j)
	}
}

// appendFragment appends a fragment (without '#') as the standard serializes it.
func appendFragment(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		switch {
		case fragmentPlain[s[i]]:
			dst = append(dst, s[i])
			i++
		case isTab(s[i]):
			i++
		default:
			dst, i = appendEncoded(dst, s, i)
		}
	}
	return dst
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

// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/idna"
)

// maxHost bounds the written form of a host, in bytes: 253 characters, each up to twelve bytes when
// percent-encoded UTF-8.
const maxHost = 4096

// splitPort cuts an authority at the colon before its port; a colon inside brackets does not count.
func splitPort(s string) (host, port string) {
	bracket := false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[':
			bracket = true
		case ']':
			bracket = false
		case ':':
			if !bracket {
				return s[:i], s[i:]
			}
		}
	}
	return s, ""
}

// appendPort appends port, which is empty or starts with ':', unless it is the scheme's default.
func appendPort(dst []byte, scheme scheme, port string) ([]byte, error) {
	if len(port) <= 1 {
		return dst, nil
	}
	n, err := strconv.ParseUint(port[1:], 10, 16)
	if err != nil {
		return dst, ErrPort
	}
	if (scheme == schemeHTTP && n == 80) || (scheme == schemeHTTPS && n == 443) {
		return dst, nil
	}
	return strconv.AppendUint(append(dst, ':'), n, 10), nil
}

// appendPlainHost appends a host that is canonical apart from upper case: a name of letters, digits, '_' and
// single inner hyphens, whose last label starts with a letter, or an IPv4 address as it is written today. It
// reports false for all others.
func appendPlainHost(dst []byte, s string) ([]byte, bool) {
	if len(s) == 0 || len(s) > 253 {
		return dst, false
	}
	start := len(dst)
	prev, label := byte('.'), 0 // label is where the current one starts
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '_':
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		case c == '.':
			if prev == '.' || prev == '-' || i-label > 63 {
				return dst[:start], false
			}
			label = i + 1
		case c == '-':
			if prev == '.' || prev == '-' {
				return dst[:start], false
			}
		default:
			return dst[:start], false
		}
		dst = append(dst, c)
		prev = c
	}
	if prev == '.' || prev == '-' || len(s)-label > 63 {
		return dst[:start], false
	}
	if dst[min(start+label, len(dst)-1)] < 'a' {
		if _, err := netip.ParseAddr(s); err != nil { // of four numbers: it has no colon
			return dst[:start], false
		}
	}
	return dst, true
}

var errSign = fmt.Errorf("%w: number with a sign", ErrHost)

// slowHost returns what the library makes of a host.
func slowHost(host string) (string, error) {
	if host == "" || len(host) > maxHost {
		return "", ErrHost
	}
	if hasMixedLabel(host) {
		return "", fmt.Errorf("%w: a label in its xn-- form has other letters than those of ASCII", ErrHost)
	}
	w, err := whatwg.Parse("http://" + host + "/")
	h := ""
	if err == nil {
		h = w.Hostname()
	}
	if strings.Trim(h, "0123456789.") != "" {
		return h, nil
	}
	// Refused, or an address. The library reads numbers as strconv does, signs included; for a browser "+127.1"
	// is no address, and "127.+1" a name. With a name behind it the library maps the characters of the host and
	// reads no numbers.
	if named, err := whatwg.Parse("http://" + host + ".name/"); err == nil {
		name := strings.TrimSuffix(named.Hostname(), ".name")
		last := name[strings.LastIndexByte(name, '.')+1:]
		if strings.HasPrefix(last, "+") || strings.HasPrefix(last, "-") {
			return name, nil
		}
		if h != "" && !strings.ContainsAny(name, "+-") {
			return h, nil
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrHost, err)
	case h == "":
		return "", ErrHost
	}
	return "", errSign
}

// hasMixedLabel reports whether a label of a host has the xn-- form and, after mapping, letters beyond ASCII
// (UTS 46 §4), which the library decodes when it ends with a hyphen. Mapping removes a soft hyphen.
func hasMixedLabel(host string) bool {
	if plain, err := url.PathUnescape(host); err == nil {
		host = plain
	}
	mapping := idna.New(idna.MapForLookup(), idna.StrictDomainName(false))
	dot := func(r rune) bool { return strings.ContainsRune(".\u3002\uff0e\uff61", r) }
	labels := strings.FieldsFunc(host, dot)
	return slices.ContainsFunc(labels, func(l string) bool {
		if len(l) < 4 || !strings.EqualFold(l[:4], "xn--") || isASCII(l) {
			return false
		}
		mapped, _ := mapping.ToUnicode("a" + l[4:]) // without the prefix it is mapped and not decoded
		return !isASCII(mapped)
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

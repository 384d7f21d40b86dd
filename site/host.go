// SPDX-License-Identifier: Apache-2.0

package site

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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
	if len(s) > 253 {
		return dst, false
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		plain := strings.IndexFunc(label, notOfHost) < 0
		hyphen := strings.Contains(label, "--") || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-")
		if label == "" || len(label) > 63 || !plain || hyphen {
			return dst, false
		}
		last = label
	}
	if last[0] < 'A' {
		if _, err := netip.ParseAddr(s); err != nil { // of four numbers: it has no colon
			return dst, false
		}
	}
	return append(dst, strings.ToLower(s)...), true
}

// notOfHost reports whether a plain label has no such character.
func notOfHost(r rune) bool {
	return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// slowHost returns a host as a browser writes it: the library makes a name of it, and a name that ends in a
// number is an IPv4 address (URL standard, "host parser"). The library's own numbers have signs, which a
// browser's have not, so it is given a name behind the host and reads none.
func slowHost(host string) (string, error) {
	switch {
	case host == "" || len(host) > maxHost:
		return "", ErrHost
	case hasMixedLabel(host):
		return "", fmt.Errorf("%w: a label in its xn-- form has other letters than those of ASCII", ErrHost)
	}
	behind := ".name"
	if inside, ok := strings.CutPrefix(host, "["); ok {
		if strings.IndexAny(inside, "[]") != len(inside)-1 { // the library takes brackets away, however many
			return "", fmt.Errorf("%w: an IPv6 address stands between [ and ]", ErrHost)
		}
		behind = ""
	}
	w, err := whatwg.Parse("http://" + host + behind + "/")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrHost, err)
	}
	name := strings.TrimSuffix(w.Hostname(), behind)
	if name == "" {
		return "", ErrHost
	}
	labels := strings.Split(name, ".")
	if n := len(labels); n > 1 && labels[n-1] == "" {
		labels = labels[:n-1]
	}
	if _, number := ipv4Number(labels[len(labels)-1]); !number {
		return name, nil
	}
	return ipv4(labels)
}

// ipv4 returns the address that one to four numbers write, the last of which fills the bytes that are left
// (URL standard, "IPv4 parser").
func ipv4(parts []string) (string, error) {
	var address uint64
	for i, part := range parts {
		bound := uint64(1) << 8
		if i == len(parts)-1 && i < 4 {
			bound = 1 << (8 * (4 - i))
		}
		n, ok := ipv4Number(part)
		if !ok || n >= bound || i > 3 {
			return "", fmt.Errorf("%w: ends in a number and is no IPv4 address", ErrHost)
		}
		if i == len(parts)-1 {
			address = address<<(8*(4-i)) | n
		} else {
			address = address<<8 | n
		}
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(address)))).String(), nil
}

// ipv4Number reads a decimal, octal or hexadecimal number (URL standard, "IPv4 number parser"). One beyond 64
// bits, and digits that are no octal number, make the host end in a number all the same, and fit no address.
func ipv4Number(s string) (n uint64, ok bool) {
	digits, base := s, 10
	switch {
	case s == "0x":
		return 0, true
	case strings.HasPrefix(s, "0x"):
		digits, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		base = 8
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err == nil {
		return n, true
	}
	wide := errors.Is(err, strconv.ErrRange) || (s != "" && strings.Trim(s, "0123456789") == "")
	return math.MaxUint64, wide
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

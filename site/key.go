// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrBadKey says that bytes are no key that Key writes.
var ErrBadKey = errors.New("not a URL key")

// Key appends u's database key to dst: "org.example.www s8443/docs/a?b" for
// https://www.example.org:8443/docs/a?b.
//
//	key    = host SP scheme [ port ] path [ "?" query ]
//	host   = the labels in reverse order, joined by dots; an IP address stands as it is
//	scheme = "h" for http, "s" for https
//	port   = decimal, absent when it is the scheme's default
//
// Keys are injective, and bytes.Compare on them orders by host (a domain's hosts lie together, and all of a
// host's URLs), then scheme and port, then path (a directory's URLs lie together, and all queries of a path),
// then query: a host's, directory's or path's URLs are one range, all with a common prefix. The space sorts
// below every byte that a host can have. A key is at most 2 bytes longer than its URL is without "://"; no
// store takes keys over 32 KiB, so longer URLs must be refused before (Traps does).
func (u URL) Key(dst []byte) []byte {
	host, port := u.splitHost()
	dst = slices.Grow(dst, len(u.s))
	dst = appendReversed(dst, host)
	dst = append(dst, ' ', 'h')
	if u.s[4] == 's' {
		dst[len(dst)-1] = 's'
	}
	dst = append(dst, port...)
	return append(dst, u.s[u.pathStart:]...)
}

// URLFromKey returns the URL whose Key is key; ErrBadKey for other bytes.
func URLFromKey(key []byte) (URL, error) {
	sp := bytes.IndexByte(key, ' ')
	if sp < 1 || sp+2 >= len(key) {
		return URL{}, fmt.Errorf("%w: %s", ErrBadKey, quote(string(key)))
	}
	rest := key[sp+2:]
	slash := bytes.IndexByte(rest, '/')
	if c := key[sp+1]; slash < 0 || (c != 'h' && c != 's') {
		return URL{}, fmt.Errorf("%w: %s", ErrBadKey, quote(string(key)))
	}
	b := make([]byte, 0, len(key)+8)
	b = append(b, "http"...)
	if key[sp+1] == 's' {
		b = append(b, 's')
	}
	b = append(b, "://"...)
	b = appendReversed(b, string(key[:sp]))
	if slash > 0 {
		if n, err := strconv.ParseUint(string(rest[:slash]), 10, 16); err != nil ||
			strconv.FormatUint(n, 10) != string(rest[:slash]) {
			return URL{}, fmt.Errorf("%w: %s", ErrBadKey, quote(string(key)))
		}
		b = append(b, ':')
	}
	b = append(b, rest...)
	return Canonical(string(b)), nil
}

// splitHost returns the host and the port without its colon, "" for the default.
func (u URL) splitHost() (host, port string) {
	host = u.Host()
	if i := strings.LastIndexByte(host, ':'); i >= 0 && host[len(host)-1] != ']' {
		return host[:i], host[i+1:]
	}
	return host, ""
}

// appendReversed appends host with its labels in reverse order. It is its own inverse: an IP address, which
// stands as it is, starts with a bracket or with an all-digit label, and a name can neither end in such a
// label (the URL standard reads it as an IPv4 address then) nor hold a bracket.
func appendReversed(dst []byte, host string) []byte {
	if isIP(host) {
		return append(dst, host...)
	}
	for {
		i := strings.LastIndexByte(host, '.')
		dst = append(dst, host[i+1:]...)
		if i < 0 {
			return dst
		}
		dst = append(dst, '.')
		host = host[:i]
	}
}

// isIP reports whether a canonical host is an IP address: bracketed, or four decimal numbers.
func isIP(host string) bool {
	return strings.HasPrefix(host, "[") ||
		(strings.Count(host, ".") == 3 && strings.Trim(host, "0123456789.") == "")
}

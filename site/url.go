// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotWeb says that a reference is well formed but is not an http or https URL: mailto:, javascript:,
// data:, ftp: and the like. Such a link is never mirrored and is left as it stands.
var ErrNotWeb = errors.New("not an http or https URL")

// URL is a canonical absolute http or https URL without fragment and without credentials, in the
// serialization of the WHATWG URL standard. Two URLs are the same resource exactly when they are ==; a URL is
// a valid map key. The zero value is no URL.
type URL struct {
	s         string
	pathStart int32 // index of the path's first slash in s
	queryAt   int32 // index of '?' in s, or len(s)
}

// Parse returns the URL that a browser would ask for raw, and its fragment without '#'. Credentials are
// dropped. It returns ErrNotWeb for other schemes and a descriptive error for invalid URLs.
func Parse(raw string) (u URL, fragment string, err error) {
	return URL{}.Resolve(raw)
}

// Resolve returns the URL that ref means in a document whose base is u, and its fragment without '#'.
func (u URL) Resolve(ref string) (abs URL, fragment string, err error) {
	var buf [256]byte
	out, frag, err := u.appendResolve(buf[:0], ref)
	if err != nil {
		return URL{}, "", err
	}
	if frag >= 0 {
		fragment = fragmentOf(trimRight(ref[frag+1:]))
	}
	if string(out) == u.s {
		return u, fragment, nil
	}
	return Canonical(string(out)), fragment, nil
}

// ResolveLocation is Resolve for the Location of an answer to a request of u. Bytes beyond ASCII are sent on
// as they came, regardless of the encoding of the server, as browsers do.
func (u URL) ResolveLocation(field string) (abs URL, fragment string, err error) {
	var b []byte
	for i := range len(field) {
		if c := field[i]; c >= 0x80 {
			b = fmt.Appendf(b, "%%%02X", c)
		} else {
			b = append(b, c)
		}
	}
	return u.Resolve(string(b))
}

// Canonical wraps a string that is known to be a serialized URL without fragment and credentials (one that
// String returned or that AppendResolve wrote). It checks nothing.
func Canonical(s string) URL {
	i := strings.Index(s, "://")
	if i < 0 {
		return URL{}
	}
	i += 3
	j := strings.IndexByte(s[i:], '/')
	if j < 0 {
		return URL{}
	}
	u := URL{s: s, pathStart: int32(i + j), queryAt: int32(len(s))}
	if q := strings.IndexByte(s[u.pathStart:], '?'); q >= 0 {
		u.queryAt = u.pathStart + int32(q)
	}
	return u
}

// String returns the serialized URL.
func (u URL) String() string { return u.s }

// IsZero reports whether u is no URL.
func (u URL) IsZero() bool { return u.s == "" }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	if i := strings.IndexByte(u.s, ':'); i > 0 {
		return u.s[:i]
	}
	return ""
}

// Origin returns scheme, host and port: "https://example.org" or "http://[::1]:8080".
func (u URL) Origin() string { return u.s[:u.pathStart] }

// Host returns the host, with its port when that is not the scheme's default.
func (u URL) Host() string {
	if u.s == "" {
		return ""
	}
	return u.s[len(u.Scheme())+3 : u.pathStart]
}

// Hostname returns the host without port; an IPv6 address keeps its brackets.
func (u URL) Hostname() string {
	host, _ := u.splitHost()
	return host
}

// Port returns the port, also where it is that of the scheme.
func (u URL) Port() uint16 {
	_, port := u.splitHost()
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		return uint16(n)
	}
	if u.Scheme() == "https" {
		return 443
	}
	return 80
}

// Path returns the percent-encoded path; it starts with '/'.
func (u URL) Path() string { return u.s[u.pathStart:u.queryAt] }

// Query returns the query without '?', and whether there is a '?'.
func (u URL) Query() (string, bool) {
	if int(u.queryAt) == len(u.s) {
		return "", false
	}
	return u.s[u.queryAt+1:], true
}

// RequestURI returns path and query as they are sent in a request line.
func (u URL) RequestURI() string { return u.s[u.pathStart:] }

// Dir returns the path up to and including its last slash.
func (u URL) Dir() string {
	p := u.Path()
	return p[:strings.LastIndexByte(p, '/')+1]
}

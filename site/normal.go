// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// Normal returns u as RFC 3986 spells it, section 6.2.2: escaped unreserved characters plain (%7E is ~), the
// digits of all other escapes in upper case. URLs with one normal form are equivalent; Resolve keeps the
// spelling, as browsers do. A URL with a % that escapes nothing stays as it is: what it means is not known.
func (u URL) Normal() URL {
	if strings.IndexByte(u.s, '%') < 0 {
		return u
	}
	if out, changed := AppendNormal(nil, []byte(u.s)); changed {
		return Canonical(string(out))
	}
	return u
}

// Same reports whether two URLs are equivalent.
func (u URL) Same(v URL) bool { return u == v || u.Normal() == v.Normal() }

// AppendNormal appends the normal form of a serialized URL to dst when that is another one; else out is dst.
func AppendNormal(dst, u []byte) (out []byte, changed bool) {
	first := bytes.IndexByte(u, '%')
	if first < 0 {
		return dst, false
	}
	out = append(dst, u[:first]...)
	for i := first; i < len(u); i++ {
		if u[i] != '%' {
			out = append(out, u[i])
			continue
		}
		var c [1]byte
		escape := u[i:min(i+3, len(u))]
		if n, err := hex.Decode(c[:], escape[1:]); err != nil || n == 0 {
			return dst, false
		}
		if isUnreserved(c[0]) {
			out, changed = append(out, c[0]), true
		} else {
			upper := bytes.ToUpper(escape)
			out, changed = append(out, upper...), changed || !bytes.Equal(upper, escape)
		}
		i += 2
	}
	if !changed {
		return dst, false
	}
	return out, true
}

// Spelling is what a server wants of URLs that are equivalent to others: it redirects these to its own.
type Spelling struct {
	Escaped string `json:"escaped,omitempty"` // unreserved characters that it escapes
	Lower   bool   `json:"lower,omitempty"`   // its escapes have lower-case digits
}

// SpellingOf returns the spelling of a URL. ok is false when that of the whole URL cannot be made from its
// normal form.
func SpellingOf(u URL) (s Spelling, ok bool) {
	for i := 0; i+2 < len(u.s); i++ {
		if u.s[i] != '%' {
			continue
		}
		a, b := u.s[i+1], u.s[i+2]
		if c := unhex(a)<<4 | unhex(b); isUnreserved(c) && !strings.Contains(s.Escaped, string(c)) {
			s.Escaped += string(c)
		}
		s.Lower = s.Lower || a > 'Z' || b > 'Z'
		i += 2
	}
	return s, s.Spell(u) == u
}

// Spell returns the URL that is equivalent to u, in a spelling.
func (s Spelling) Spell(u URL) URL {
	n := u.Normal()
	out := append(make([]byte, 0, len(n.s)), n.s[:n.pathStart]...)
	for i := int(n.pathStart); i < len(n.s); i++ {
		c := n.s[i]
		switch {
		case c == '%' && i+2 < len(n.s) && s.Lower:
			out = append(out, '%', n.s[i+1]|' ', n.s[i+2]|' ')
			i += 2
		case c == '%' && i+2 < len(n.s):
			out = append(out, n.s[i:i+3]...)
			i += 2
		case strings.IndexByte(s.Escaped, c) >= 0:
			out = appendEscape(out, c, s.Lower)
		default:
			out = append(out, c)
		}
	}
	return Canonical(string(out))
}

func appendEscape(dst []byte, c byte, lower bool) []byte {
	digits := "0123456789ABCDEF"
	if lower {
		digits = "0123456789abcdef"
	}
	return append(dst, '%', digits[c>>4], digits[c&15])
}

// isUnreserved is the rule "unreserved" of RFC 3986, section 2.3.
func isUnreserved(c byte) bool {
	return isAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | ' ') - 'a' + 10
}

// SPDX-License-Identifier: Apache-2.0

package site

import "strings"

// RandomPart is a part of a URL that looks random, as session ids do; digests and many names of documents do,
// too.
type RandomPart struct {
	// Kind is where it stands: the origin with the name of a parameter ("?visit=" or ";visit="), or with the
	// path before the segment.
	Kind  string
	Form  string // the URL without it
	Value string
}

// TokenMark replaces the token in a Form, and at the end of the Kind of a segment.
const TokenMark = "…"

const (
	shortToken  = 8
	longToken   = 128
	shortNumber = 9  // digits of a token that is a number
	shortDashed = 16 // bytes of a token with - or _, which words have as well
	mostTokens  = 4  // of a URL
)

// Tokens returns the parts of a URL that look random, four at most: values of parameters and segments of the
// path that have letters and digits, or nine digits at least, and 8 to 128 of them.
func Tokens(u URL) (out []RandomPart) {
	if u.IsZero() {
		return nil
	}
	add := func(before, name, after string, start, end int) { // most are not random: Kind is made of these then
		if len(out) < mostTokens && isRandom(u.s[start:end]) {
			out = append(out, RandomPart{
				Kind:  u.Origin() + before + name + after,
				Form:  u.s[:start] + TokenMark + u.s[end:],
				Value: u.s[start:end],
			})
		}
	}
	path := u.Path()
	at := len(u.s) - len(u.RequestURI()) // of the path
	for i := 0; i < len(path); {
		j := i + 1
		for j < len(path) && path[j] != '/' {
			j++
		}
		name, params, _ := strings.Cut(path[i+1:j], ";")
		if i > 0 || j < len(path) { // a token alone is the name of a document
			add(path[:i+1], TokenMark, "", at+i+1, at+i+1+len(name))
		}
		for p := at + j - len(params); params != ""; {
			var pair string
			pair, params, _ = strings.Cut(params, ";")
			if key, _, ok := strings.Cut(pair, "="); ok {
				add(";", key, "=", p+len(key)+1, p+len(pair))
			}
			p += len(pair) + 1
		}
		i = j
	}
	q, ok := u.Query()
	if !ok {
		return out
	}
	for p := len(u.s) - len(q); q != ""; {
		pair, rest := cutParam(q)
		if key, _, ok := strings.Cut(pair, "="); ok {
			add("?", key, "=", p+len(key)+1, p+len(pair))
		}
		p += len(pair) + 1
		q = rest
	}
	return out
}

// isRandom reports whether a part of a URL may be random.
func isRandom(s string) bool {
	if len(s) < shortToken || len(s) > longToken {
		return false
	}
	digits, letters, dashes := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '-' || c == '_':
			dashes++
		case isAlnum(c):
			letters++
		default:
			return false
		}
	}
	switch {
	case letters == 0:
		return dashes == 0 && digits >= shortNumber
	case dashes > 0 && len(s) < shortDashed:
		return false
	}
	return digits > 0
}

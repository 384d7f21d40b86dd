// SPDX-License-Identifier: Apache-2.0

package robots

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// A pattern is the path of a rule, normalised and cut at its wildcards. It matches a URL that starts with its
// first piece, then has the others in this order, apart from one another or not, and ends there if it is
// anchored.
type pattern struct {
	rule   Rule
	octets int // of the normalised pattern; what "most specific" is measured by (2.2.2)

	first    string
	rest     []string
	anchored bool // ends in '$'
	queried  bool // compares with the URL's second form
}

// newPatterns prepares a rule's path, which starts with '/' or '*'. A '$' anchors at the end only; elsewhere
// it stands for itself. There are two patterns when the path has a query with slashes or question marks in
// it, one for each form of a URL.
func newPatterns(path string, rule Rule) []pattern {
	anchored := path[len(path)-1] == '$'
	if anchored {
		path = path[:len(path)-1]
	}
	head, query, hasQuery := strings.Cut(path, "?")
	b := normalise(nil, head, "/*")
	if !hasQuery {
		return []pattern{newPattern(string(b), anchored, rule)}
	}
	b = append(b, '?')
	plain := string(normalise(b, query, "/?*"))
	ps := []pattern{newPattern(plain, anchored, rule)}
	escaped := string(normalise(b, query, "*"))
	if q := escaped[len(b):]; escaped != plain || strings.Contains(q, "%2F") || strings.Contains(q, "%3F") {
		p := newPattern(escaped, anchored, rule)
		p.queried = true
		ps = append(ps, p)
	}
	return ps
}

func newPattern(path string, anchored bool, rule Rule) pattern {
	p := pattern{rule: rule, octets: len(path), anchored: anchored}
	if anchored {
		p.octets++
	}
	pieces := strings.Split(path, "*")
	p.first = pieces[0]
	for i, s := range pieces[1:] {
		// Neighbouring wildcards are one; an empty last piece matters to the anchor only.
		if s != "" || (anchored && i == len(pieces)-2) {
			p.rest = append(p.rest, s)
		}
	}
	return p
}

// A target is a URL in the two forms that patterns compare with.
type target struct {
	plain   string
	queried string // slashes and question marks of the query escaped, as in the second example of 2.2.2
}

func newTarget(buf []byte, u string) target {
	if u == "" || u[0] != '/' {
		u = "/" + u
	}
	head, query, has := strings.Cut(u, "?")
	b := normalise(buf, head, "/")
	if !has {
		s := string(b)
		return target{s, s}
	}
	b = append(b, '?')
	n := len(b)
	b = normalise(b, query, "/?")
	t := target{plain: string(b)}
	t.queried = t.plain
	if strings.ContainsAny(query, "/?") {
		t.queried = string(normalise(b[:n], query, ""))
	}
	return t
}

// match takes time linear in the URL: the leftmost place of each piece leaves the most text for the next.
func (p *pattern) match(t *target) bool {
	s := t.plain
	if p.queried {
		s = t.queried
	}
	if !strings.HasPrefix(s, p.first) {
		return false
	}
	s = s[len(p.first):]
	if !p.anchored {
		for _, piece := range p.rest {
			i := strings.Index(s, piece)
			if i < 0 {
				return false
			}
			s = s[i+len(piece):]
		}
		return true
	}
	if len(p.rest) == 0 {
		return s == ""
	}
	last := len(p.rest) - 1
	for _, piece := range p.rest[:last] {
		i := strings.Index(s, piece)
		if i < 0 {
			return false
		}
		s = s[i+len(piece):]
	}
	return strings.HasSuffix(s, p.rest[last])
}

// normalise appends s in the form in which octets are compared (2.2.2): escapes of unreserved characters
// decoded, all other escapes in upper case, and everything else, a lone "%" too, escaped but unreserved
// characters, '&', '=' and the octets of keep.
func normalise(dst []byte, s, keep string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			d, err := hex.DecodeString(s[i+1 : min(i+3, len(s))])
			switch {
			case err != nil || len(d) == 0: // no escape; it must not become one with decoded text behind it
				dst = append(dst, "%25"...)
				continue
			case unreserved(d[0]):
				dst = append(dst, d...)
			default:
				dst = fmt.Appendf(dst, "%%%02X", d)
			}
			i += 2
			continue
		}
		if unreserved(c) || c == '&' || c == '=' || strings.IndexByte(keep, c) >= 0 {
			dst = append(dst, c)
		} else {
			dst = fmt.Appendf(dst, "%%%02X", c)
		}
	}
	return dst
}

// unreserved is RFC 3986, 2.3.
func unreserved(c byte) bool {
	return ('a' <= c|0x20 && c|0x20 <= 'z') || ('0' <= c && c <= '9') || c == '-' || c == '.' ||
		c == '_' || c == '~'
}

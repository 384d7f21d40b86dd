// SPDX-License-Identifier: Apache-2.0

package relocate

import "strings"

// HeaderLink is one link of a Link header field (RFC 8288). Its reference is resolved against the URL of the
// response.
type HeaderLink struct {
	Ref      string
	Rel      string // space-separated relation types in lower case
	Anchor   string // context other than the response itself, or ""
	As       string // destination of a preload
	Type     string
	Hreflang string
	Media    string
}

// Is reports whether rel is one of the link's relation types.
func (l HeaderLink) Is(rel string) bool { return hasToken([]byte(l.Rel), rel) }

// Kind returns what the link is for, by the rules of the link element; ok is false for hints that name
// nothing to fetch.
func (l HeaderLink) Kind() (kind Kind, ok bool) {
	k, hint := relKind([]byte(l.Rel), []byte(l.Type), l.Hreflang != "")
	return k, !hint
}

// MaxHeaderLinks bounds the links taken from one response's header.
const MaxHeaderLinks = 1000

// ParseLinkHeader returns the links of all Link fields of a response, in order. What cannot be parsed is
// passed over.
func ParseLinkHeader(values []string) []HeaderLink {
	var links []HeaderLink
	for _, s := range values {
		for {
			i := strings.IndexByte(s, '<')
			if i < 0 {
				break
			}
			s = s[i+1:]
			j := strings.IndexByte(s, '>')
			if j < 0 || len(links) >= MaxHeaderLinks {
				break
			}
			l := HeaderLink{Ref: strings.TrimSpace(s[:j])}
			s = l.params(s[j+1:])
			links = append(links, l)
		}
	}
	return links
}

// params reads the parameters at the start of s and returns what follows the comma after them.
func (l *HeaderLink) params(s string) string {
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] == ',' {
			return s
		}
		if s[0] != ';' {
			if i := strings.IndexAny(s, ",;"); i >= 0 {
				s = s[i:]
				continue
			}
			return ""
		}
		s = strings.TrimLeft(s[1:], " \t")
		n := strings.IndexAny(s, "=,; \t")
		if n < 0 {
			return ""
		}
		name := strings.ToLower(s[:n])
		s = strings.TrimLeft(s[n:], " \t")
		if s == "" || s[0] != '=' {
			continue
		}
		var value string
		value, s = headerValue(strings.TrimLeft(s[1:], " \t"))
		l.set(name, value)
	}
}

// headerValue reads a token or quoted string.
func headerValue(s string) (value, rest string) {
	if s == "" || s[0] != '"' {
		n := strings.IndexAny(s, ",;")
		if n < 0 {
			n = len(s)
		}
		return strings.TrimRight(s[:n], " \t"), s[n:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return b.String(), s[i+1:]
		case '\\':
			if i++; i < len(s) {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// set takes the first occurrence of a parameter, as RFC 8288, section 3.3 asks for rel.
func (l *HeaderLink) set(name, value string) {
	field := map[string]*string{
		"rel":      &l.Rel,
		"anchor":   &l.Anchor,
		"as":       &l.As,
		"type":     &l.Type,
		"hreflang": &l.Hreflang,
		"media":    &l.Media,
	}[name]
	if field == nil || *field != "" {
		return
	}
	if name == "rel" || name == "as" {
		value = strings.ToLower(strings.Join(strings.Fields(value), " "))
	}
	*field = value
}

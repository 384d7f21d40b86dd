// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"regexp"
	"slices"
	"strings"

	"mirrord/site"
)

// IdlePart is a part of a URL that may not matter: the pairs of its query with one name, spaces behind their
// values, what follows an @ in its path, a segment that looks random, or the case of its letters. What looks
// random (site.Tokens) is also a token, which may be a session id.
type IdlePart struct {
	Kind  string // where: the origin, and the part
	Form  string // the URL without it
	Value string // "" for a path without capital letters
}

// Limits of IdlePart.
const (
	mostParts  = 8  // names in a query
	mostDirs   = 5  // that are places
	shortValue = 16 // bytes of the value of another parameter that is a place
)

// spaceEnds are spaces at the end of values.
var spaceEnds = regexp.MustCompile(`(?:\+|%20)+(&|$)`)

// PartsOf returns the parts of a URL that may not matter.
func PartsOf(u site.URL) (out []IdlePart) {
	if u.IsZero() {
		return nil
	}
	path, origin := u.Path(), u.Origin()
	q, _ := u.Query()
	add := func(what, form, value string) {
		out = append(out, IdlePart{Kind: origin + what, Form: form, Value: value})
	}
	for pair := range site.Params(q) {
		name, value, _ := strings.Cut(pair, "=")
		what := " ?" + name
		again := slices.ContainsFunc(out, func(p IdlePart) bool { return p.Kind == origin+what })
		if again || len(out) == mostParts {
			continue
		}
		if value == "" {
			value = name
		}
		add(what, site.WithoutParam(u, name).String(), value)
	}
	if at := strings.LastIndexByte(path, '@'); at > 0 && at+1 < len(path) {
		rest := path[at:]
		if end := strings.IndexByte(rest, '/'); end >= 0 {
			rest = rest[:end]
		}
		if len(rest) > 1 && path[at-1] != '/' {
			add(" @", origin+path[:at]+u.RequestURI()[at+len(rest):], rest[1:])
		}
	}
	if q != "" {
		form, value := u.String(), ""
		if strings.ContainsAny(q, "+%") && spaceEnds.MatchString(q) {
			form, value = form[:len(form)-len(q)]+spaceEnds.ReplaceAllString(q, "$1"), q
		}
		add(" spaces", form, value)
	}
	for _, t := range site.Tokens(u) {
		out = append(out, IdlePart{Kind: t.Kind, Form: t.Form, Value: t.Value})
		if strings.HasSuffix(t.Kind, site.TokenMark) {
			add(" "+t.Kind[len(origin):], t.Form, t.Value)
		}
	}
	lower, value := strings.ToLower(path), ""
	if hasCapitals(path) {
		value = path
	}
	add(" case", origin+lower+u.RequestURI()[len(path):], value)
	return out
}

// MayLack reports whether the Form of a part may be a URL too: it is a parameter of the query, or a version.
func (p *IdlePart) MayLack() bool {
	return strings.Contains(p.Kind, " ?") || strings.HasSuffix(p.Kind, " @")
}

// IsToken reports whether a part is a token, whose Kind is that of site.RandomPart.
func (p *IdlePart) IsToken() bool { return !strings.Contains(p.Kind, " ") }

// Places returns for what it may be learned that the part does not matter, the widest first.
func (p *IdlePart) Places() []string {
	kind, out := p.Kind, []string{p.Kind}
	if !strings.Contains(kind, " ?") {
		return out
	}
	u := site.Canonical(p.Form)
	path, names := u.Path(), ""
	q, _ := u.Query()
	pairs := slices.Collect(site.Params(q))
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		names += " " + name
	}
	for i := 1; i < len(path) && len(out) < mostDirs; i++ {
		if path[i] == '/' {
			out = append(out, kind+" under "+path[:i+1])
		}
	}
	out = append(out, kind+" under "+u.Dir()+" with"+names, kind+" at "+path, kind+" at "+path+" with"+names)
	for _, pair := range pairs[:min(len(pairs), mostParts)] {
		if _, value, _ := strings.Cut(pair, "="); len(value) <= shortValue {
			out = append(out, kind+" at "+path+" with "+pair)
		}
	}
	return out
}

// WithoutPart returns a URL without a kind of part, as it is in Form.
func WithoutPart(u site.URL, kind string) string {
	for _, p := range PartsOf(u) {
		if p.Kind == kind {
			return p.Form
		}
	}
	return u.String()
}

// hasCapitals reports whether a path has capital letters that are no digits of an escape.
func hasCapitals(path string) bool {
	for i := 0; i < len(path); i++ {
		if path[i] == '%' {
			i += 2
		} else if path[i] >= 'A' && path[i] <= 'Z' {
			return true
		}
	}
	return false
}

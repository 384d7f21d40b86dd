// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrBadGlob says that a pattern cannot be used; the error names the pattern and says why.
var ErrBadGlob = errors.New("bad pattern")

// maxGlob bounds a pattern in bytes. With it, and a URL's length bound, a match has a
// bound too.
const maxGlob = 1000

// A Glob is a compiled pattern for URLs. Matching reads the text once and takes time linear in it,
// regardless of the pattern.
//
//   - any characters within a segment (not '/')
//     **    any characters
//     **/   no or more whole directories
//     ?     one character within a segment
//     \x    x itself; `\?` begins the query
//
// A pattern that starts with '/' is matched against the whole path; one that holds no '/' against the last
// segment of the path ("*.iso"); one that starts with "**" against the path from any place. One that starts
// with "http://" or "https://" is matched against the whole URL, and one that starts with "//" against the
// URL without its scheme; one without a path covers the whole host. The query takes part only when the
// pattern has a `\?`; else it is cut off before. In the query '*' matches '/' too. Characters that a URL
// encodes may be written plainly ("/a b/*"). Case counts, but for the host's name. Brackets and braces must
// be escaped: other tools give them a meaning that is not known here.
type Glob struct {
	pattern string
	against target
	query   bool // the query takes part

	prefix string         // literal start, compared first
	rest   *regexp.Regexp // what follows; nil: nothing
}

type target uint8

const (
	targetPath target = iota
	targetName
	targetHost // host, path
	targetURL
)

// QuoteGlob returns a pattern of a path that matches it alone. A question mark stays one: it matches any
// character.
func QuoteGlob(path string) string { return globSigns.Replace(path) }

var globSigns = strings.NewReplacer(`\`, `\\`, "*", `\*`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)

// CompileGlob returns the compiled pattern.
func CompileGlob(pattern string) (*Glob, error) {
	bad := func(why string) (*Glob, error) {
		return nil, fmt.Errorf("%w %s: %s", ErrBadGlob, quote(pattern), why)
	}
	g := &Glob{pattern: pattern}
	switch {
	case pattern == "":
		return bad("is empty")
	case strings.HasPrefix(pattern, "http://"), strings.HasPrefix(pattern, "https://"):
		g.against = targetURL
	case strings.HasPrefix(pattern, "//"):
		g.against = targetHost
	case pattern[0] == '/', strings.HasPrefix(pattern, "**"):
	case !strings.Contains(pattern, "/"):
		g.against = targetName
	case strings.Contains(pattern, "://"):
		return bad("only http:// and https:// are known")
	default:
		return bad(`must start with "/", "**/" or "http", or be a file name without "/"`)
	}
	text := pattern
	if n, other := AppendNormal(nil, []byte(text)); other {
		text = string(n)
	}
	if g.Absolute() {
		var err error
		if text, err = hostPattern(text); err != nil {
			return bad(err.Error())
		}
	}
	if len(text) > maxGlob {
		return bad("is too long")
	}
	if err := g.compile(text); err != nil {
		return bad(err.Error())
	}
	return g, nil
}

func (g *Glob) compile(text string) error {
	plain, expr := pathPlain, ""
	for i := 0; i < len(text); {
		escaped := text[i] == '\\'
		if escaped {
			if i++; i == len(text) {
				return errors.New(`ends in a lone "\"`)
			}
		}
		meta, next := "", i
		switch c := text[i]; {
		case escaped && c == '?' && !g.query:
			g.query, plain = true, queryPlain
		case escaped:
		case c == '*':
			meta, next = g.star(text, i)
		case c == '?':
			meta, next = `[^/]`, i+1
		case (c == '[' || c == ']') && !(g.Absolute() && strings.Count(text[:i], "/") <= 2): // not an IPv6 address
			return errors.New(`character classes are not known; write "\[" for the bracket itself`)
		case c == '{' || c == '}':
			return errors.New(`"{a,b}" is not known; write a pattern for each`)
		case c == '#':
			return errors.New("a URL in a mirror has no fragment")
		}
		if meta == "" {
			meta, next = encoded(plain, text, i)
			if expr == "" {
				g.prefix, meta = g.prefix+meta, ""
			}
			meta = regexp.QuoteMeta(meta)
		}
		expr += meta
		i = next
	}
	if expr != "" {
		g.rest = regexp.MustCompile(`^(?s:` + expr + `)$`)
	}
	return nil
}

// hostPattern lowers the host of a pattern that has one, and lets it cover the whole host when it has no
// path.
func hostPattern(pattern string) (string, error) {
	start := strings.Index(pattern, "//") + 2
	host, path, hasPath := strings.Cut(pattern[start:], "/")
	if host == "" {
		return "", errors.New("has no host")
	}
	for i := 0; i < len(host); i++ {
		if host[i] >= utf8.RuneSelf {
			return "", errors.New("write the host in its xn-- form")
		}
	}
	if !hasPath {
		path = "**"
	}
	return pattern[:start] + strings.ToLower(host) + "/" + path, nil
}

// star returns the expression for the stars at text[at], and the index after them.
func (g *Glob) star(text string, at int) (expr string, next int) {
	rest := strings.TrimLeft(text[at:], "*")
	next = len(text) - len(rest)
	switch {
	case next == at+1 && !g.query:
		return `[^/]*`, next
	case at > 0 && text[at-1] == '/' && strings.HasPrefix(rest, "/"):
		return `(?:.*/)?`, next + 1
	}
	return `.*`, next
}

// encoded returns the character at s[i] as a URL writes it, and the index after it.
func encoded(plain *byteSet, s string, i int) (string, int) {
	if plain[s[i]] || s[i] == '/' || s[i] == '?' {
		return s[i : i+1], i + 1
	}
	b, next := appendEncoded(nil, s, i)
	return string(b), next
}

// String returns the pattern as it was written.
func (g *Glob) String() string { return g.pattern }

// Absolute reports whether the pattern names its own host, because it is matched against more than a path.
func (g *Glob) Absolute() bool { return g.against >= targetHost }

// Match reports whether the pattern matches u.
func (g *Glob) Match(u URL) bool {
	u = u.Normal()
	end := len(u.s)
	if !g.query {
		end = int(u.queryAt)
	}
	start := int(u.pathStart)
	switch g.against {
	case targetName:
		start += len(u.Dir())
	case targetHost:
		start = strings.IndexByte(u.s, ':') + 1
	case targetURL:
		start = 0
	}
	return g.match(u.s[start:end])
}

func (g *Glob) match(s string) bool {
	rest, ok := strings.CutPrefix(s, g.prefix)
	if g.rest == nil {
		return ok && rest == ""
	}
	return ok && g.rest.MatchString(rest)
}

// AnyMatches reports whether one of the patterns matches u.
func AnyMatches(globs []*Glob, u URL) bool {
	return slices.ContainsFunc(globs, func(g *Glob) bool { return g.Match(u) })
}

// CompileGlobs compiles each of patterns; the error joins all that is wrong.
func CompileGlobs(what string, patterns []string) ([]*Glob, error) {
	var globs []*Glob
	var errs []error
	for _, p := range patterns {
		g, err := CompileGlob(p)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
			continue
		}
		globs = append(globs, g)
	}
	return globs, errors.Join(errs...)
}

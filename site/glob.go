// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrBadGlob says that a pattern cannot be used; the error names the pattern and says why.
var ErrBadGlob = errors.New("bad pattern")

// maxGlob bounds a pattern in states (about its characters). With it, and a URL's length bound, a match has a
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

	prefix string // literal start, compared first
	tail   globTail
	toks   []globToken // what follows prefix
	bits   *globBits   // the same for up to 63 states
}

type target uint8

const (
	targetPath target = iota
	targetName
	targetHost // host, path
	targetURL
)

type globTail uint8

const (
	tailToks  globTail = iota // toks decide
	tailExact                 // nothing may follow prefix
	tailAny                   // anything may
)

type tokKind uint8

const (
	tokByte tokKind = iota
	tokOne          // any byte but '/'
	tokStar         // any run without '/'
	tokAny          // any run
	tokSkip         // no character: the next two tokens (tokAny, '/') may be left out
)

type globToken struct {
	kind tokKind
	c    byte
}

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
	plain := pathPlain
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\\':
			if i++; i == len(text) {
				return bad(`ends in a lone "\"`)
			}
			if text[i] == '?' && !g.query {
				g.query, plain = true, queryPlain
				g.toks = append(g.toks, globToken{tokByte, '?'})
			} else {
				i = g.literal(plain, text, i)
				continue
			}
		case c == '*':
			i += g.star(text[i:])
			continue
		case c == '?':
			g.toks = append(g.toks, globToken{kind: tokOne})
		case (c == '[' || c == ']') && !(g.Absolute() && strings.Count(text[:i], "/") <= 2): // not an IPv6 address
			return bad(`character classes are not known; write "\[" for the bracket itself`)
		case c == '{' || c == '}':
			return bad(`"{a,b}" is not known; write a pattern for each`)
		case c == '#':
			return bad("a URL in a mirror has no fragment")
		default:
			i = g.literal(plain, text, i)
			continue
		}
		i++
	}
	if len(g.toks) > maxGlob {
		return bad("is too long")
	}
	g.finish()
	return g, nil
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

// star adds the token for the stars at the start of s and returns how many bytes they are.
func (g *Glob) star(s string) int {
	n := len(s) - len(strings.TrimLeft(s, "*"))
	segmentStart := len(g.toks) == 0 || g.toks[len(g.toks)-1] == globToken{tokByte, '/'}
	switch {
	case n == 1 && !g.query:
		g.toks = append(g.toks, globToken{kind: tokStar})
	case segmentStart && len(g.toks) > 0 && n < len(s) && s[n] == '/':
		g.toks = append(g.toks, globToken{kind: tokSkip}, globToken{kind: tokAny}, globToken{tokByte, '/'})
		n++
	default:
		g.toks = append(g.toks, globToken{kind: tokAny})
	}
	return n
}

// literal adds the character at s[i] as a URL writes it, and returns the index after it.
func (g *Glob) literal(plain *byteSet, s string, i int) int {
	var buf [12]byte
	enc, next := append(buf[:0], s[i]), i+1
	if !plain[s[i]] && s[i] != '/' && s[i] != '?' {
		enc, next = appendEncoded(buf[:0], s, i)
	}
	for _, c := range enc {
		g.toks = append(g.toks, globToken{tokByte, c})
	}
	return next
}

// finish splits off the literal prefix and prepares the matcher of the rest.
func (g *Glob) finish() {
	n := 0
	for n < len(g.toks) && g.toks[n].kind == tokByte {
		n++
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = g.toks[i].c
	}
	g.prefix, g.toks = string(b), g.toks[n:]
	switch {
	case len(g.toks) == 0:
		g.tail = tailExact
	case len(g.toks) == 1 && g.toks[0].kind == tokAny:
		g.tail = tailAny
	case len(g.toks) < 64:
		g.bits = newGlobBits(g.toks)
	}
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
	if !strings.HasPrefix(s, g.prefix) {
		return false
	}
	s = s[len(g.prefix):]
	switch {
	case g.tail == tailExact:
		return s == ""
	case g.tail == tailAny:
		return true
	case g.bits != nil:
		return g.bits.match(s)
	}
	return matchStates(g.toks, s)
}

// globBits simulates the pattern's automaton with a state per bit: bit i is set when the tokens before i have
// matched. Source: Baeza-Yates and Gonnet, "A new approach to text searching" (1992), with gaps.
type globBits struct {
	step  [256]uint64 // states that the byte moves on by one
	stay  [2]uint64   // states that any byte, and '/', keeps
	skip1 uint64      // states that also are their successor
	skip3 uint64      // states that also are the third after them
	final uint64
}

func newGlobBits(toks []globToken) *globBits {
	b := &globBits{final: 1 << len(toks)}
	for i, t := range toks {
		bit := uint64(1) << i
		switch t.kind {
		case tokByte:
			b.step[t.c] |= bit
		case tokOne:
			for c := range b.step {
				if c != '/' {
					b.step[c] |= bit
				}
			}
		case tokStar:
			b.stay[0] |= bit
			b.skip1 |= bit
		case tokAny:
			b.stay[0] |= bit
			b.stay[1] |= bit
			b.skip1 |= bit
		case tokSkip:
			b.skip1 |= bit
			b.skip3 |= bit
		}
	}
	return b
}

func (b *globBits) match(s string) bool {
	d := b.close(1)
	for i := 0; i < len(s) && d != 0; i++ {
		stay := b.stay[0]
		if s[i] == '/' {
			stay = b.stay[1]
		}
		d = b.close(d&b.step[s[i]]<<1 | d&stay)
	}
	return d&b.final != 0
}

// close adds the states that are reached without a character.
func (b *globBits) close(d uint64) uint64 {
	for {
		n := d | d&b.skip1<<1 | d&b.skip3<<3
		if n == d {
			return d
		}
		d = n
	}
}

// matchStates is the same automaton with a byte per state, for patterns of any length.
func matchStates(toks []globToken, s string) bool {
	cur, next := make([]bool, len(toks)+1), make([]bool, len(toks)+1)
	closeStates := func(d []bool) {
		for i, t := range toks {
			if d[i] && t.kind >= tokStar {
				d[i+1] = true
				if t.kind == tokSkip {
					d[i+3] = true
				}
			}
		}
	}
	cur[0] = true
	closeStates(cur)
	for i := 0; i < len(s); i++ {
		clear(next)
		for j, t := range toks {
			if !cur[j] {
				continue
			}
			switch t.kind {
			case tokByte:
				next[j+1] = next[j+1] || s[i] == t.c
			case tokOne:
				next[j+1] = next[j+1] || s[i] != '/'
			case tokStar:
				next[j] = next[j] || s[i] != '/'
			case tokAny:
				next[j] = true
			}
		}
		closeStates(next)
		cur, next = next, cur
	}
	return cur[len(toks)]
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

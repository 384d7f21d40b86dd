// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	stdhtml "html"
	"net/url"
	"slices"
	"strings"

	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
)

// linkFixer changes the links of a page into the form that zimcheck accepts.
//
// zimcheck does not parse HTML. To it a link is what follows ` href` or ` src`, "=" and a quote anywhere in
// the bytes of a page: in attributes, and in scripts, comments and examples, too. So linkFixer looks for the
// same, and parses a page only when it finds one that zimcheck would report. A page without any keeps its
// bytes.
type linkFixer struct {
	exists func(path []byte) bool // whether the mirror has a file; safe for concurrent use

	page  *phm.File
	depth int      // directories above it
	below site.URL // its address when the mirror is a site; zero until it is needed
	from  site.URL // its address at the origin; the same

	dir string // of the page, with its slash

	out  []byte
	undo []byte // how the page comes back of out, see restore
	to   []byte // scratch
}

// find is one place that zimcheck takes for a link.
type find struct {
	at         int // of the blank
	src        bool
	start, end int // of the value; end is -1 when the quote is not closed
}

// nextFind returns the first such place from a byte on.
func nextFind(page []byte, from int) (f find, ok bool) {
	for p := from; p < len(page); {
		end := bytes.IndexByte(page[p:], '=') // of the name
		if end < 0 {
			break
		}
		end += p
		p = end + 1
		for end > from && page[end-1] == ' ' {
			end--
		}
		if end == from {
			continue
		}
		switch page[end-1] {
		case 'f':
			if !bytes.HasSuffix(page[from:end], []byte(" href")) {
				continue
			}
			f = find{at: end - len(" href")}
		case 'c':
			if !bytes.HasSuffix(page[from:end], []byte(" src")) {
				continue
			}
			f = find{at: end - len(" src"), src: true}
		default:
			continue
		}
		if p = skipBlanks(page, p); p >= len(page) || (page[p] != '"' && page[p] != '\'') {
			continue
		}
		f.start, f.end = p+1, -1
		if k := bytes.IndexByte(page[p+1:], page[p]); k >= 0 {
			f.end = p + 1 + k
		}
		return f, true
	}
	return find{}, false
}

func skipBlanks(page []byte, p int) int {
	for p < len(page) && page[p] == ' ' {
		p++
	}
	return p
}

// fix returns the page as it is shown, which may be raw or the fixer's until the next call, and how the page
// comes back of that: nil when it is shown as it is.
func (x *linkFixer) fix(f *phm.File, raw []byte) (shown, undo []byte) {
	x.begin(f)
	parts := relocate.FindMarkup(raw)
	copied, from := 0, 0
	for {
		l, ok := nextFind(raw, from)
		if !ok {
			break
		}
		if l.end >= 0 && x.judge(raw[l.start:l.end], l.src) {
			from = l.end + 1
			continue
		}
		start, end, text := x.repair(raw, l, &parts)
		if copied == 0 {
			x.out = slices.Grow(x.out, max(len(raw)+len(raw)/16, 256<<10))
		}
		x.out = append(x.out, raw[copied:start]...)
		x.undo = appendUndo(x.undo, start-copied, len(text), raw[start:end])
		x.out = append(x.out, text...)
		copied, from = end, end
		if start == l.start {
			from = l.end + 1
		}
	}
	if copied == 0 {
		return raw, nil
	}
	x.out = append(x.out, raw[copied:]...)
	return x.out, x.undo
}

// begin prepares the fixer for a page.
func (x *linkFixer) begin(f *phm.File) {
	x.page, x.depth = f, strings.Count(f.Path, "/")
	x.below, x.from = site.URL{}, site.URL{}
	x.dir = f.Path[:strings.LastIndexByte(f.Path, '/')+1]
	x.out, x.undo = x.out[:0], x.undo[:0]
}

// judge finds out whether zimcheck takes a link for a right one. Releases differ: it must be right for all.
func (x *linkFixer) judge(v []byte, src bool) bool {
	if len(v) == 0 {
		return false
	}
	if v[0] == '#' || v[0] == '?' {
		return true
	}
	switch kindOf(v) {
	case outside:
		return !src
	case special:
		return true
	case unknown:
		return false
	}
	if v[0] == '/' {
		return false
	}
	end, climbs, escaped := len(v), 0, false
	for i, c := range v {
		switch c {
		case '&':
			return false // releases differ in whether they decode character references
		case '#', '?':
			end = min(end, i)
		case '%':
			escaped = escaped || i < end
		case '/':
			if i >= 2 && v[i-1] == '.' && v[i-2] == '.' {
				climbs++
			}
		}
	}
	if climbs > x.depth {
		return false
	}
	path := v[:end]
	if escaped {
		plain, err := url.PathUnescape(string(path))
		if err != nil {
			return false
		}
		path = []byte(plain)
	}
	to, ok := x.appendResolved(x.to[:0], path)
	x.to = to
	return ok && x.exists(to)
}

// appendResolved appends the path that a relative path resolves to; not ok: it is above the root.
func (x *linkFixer) appendResolved(to, path []byte) (_ []byte, ok bool) {
	to = append(to, x.dir...)
	for depth := x.depth; ; {
		s, more, found := bytes.Cut(path, []byte("/"))
		switch string(s) {
		case ".", "..":
			if len(s) == 2 && depth == 0 {
				return to, false
			}
			if len(s) == 2 {
				depth--
				to = to[:bytes.LastIndexByte(to[:len(to)-1], '/')+1]
			}
			if !found {
				return bytes.TrimSuffix(to, []byte("/")), true
			}
		default:
			if !bytes.Contains(more, []byte("/.")) && !bytes.HasPrefix(more, []byte(".")) {
				return append(to, path...), true
			}
			to = append(append(to, s...), '/')
			depth++
		}
		path = more
	}
}

// linkKind is what zimcheck takes a link for by its spelling.
type linkKind uint8

const (
	inside  linkKind = iota // a path
	outside                 // it loads something from elsewhere
	special                 // mailto: and the like
	unknown                 // a scheme that releases take for a path or not
)

func kindOf(v []byte) linkKind {
	k := slices.IndexFunc(v, func(c byte) bool { return c == ':' || c == '/' || c == '?' || c == '#' })
	if k < 0 || v[k] != ':' {
		if k == 0 && bytes.HasPrefix(v, []byte("//")) {
			return outside
		}
		return inside
	}
	if bytes.HasPrefix(v[k:], []byte("://")) {
		return outside
	}
	switch strings.ToLower(string(v[:k])) {
	case "javascript", "mailto", "tel", "geo", "data", "xmpp", "news", "urn":
		return special
	}
	return unknown
}

// repair says which bytes to replace by which, so that a link is accepted.
func (x *linkFixer) repair(
	raw []byte, l find, parts *relocate.MarkupFinder,
) (start, end int, text string) {
	switch from, part := parts.At(l.at); {
	case part == relocate.MarkupText:
		// a reference for the quote is the same text
		quote := "&#34;"
		if raw[l.start-1] == '\'' {
			quote = "&#39;"
		}
		return l.start - 1, l.start, quote
	case part == relocate.MarkupRaw, l.end < 0, quoted(raw[from:l.at]):
		return l.at, l.at + 1, "\t"
	}
	value := strings.TrimSpace(stdhtml.UnescapeString(string(raw[l.start:l.end])))
	if ref := x.target(value, l.src); ref != "" && x.judge([]byte(ref), l.src) {
		return l.start, l.end, ref
	}
	if l.src {
		return l.at, l.at + 1, " data-"
	}
	return l.at, l.at + 1, "\t" // the link is right, or leads nowhere that anybody knows
}

// target returns what a link of a page should be, escaped for an attribute, or "".
func (x *linkFixer) target(value string, src bool) string {
	path := x.page.Path
	if value == "" && !src {
		return string(relocate.Relative(nil, path, path))
	}
	if to, ok := x.leadsTo(value); ok {
		ref := string(relocate.Relative(nil, path, to))
		if i := strings.IndexByte(value, '#'); i >= 0 {
			ref += stdhtml.EscapeString(value[i:])
		}
		return ref
	}
	if kindOf([]byte(value)) != inside || value == "" || !parsed(&x.from, x.page.URL) {
		return ""
	}
	abs, fragment, err := x.from.Resolve(value)
	if err != nil {
		return ""
	}
	to := abs.String()
	if fragment != "" {
		to += "#" + fragment
	}
	return stdhtml.EscapeString(to)
}

// parsed parses an address, unless that was done before.
func parsed(u *site.URL, s string) bool {
	if u.IsZero() {
		*u, _, _ = site.Parse(s) // zero after an error
	}
	return !u.IsZero()
}

// leadsTo returns the target file of a link of the page.
func (x *linkFixer) leadsTo(ref string) (string, bool) {
	const origin = "http://zim.invalid/"
	if ref == "" || !parsed(&x.below, origin+(&url.URL{Path: x.page.Path}).EscapedPath()) {
		return "", false
	}
	abs, _, err := x.below.Resolve(ref)
	if err != nil {
		return "", false
	}
	rest, ok := strings.CutPrefix(abs.String(), origin)
	if !ok {
		return "", false
	}
	rest, _, _ = strings.Cut(rest, "?")
	path, err := url.PathUnescape(rest)
	return path, (err == nil) && x.exists([]byte(path))
}

// quoted reports whether the end of a part of a tag is within a quoted value of it.
func quoted(tag []byte) bool {
	quote := byte(0)
	value := false // an "=" was the last byte that is no blank
	for _, c := range tag {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && value:
			quote, value = c, false
		case c == '=':
			value = true
		case c > ' ':
			value = false
		}
	}
	return quote != 0
}

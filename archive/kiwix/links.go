// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	stdhtml "html"
	"net/url"
	"strings"

	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
)

// linkFixer brings the links of a page into the form that zimcheck accepts.
//
// zimcheck does not parse HTML. To it a link is what follows ` href` or ` src`, "=" and a quote anywhere in
// the bytes of a page: in attributes, and in scripts, comments and examples, too. So linkFixer looks for the
// same, and parses a page only when it finds one that zimcheck would report. A page without any keeps its
// bytes.
type linkFixer struct {
	exists func(path []byte) bool // whether the mirror has a file; safe for concurrent use

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

// finder looks for such places in a page.
type finder struct {
	page      []byte
	href, src int // the next " href" and " src"; len(page): none is left
}

func newFinder(page []byte) *finder { return &finder{page: page, href: -1, src: -1} }

// next returns the next place from a byte on, which is never before that of the call before.
func (x *finder) next(from int) (f find, ok bool) {
	for {
		x.href, x.src = x.forward(x.href, from, " href"), x.forward(x.src, from, " src")
		name := len(" href")
		if f.at, f.src = x.href, x.src < x.href; f.src {
			f.at, name = x.src, len(" src")
		}
		if f.at == len(x.page) {
			return find{}, false
		}
		from = f.at + name
		p := skipBlanks(x.page, from)
		if p >= len(x.page) || x.page[p] != '=' {
			continue
		}
		if p = skipBlanks(x.page, p+1); p >= len(x.page) || (x.page[p] != '"' && x.page[p] != '\'') {
			continue
		}
		f.start, f.end = p+1, -1
		if k := bytes.IndexByte(x.page[p+1:], x.page[p]); k >= 0 {
			f.end = p + 1 + k
		}
		return f, true
	}
}

// forward brings the place of a word to the first one that does not lie before a byte.
func (x *finder) forward(at, from int, word string) int {
	if at >= from {
		return at
	}
	if from >= len(x.page) {
		return len(x.page)
	}
	if i := bytes.Index(x.page[from:], []byte(word)); i >= 0 {
		return from + i
	}
	return len(x.page)
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
	x.out, x.undo = x.out[:0], x.undo[:0]
	parts := relocate.FindMarkup(raw)
	all := newFinder(raw)
	copied, from := 0, 0
	for {
		l, ok := all.next(from)
		if !ok {
			break
		}
		if l.end >= 0 && x.accepted(f.Path, raw[l.start:l.end], l.src) {
			from = l.end + 1
			continue
		}
		start, end, text := x.repair(f, raw, l, &parts)
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

// accepted reports whether zimcheck takes a link for a right one. Releases differ: it must be right for all.
func (x *linkFixer) accepted(from string, v []byte, src bool) bool {
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
	if v[0] == '/' || bytes.IndexByte(v, '&') >= 0 {
		return false // releases differ in whether they decode character references
	}
	path, _, _ := bytes.Cut(v, []byte("#"))
	path, _, _ = bytes.Cut(path, []byte("?"))
	if bytes.IndexByte(path, '%') >= 0 {
		plain, err := url.PathUnescape(string(path))
		if err != nil {
			return false
		}
		path = []byte(plain)
	}
	if n := bytes.Count(v, []byte("../")); n > 0 && n > strings.Count(from, "/") {
		return false
	}
	to, ok := appendResolved(x.to[:0], from, path)
	x.to = to
	return ok && x.exists(to)
}

// appendResolved appends the path that a relative path leads to; not ok: it leads above the root.
func appendResolved(to []byte, from string, path []byte) (_ []byte, ok bool) {
	depth := 0
	if i := strings.LastIndexByte(from, '/'); i >= 0 {
		to = append(to, from[:i]...)
		depth = strings.Count(from, "/")
	}
	for more := true; more; {
		var s []byte
		s, path, more = bytes.Cut(path, []byte("/"))
		switch string(s) {
		case ".":
		case "..":
			if depth == 0 {
				return to, false
			}
			depth--
			to = to[:max(bytes.LastIndexByte(to, '/'), 0)]
		default:
			if depth > 0 {
				to = append(to, '/')
			}
			to = append(to, s...)
			depth++
		}
	}
	return to, true
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
	k := bytes.IndexAny(v, ":/?#")
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
	f *phm.File, raw []byte, l find, parts *relocate.MarkupFinder,
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
	if ref := x.target(f, value, l.src); ref != "" && x.accepted(f.Path, []byte(ref), l.src) {
		return l.start, l.end, ref
	}
	if l.src {
		return l.at, l.at + 1, " data-"
	}
	return l.at, l.at + 1, "\t" // the link is right, or leads nowhere that anybody knows
}

// target returns what a link of a page should be, escaped for an attribute, or "".
func (x *linkFixer) target(f *phm.File, value string, src bool) string {
	if value == "" && !src {
		return string(relocate.Relative(nil, f.Path, f.Path))
	}
	if to, ok := x.leadsTo(f.Path, value); ok {
		ref := string(relocate.Relative(nil, f.Path, to))
		if i := strings.IndexByte(value, '#'); i >= 0 {
			ref += stdhtml.EscapeString(value[i:])
		}
		return ref
	}
	base, _, err := site.Parse(f.URL)
	if err != nil || kindOf([]byte(value)) != inside || value == "" {
		return ""
	}
	abs, fragment, err := base.Resolve(value)
	if err != nil {
		return ""
	}
	to := abs.String()
	if fragment != "" {
		to += "#" + fragment
	}
	return stdhtml.EscapeString(to)
}

// leadsTo returns the file that a link of a page leads to.
func (x *linkFixer) leadsTo(from, ref string) (string, bool) {
	const origin = "http://zim.invalid/"
	base, _, err := site.Parse(origin + (&url.URL{Path: from}).EscapedPath())
	if err != nil || ref == "" {
		return "", false
	}
	abs, _, err := base.Resolve(ref)
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

// quoted reports whether the end of a part of a tag lies in a quoted value of it.
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

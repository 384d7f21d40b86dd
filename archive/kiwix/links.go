// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	stdhtml "html"
	"net/url"
	"strings"

	"golang.org/x/net/html"

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
	out    []byte
	tokens []token
}

// find is one place that zimcheck takes for a link.
type find struct {
	at         int // of the blank
	src        bool
	start, end int // of the value; end is -1 when the quote is not closed
}

// nextFind returns the next place from a byte on.
func nextFind(page []byte, from int) (f find, ok bool) {
	for from < len(page) {
		i := bytes.IndexByte(page[from:], ' ')
		if i < 0 {
			return find{}, false
		}
		f.at = from + i
		rest := page[f.at:]
		name := 0
		switch {
		case bytes.HasPrefix(rest, []byte(" href")):
			name, f.src = 5, false
		case bytes.HasPrefix(rest, []byte(" src")):
			name, f.src = 4, true
		default:
			from = f.at + 1
			continue
		}
		p := skipBlanks(page, f.at+name)
		from = f.at + name
		if p >= len(page) || page[p] != '=' {
			continue
		}
		if p = skipBlanks(page, p+1); p >= len(page) || (page[p] != '"' && page[p] != '\'') {
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

// fix returns the page as it is shown, which is raw itself where nothing is to be changed. It is valid until
// the next call.
func (x *linkFixer) fix(f *phm.File, raw []byte, exists func(string) bool) []byte {
	x.out, x.tokens = x.out[:0], nil
	copied, from := 0, 0
	for {
		l, ok := nextFind(raw, from)
		if !ok {
			break
		}
		if l.end >= 0 && accepted(f.Path, raw[l.start:l.end], l.src, exists) {
			from = l.end + 1
			continue
		}
		if x.tokens == nil {
			x.tokens = tokens(raw)
		}
		start, end, text := x.repair(f, raw, l, exists)
		x.out = append(append(x.out, raw[copied:start]...), text...)
		copied, from = end, end
		if start == l.start {
			from = l.end + 1
		}
	}
	if copied == 0 {
		return raw
	}
	x.out = append(x.out, raw[copied:]...)
	return x.out
}

// accepted reports whether no release of zimcheck has anything to say about a link.
func accepted(from string, value []byte, src bool, exists func(string) bool) bool {
	v := string(value)
	if v == "" {
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
	if v[0] == '/' || strings.Contains(v, "&") {
		return false // releases differ in whether they decode character references
	}
	path, _, _ := strings.Cut(v, "#")
	path, _, _ = strings.Cut(path, "?")
	path, err := url.PathUnescape(path)
	if err != nil || strings.Count(v, "../") > strings.Count(from, "/") {
		return false
	}
	var to []string
	if i := strings.LastIndexByte(from, '/'); i >= 0 {
		to = strings.Split(from[:i], "/")
	}
	for s := range strings.SplitSeq(path, "/") {
		switch s {
		case ".":
		case "..":
			if len(to) == 0 {
				return false
			}
			to = to[:len(to)-1]
		default:
			to = append(to, s)
		}
	}
	return exists(strings.Join(to, "/"))
}

// linkKind is what zimcheck takes a link for by its spelling.
type linkKind uint8

const (
	inside  linkKind = iota // a path
	outside                 // it loads something from elsewhere
	special                 // mailto: and the like
	unknown                 // a scheme that releases take for a path or not
)

func kindOf(v string) linkKind {
	k := strings.IndexAny(v, ":/?#")
	if k < 0 || v[k] != ':' {
		if k == 0 && strings.HasPrefix(v, "//") {
			return outside
		}
		return inside
	}
	if strings.HasPrefix(v[k:], "://") {
		return outside
	}
	switch strings.ToLower(v[:k]) {
	case "javascript", "mailto", "tel", "geo", "data", "xmpp", "news", "urn":
		return special
	}
	return unknown
}

// repair says which bytes to replace by which, so that a link is accepted.
func (x *linkFixer) repair(
	f *phm.File, raw []byte, l find, exists func(string) bool,
) (start, end int, text string) {
	switch t := tokenAt(x.tokens, l.at); {
	case t.kind == inText:
		// a reference for the quote is the same text
		quote := "&#34;"
		if raw[l.start-1] == '\'' {
			quote = "&#39;"
		}
		return l.start - 1, l.start, quote
	case t.kind == inRaw, l.end < 0, quoted(raw[t.start:l.at]):
		return l.at, l.at + 1, "\t"
	}
	value := strings.TrimSpace(stdhtml.UnescapeString(string(raw[l.start:l.end])))
	if ref := target(f, value, l.src, exists); ref != "" && accepted(f.Path, []byte(ref), l.src, exists) {
		return l.start, l.end, ref
	}
	if l.src {
		return l.at, l.at + 1, " data-"
	}
	return l.at, l.at + 1, "\t" // the link is right, or leads nowhere that anybody knows
}

// target returns what a link of a page should be, escaped for an attribute, or "".
func target(f *phm.File, value string, src bool, exists func(string) bool) string {
	if value == "" && !src {
		return string(relocate.Relative(nil, f.Path, f.Path))
	}
	if to, ok := leadsTo(f.Path, value, exists); ok {
		ref := string(relocate.Relative(nil, f.Path, to))
		if i := strings.IndexByte(value, '#'); i >= 0 {
			ref += stdhtml.EscapeString(value[i:])
		}
		return ref
	}
	base, _, err := site.Parse(f.URL)
	if err != nil || kindOf(value) != inside || value == "" {
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
func leadsTo(from, ref string, exists func(string) bool) (string, bool) {
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
	return path, (err == nil) && exists(path)
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

// place is what a byte of a page is part of.
type place uint8

const (
	inTag  place = iota
	inText       // where character references are read
	inRaw        // scripts, styles, comments and the like
)

// token is a part of a page.
type token struct {
	start int
	kind  place
}

// tokens takes a page apart.
func tokens(page []byte) (out []token) {
	z := html.NewTokenizer(bytes.NewReader(page))
	at, rawText := 0, false
	for {
		t := z.Next()
		n := len(z.Raw())
		kind := inRaw
		switch t {
		case html.ErrorToken:
			return append(out, token{at, inRaw})
		case html.TextToken:
			if !rawText {
				kind = inText
			}
			rawText = false
		case html.StartTagToken:
			kind = inTag
			name, _ := z.TagName()
			switch string(name) {
			case "script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext":
				rawText = true
			}
		case html.SelfClosingTagToken, html.EndTagToken:
			kind = inTag
		}
		out = append(out, token{at, kind})
		at += n
	}
}

func tokenAt(all []token, at int) token {
	lo, hi := 0, len(all)
	for lo+1 < hi {
		if mid := (lo + hi) / 2; all[mid].start <= at {
			lo = mid
		} else {
			hi = mid
		}
	}
	return all[lo]
}

// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"

	"mirrord/internal/charset"
)

// CSS is a style sheet.
func (readers) CSS() reader {
	return reader{
		format:  CSS,
		name:    "css",
		types:   []string{"text/css"},
		used:    []string{"css"},
		syntax:  charset.CSS,
		declare: declareInCSS,
		scan:    func(sc *scanner, v view) { scanCSS(sc, sc.plainText(v), CtxCSS) },
		spliced: true,
	}
}

// declareInCSS writes the @charset rule.
func declareInCSS(sc *scanner, raw []byte) {
	if neutral(sc.cs, raw) {
		return
	}
	name := sc.cs.String()
	if a, b := charset.CSSRule(raw[:min(len(raw), charset.Window)]); b > 0 {
		sc.d.declare(int32(a), int32(b), name)
	} else {
		sc.d.declare(0, 0, `@charset "`+name+`";`)
	}
}

// The classes of bytes in a style sheet.
const (
	cssStop  = 1 << iota // may begin something that matters to the scan
	cssIdent             // part of an identifier
	cssURL               // ordinary inside an unquoted url()
)

var cssClass = func() (t [256]uint8) {
	for _, c := range []byte("\"'/\\()@{};") {
		t[c] |= cssStop
	}
	for c := range t {
		if b := byte(c); alnum(b) || b == '-' || b == '_' || c >= 0x80 {
			t[c] |= cssIdent
		}
		if c > ' ' && c != 0x7f && c != '"' && c != '\'' && c != '(' && c != ')' && c != '\\' {
			t[c] |= cssURL
		}
	}
	return t
}()

// scanCSS finds the links of a style sheet, a style attribute or the content of <style>: url() in both forms,
// src(), the strings of @import and of image-set() (CSS Syntax, section 4; CSS Values, section 4.5; CSS
// Images, section 2.4). The addresses of @namespace and @document are names and patterns, not links. v's text
// must be UTF-8 or without multi-byte characters that hold a backslash.
func scanCSS(sc *scanner, v view, ctx Context) {
	c := cssScan{
		sc:  sc,
		v:   v,
		ctx: ctx,
		s:   v.s,
		set: -1,
	}
	for c.p < len(c.s) {
		b := c.s[c.p]
		if cssClass[b]&cssStop == 0 {
			c.p++
			continue
		}
		switch b {
		case '"', '\'':
			start := c.p + 1
			end := c.skipString()
			if c.depth == c.set {
				c.str(start, end)
			}
		case '/':
			c.p++
			if c.p < len(c.s) && c.s[c.p] == '*' {
				c.p--
				c.comment()
			}
		case '\\':
			c.escapedIdent()
		case '(':
			c.open(c.identBefore(c.p))
		case ')':
			c.close()
			c.p++
		case '@':
			c.atRule()
		default: // { } ;
			c.depth, c.set = 0, -1
			c.p++
		}
	}
}

type cssScan struct {
	sc    *scanner
	v     view
	ctx   Context
	s     []byte
	p     int
	depth int // open parentheses
	set   int // depth inside the innermost image-set(), or -1
}

func (c *cssScan) close() {
	if c.depth > 0 {
		c.depth--
	}
	if c.depth < c.set {
		c.set = -1
	}
}

// comment skips the comment that starts at p.
func (c *cssScan) comment() {
	if i := bytes.Index(c.s[c.p+2:], []byte("*/")); i >= 0 {
		c.p += i + 4
	} else {
		c.p = len(c.s)
	}
}

// space skips white space and comments.
func (c *cssScan) space(comments bool) {
	for c.p < len(c.s) {
		switch {
		case space(c.s[c.p]):
			c.p++
		case comments && c.s[c.p] == '/' && c.p+1 < len(c.s) && c.s[c.p+1] == '*':
			c.comment()
		default:
			return
		}
	}
}

// identBefore returns the identifier that ends at i, without escapes; or nil for the name of an at-rule or a
// hash.
func (c *cssScan) identBefore(i int) []byte {
	j := i
	for j > 0 && i-j < 24 && cssClass[c.s[j-1]]&cssIdent != 0 {
		j--
	}
	switch {
	case j > 0 && (c.s[j-1] == '@' || c.s[j-1] == '#'):
		return nil
	case j > 1 && c.s[j-1] == '!' && c.s[j-2] == '<' && bytes.HasPrefix(c.s[j:i], []byte("--")):
		// <!-- is a token
		j += 2
	}
	return c.s[j:i]
}

// escapedIdent reads on in an identifier that has an escape at p, and its "(" if one follows.
func (c *cssScan) escapedIdent() {
	var buf [cssNameMax]byte
	name, ok := c.ident(append(buf[:0], c.identBefore(c.p)...))
	if !ok {
		c.p++
		return
	}
	if c.p < len(c.s) && c.s[c.p] == '(' && len(name) < cap(name) {
		c.open(name)
	}
}

// cssNameMax is longer than any name that matters: a name that fills a buffer of this size does not matter.
const cssNameMax = 24

// ident reads the rest of an identifier at p and appends it to name, escapes decoded, as far as name has
// room. ok is false at a backslash before a line end, which is no escape.
func (c *cssScan) ident(name []byte) (_ []byte, ok bool) {
	for c.p < len(c.s) {
		b := c.s[c.p]
		if b == '\\' {
			r, n := cssEscape(c.s[c.p:])
			if n == 0 {
				return name, false
			}
			c.p += n
			if r >= 0x80 {
				r = 0x80
			}
			b = byte(r)
		} else if cssClass[b]&cssIdent != 0 {
			c.p++
		} else {
			break
		}
		if len(name) < cap(name) {
			name = append(name, b)
		}
	}
	return name, true
}

// open handles "name(" whose parenthesis is at p.
func (c *cssScan) open(name []byte) {
	c.p++
	switch {
	case equalFold(name, "url"), equalFold(name, "src"):
		c.url(equalFold(name, "url"))
		return
	case equalFold(name, "image-set"), equalFold(name, "-webkit-image-set"):
		c.depth++
		c.set = c.depth
		return
	}
	c.depth++
}

// url reads the argument of url( up to and including its end.
func (c *cssScan) url(unquoted bool) {
	c.space(!unquoted)
	if c.p >= len(c.s) {
		return
	}
	if q := c.s[c.p]; q == '"' || q == '\'' {
		start := c.p + 1
		c.str(start, c.skipString())
		c.depth++ // modifiers may follow; the general loop finds the end
		return
	}
	if !unquoted {
		c.depth++
		return
	}
	start, end := c.p, -1
	for c.p < len(c.s) {
		b := c.s[c.p]
		if cssClass[b]&cssURL != 0 {
			c.p++
			continue
		}
		switch {
		case b == ')':
			if end < 0 {
				end = c.p
			}
			c.p++
			c.link(start, end, c.ctx|CtxCSSUnquoted)
			return
		case space(b):
			if end < 0 {
				end = c.p
			}
			c.space(false)
			if c.p < len(c.s) && c.s[c.p] != ')' {
				c.badURL()
				return
			}
		case b == '\\':
			_, n := cssEscape(c.s[c.p:])
			if n == 0 {
				c.badURL()
				return
			}
			c.p += n
		default:
			c.badURL()
			return
		}
	}
	if end < 0 {
		end = len(c.s)
	}
	c.link(start, end, c.ctx|CtxCSSUnquoted) // the end of the sheet ends everything that is open
}

// badURL skips the remnants of a bad url: up to the next unescaped ')'.
func (c *cssScan) badURL() {
	for c.p < len(c.s) {
		switch c.s[c.p] {
		case ')':
			c.p++
			return
		case '\\':
			c.p++
		}
		c.p++
	}
	c.p = min(c.p, len(c.s))
}

// skipString skips the string whose quote is at p and returns the end of its text, or -1 for a string that a
// line end breaks.
func (c *cssScan) skipString() int {
	q := c.s[c.p]
	for c.p++; c.p < len(c.s); c.p++ {
		switch b := c.s[c.p]; b {
		case q:
			c.p++
			return c.p - 1
		case '\\':
			if c.p++; c.p+1 < len(c.s) && c.s[c.p] == '\r' && c.s[c.p+1] == '\n' {
				c.p++
			}
		case '\n', '\r', '\f':
			return -1
		}
	}
	c.p = len(c.s)
	return c.p
}

func (c *cssScan) str(start, end int) {
	if end >= start {
		c.link(start, end, c.ctx)
	}
}

// link emits the URL written in s[start:end].
func (c *cssScan) link(start, end int, ctx Context) {
	v := c.v.sub(start, end)
	if len(v.s) > 5 && v.s[4] == ':' && equalFold(v.s[:4], "data") {
		return
	}
	if bytes.IndexByte(v.s, '\\') >= 0 {
		v = textOfCSS(c.sc, v)
	}
	c.sc.url(v, Requisite, ctx, false)
}

// atRule reads the name of an at-rule and, of those that matter, what follows.
func (c *cssScan) atRule() {
	var buf [cssNameMax]byte
	c.p++
	name, _ := c.ident(buf[:0])
	switch {
	case equalFold(name, "import"):
		c.space(true)
		if c.p < len(c.s) && (c.s[c.p] == '"' || c.s[c.p] == '\'') {
			start := c.p + 1
			c.str(start, c.skipString())
		}
	case equalFold(name, "namespace"), equalFold(name, "document"), equalFold(name, "-moz-document"):
		for c.p < len(c.s) && c.s[c.p] != ';' && c.s[c.p] != '{' && c.s[c.p] != '}' {
			switch b := c.s[c.p]; {
			case b == '"' || b == '\'':
				c.skipString()
			case b == '(':
				c.p++
				c.badURL()
			default:
				c.p++
			}
		}
	}
}

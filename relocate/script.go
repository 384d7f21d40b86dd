// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"slices"
	"strings"

	"mirrord/internal/charset"
)

// Script is a script of its own.
func (readers) Script() reader {
	return reader{
		format: Script,
		name:   "script",
		types: []string{
			"text/javascript", "application/javascript", "application/x-javascript", "text/x-javascript",
			"application/ecmascript", "text/ecmascript",
		},
		as: func(b body) Format {
			if looksHTML(b.head) {
				return Unknown // an error page that says it is a script
			}
			return Script
		},
		used:    []string{"js", "mjs"},
		syntax:  charset.Other,
		declare: writeInUTF8,
		scan:    func(sc *scanner, v view) { scanScript(sc, sc.plainText(v), CtxJS, true) },
	}
}

// writeInUTF8 has a script of which the header names another encoding written in UTF-8, with a mark: nothing
// inside a script can declare an encoding.
func writeInUTF8(sc *scanner, raw []byte) {
	if sc.in.HeaderCharset != "" && !sc.cs.IsUTF8() && !neutral(sc.cs, raw) && len(raw) <= MaxDecoded {
		sc.d.declare(0, int32(len(raw)), "\ufeff"+string(sc.cs.Decode(raw)))
		sc.d.Charset = "utf-8"
	}
}

// The classes of bytes in a script.
const (
	jsStop   = 1 << iota // begins something that the scan must know of
	jsWord               // part of a name or number
	jsQuoted             // ordinary inside a quoted string
)

var jsClass = func() (t [256]uint8) {
	for _, c := range []byte("\"'`/{}<") {
		t[c] |= jsStop
	}
	for c := range t {
		if b := byte(c); alnum(b) || b == '_' || b == '$' || c >= 0x80 {
			t[c] |= jsWord
		}
		if c != '"' && c != '\'' && c != '\\' && c != '\n' && c != '\r' {
			t[c] |= jsQuoted
		}
	}
	return t
}()

// scanScript finds the addresses of files that stand as whole string literals in a script. It knows strings,
// template literals, comments and regular expressions (ECMA-262, section 12) and looks only at what stands
// directly before and after a literal; what it takes for one thing and is another costs at most a link. With
// external the text is a script of its own, whose strings mean something else on each page that loads it: see
// scriptScan.literal.
func scanScript(sc *scanner, v view, ctx Context, external bool) {
	j := scriptScan{
		sc:       sc,
		v:        v,
		s:        v.s,
		ctx:      ctx,
		external: external,
		data:     external && !computes(v.s),
	}
	for j.p < len(j.s) {
		b := j.s[j.p]
		if jsClass[b]&jsStop == 0 {
			j.p++
			continue
		}
		switch b {
		case '"', '\'':
			j.quoted(b)
		case '`':
			j.template(true)
		case '/':
			j.slash()
		case '{':
			j.depth++
			j.p++
		case '}':
			if n := len(j.holes); n > 0 && j.holes[n-1] == j.depth {
				j.holes = j.holes[:n-1]
				j.template(false)
				continue
			}
			j.depth--
			j.p++
		default: // '<'
			// a comment up to the end of the line (ECMA-262, section B.1.1)
			if bytes.HasPrefix(j.s[j.p:], []byte("<!--")) {
				j.comment(after(j.s, j.p, '\n'))
			} else {
				j.p++
			}
		}
	}
}

// computes reports whether a script has functions: it does more than to give values names. Indexes of
// searches are scripts of many megabytes without any.
func computes(s []byte) bool {
	const word = "function"
	for rest := s; ; {
		i := bytes.Index(rest, []byte(word))
		if i < 0 {
			return bytes.Contains(s, []byte("=>"))
		}
		rest = rest[i+len(word):]
		j := 0
		for j < len(rest) && (rest[j] <= ' ' || rest[j] == '*') {
			j++
		}
		for named := j > 0; named && j < len(rest) && jsClass[rest[j]]&jsWord != 0; { // its name
			j++
		}
		for j < len(rest) && rest[j] <= ' ' {
			j++
		}
		if j < len(rest) && rest[j] == '(' {
			return true
		}
	}
}

type scriptScan struct {
	sc       *scanner
	v        view
	ctx      Context
	s        []byte
	p        int
	external bool
	data     bool  // external, and nothing but values
	depth    int   // open braces
	holes    []int // depth at which each open ${ began, innermost last

	commentEnd int // the end of the last comment,
	before     int // and what byte before it counts as the one before what follows it
}

// last returns the position of the last byte before i that is neither white space nor comment, or -1.
func (j *scriptScan) last(i int) int {
	for i--; i >= 0; i-- {
		if i+1 == j.commentEnd {
			return j.before
		}
		if j.s[i] > ' ' {
			return i
		}
	}
	return -1
}

// at returns s[i], or 0 when i lies outside.
func (j *scriptScan) at(i int) byte {
	if i < 0 || i >= len(j.s) {
		return 0
	}
	return j.s[i]
}

// maxWord is longer than any name that is compared.
const maxWord = 16

// word returns the name or number that ends at s[i], cut to its last bytes when it is long.
func (j *scriptScan) word(i int) []byte {
	end := i + 1
	for i >= 0 && end-i <= maxWord && jsClass[j.s[i]]&jsWord != 0 {
		i--
	}
	return j.s[i+1 : end]
}

// comment continues at end, after a comment that starts at p.
func (j *scriptScan) comment(end int) {
	j.before = j.last(j.p)
	j.p, j.commentEnd = end, end
}

// slash handles a comment, a regular expression or a division.
func (j *scriptScan) slash() {
	switch j.at(j.p + 1) {
	case '/':
		j.comment(after(j.s, j.p, '\n'))
		return
	case '*':
		end := len(j.s)
		if i := bytes.Index(j.s[j.p+2:], []byte("*/")); i >= 0 {
			end = j.p + i + 4
		}
		j.comment(end)
		return
	}
	if !j.operand(j.last(j.p)) {
		j.p++
		return
	}
	class := false
	for p := j.p + 1; p < len(j.s); p++ {
		switch c := j.s[p]; {
		case c == '\\':
			p++
		case c == '\n' || c == '\r':
			j.p = p // the remainder of the line is ambiguous
			return
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			j.p = p + 1
			return
		}
	}
	j.p = len(j.s)
}

// operand reports whether a value is wanted after s[i], so that a slash there begins a regular expression.
// After ")" it is read as a division and after "}" as a regular expression, which is what they mostly are.
func (j *scriptScan) operand(i int) bool {
	if i < 0 {
		return true
	}
	switch c := j.s[i]; {
	case c == ')' || c == ']' || c == '"' || c == '\'' || c == '`':
		return false
	case jsClass[c]&jsWord != 0:
		switch string(j.word(i)) {
		case "return", "typeof", "case", "do", "else", "in", "of", "instanceof", "new", "delete", "void", "throw",
			"await", "yield":
			return true
		}
		return false
	}
	return true
}

// quoted reads the string whose quote q is at p.
func (j *scriptScan) quoted(q byte) {
	s := j.s
	start, escaped := j.p+1, false
	for p := start; p < len(s); p++ {
		c := s[p]
		if jsClass[c]&jsQuoted != 0 {
			continue
		}
		switch c {
		case q:
			j.p = p + 1
			j.literal(start, p, escaped)
			return
		case '\\':
			escaped = true
			if p++; p+1 < len(s) && s[p] == '\r' && s[p+1] == '\n' {
				p++
			}
		case '\n', '\r': // broken off
			j.p = p + 1
			return
		}
	}
	j.p = len(s)
}

// template reads a template literal from its backquote at p, or, when whole is not set, on from the "}" at p
// that ends a hole.
func (j *scriptScan) template(whole bool) {
	s := j.s
	start, escaped := j.p+1, false
	for p := start; p < len(s); p++ {
		switch c := s[p]; {
		case c == '`':
			j.p = p + 1
			if whole && j.operand(j.last(start-1)) { // else it has a tag
				j.literal(start, p, escaped)
			}
			return
		case c == '\\':
			escaped = true
			p++
		case c == '$' && p+1 < len(s) && s[p+1] == '{':
			j.holes = append(j.holes, j.depth)
			j.p = p + 2
			return
		}
	}
	j.p = len(s)
}

// literal looks at the string literal whose text is s[start:end] and whose closing quote was just read.
func (j *scriptScan) literal(start, end int, escaped bool) {
	if end-start < 4 || end-start > maxScriptURL || (!escaped && bytes.IndexByte(j.s[start:end], '.') < 0) {
		return
	}
	m := j.sc.mark()
	v := j.v.sub(start, end)
	if escaped {
		v = textOfScript(j.sc, v)
	}
	if shape, ok := scriptURL(v.s); ok {
		base, rest := j.sc.imports.of(v.s)
		kind := InScript
		if j.external {
			kind = Discovered
		}
		stands, module := j.stands(start-1, shape, isPage(v.s))
		if module && j.sc.imports.rewrites() {
			kind = Discovered
		}
		switch {
		case module && base != nil:
			joinedLink(j.sc, v, base, rest, kind, j.ctx|CtxJS)
		case stands:
			j.sc.url(v, kind, j.ctx|CtxJS, false)
		}
	}
	j.sc.release(m)
}

// inlineScript reports whether the script element whose attributes start at mark holds a script, or an import
// map, which is nothing but strings and addresses (HTML standard, section 4.12.1.1, "prepare the script
// element").
func (h *htmlScan) inlineScript(mark int) (inline, imports bool) {
	if h.in.NoScripts || h.seen&(1<<attrSrc|1<<attrHref|1<<attrXlinkHref) != 0 {
		return false, false
	}
	if a := h.find(mark, attrType); a != nil {
		switch lowered(h.text(a)) {
		case "importmap":
			return true, true
		case "", "text/javascript", "application/javascript", "module", "application/x-javascript",
			"text/x-javascript",
			"application/ecmascript", "text/ecmascript", "application/x-ecmascript", "text/x-ecmascript",
			"text/jscript", "text/livescript",
			"text/javascript1.0", "text/javascript1.1", "text/javascript1.2", "text/javascript1.3",
			"text/javascript1.4", "text/javascript1.5":
			return true, false
		}
		return false, false
	}
	if a := h.find(mark, attrLanguage); a != nil {
		name := lowered(h.text(a))
		return slices.Contains([]string{"", "jscript", "ecmascript"}, name) ||
			strings.HasPrefix(name, "javascript"), false
	}
	return true, false
}

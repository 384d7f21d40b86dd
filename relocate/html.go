// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"slices"

	"mirrord/internal/charset"
	"mirrord/site"
)

// HTML is text/html, by the HTML tokenization rules.
func (readers) HTML() reader {
	return reader{
		format: HTML,
		name:   "html",
		types:  []string{"text/html"},
		as: func(b body) Format {
			switch f := xmlRoot(b.head); f {
			case Feed, Sitemap:
				return f // browsers, too, look for feeds in text/html (MIME Sniffing, section 7.3)
			}
			return HTML
		},
		named:   []string{"html", "htm"},
		syntax:  charset.HTML,
		declare: (*scanner).declareInHTML,
		scan:    func(sc *scanner, v view) { sc.html(v, 0) },
		spliced: true,
	}
}

// declareInHTML adds <meta charset> as early in the head as it may stand.
func (sc *scanner) declareInHTML(raw []byte) {
	if sc.cs.Name == "windows-1252" && ascii(raw) {
		return // the default, and nothing that could be read otherwise
	}
	at := int32(0)
	for _, p := range [...]int32{sc.headEnd, sc.htmlEnd, sc.doctypeEnd} {
		if p >= 0 && (sc.metaAt < 0 || p <= sc.metaAt) {
			at = p
			break
		}
	}
	sc.d.declare(at, at, `<meta charset="`+sc.cs.String()+`">`)
}

// attr is an attribute that matters, in a tag being read. Offsets are into the view that is scanned.
type attr struct {
	id     attrID
	quote  byte
	k0     int32 // start of the name
	v0, v1 int32 // value
	end    int32 // after the closing quote
}

// known is an attribute that was read, as one that matters.
func (a *rawAttr) known(id attrID) attr {
	return attr{id, a.quote, int32(a.k0), int32(a.v0), int32(a.v1), int32(a.end)}
}

// scanner is the state of one scan. Its buffers belong to the Doc and are used again.
type scanner struct {
	d  *Doc
	in Input
	cs charset.Charset

	arena []byte  // decoded text; lives until the next scan
	maps  []int32 // raw offsets of decoded text
	urls  []byte  // the last block of what Link.URL aliases

	urlsBefore int    // bytes in the blocks before
	attrs      []attr // of the tags being read, innermost last

	imports importMap

	foreignAware bool // obey SVG and MathML where they change tokenization; x/net/html's Tokenizer does not
	baseBytes    int  // of all bases of parts of the document
	keepEmpty    bool // record references without path and query: a <base> gives them another document
	sawEmpty     bool // one was left out

	base      []byte          // reference of the first <base href>, or nil
	late      charset.Charset // named by a <meta> beyond the prescan
	lateFound bool

	headEnd, htmlEnd, doctypeEnd, metaAt int32 // places for a charset declaration; -1: not seen
}

// html scans v, a document or a nested one, whose text ctx wraps in some levels of character references.
func (sc *scanner) html(v view, ctx Context) {
	s := v.s
	h := htmlScan{
		scanner:   sc,
		v:         v,
		ctx:       ctx,
		top:       ctx&CtxLevel == 0 && ctx&(CtxXML|CtxCDATA) == 0,
		first:     len(sc.d.Links),
		firstEdit: len(sc.d.Edits),
	}
	for p := 0; ; {
		if p >= len(s) || s[p] != '<' { // tags often touch: spare them the call
			i := bytes.IndexByte(s[min(p, len(s)):], '<')
			if i < 0 {
				break
			}
			p += i
		}
		if p++; p >= len(s) {
			break
		}
		switch c := s[p]; {
		case letter(c):
			p = h.startTag(p)
		case c == '/':
			p = h.endTag(p + 1)
		case c == '!':
			p = h.markup(p + 1)
		case c == '?':
			p = after(s, p, '>')
		}
		if p < 0 {
			break
		}
	}
	if !h.top && h.baseSet {
		h.resolveNested()
	}
}

// attrSet is a set of attributes. It must hold a bit for each.
type attrSet uint64

const _ = uint(64 - int(attrCount) - len(linkAttributes))

// once are the attributes of which only the first one in a tag counts: the others have several names, or
// their mere presence counts.
const once = ^attrSet(1<<attrPaint | 1<<attrCrossorigin | 1<<attrEvent | 1<<attrForScript)

// htmlScan is the state of one (possibly nested) HTML document.
type htmlScan struct {
	*scanner
	v         view
	ctx       Context
	top       bool
	foreign   int     // open svg and math elements
	templates int     // open template elements: their <base> and <meta> are inert
	noscript  int     // 1 in a noscript element, which is text to browsers with scripts
	first     int     // the document's first link
	firstEdit int     // and edit
	seen      attrSet // of the tag being read
	inline    bool    // the script element being read holds a script
	imports   bool    // it is an import map

	base    []byte
	baseSet bool
}

func (h *htmlScan) markup(p int) int {
	s := h.v.s
	if h.foreign > 0 && bytes.HasPrefix(s[p:], []byte("[CDATA[")) {
		if i := bytes.Index(s[p:], []byte("]]>")); i >= 0 {
			return p + i + 3
		}
		return len(s)
	}
	end := skipMarkup(s, p)
	if h.top && h.doctypeEnd < 0 && end-p > 7 && s[end-1] == '>' && equalFold(s[p:p+7], "doctype") {
		h.doctypeEnd = h.v.at(end)
	}
	return end
}

func (h *htmlScan) endTag(p int) int {
	s := h.v.s
	if p >= len(s) {
		return -1
	}
	if !letter(s[p]) {
		return after(s, p, '>')
	}
	if h.foreign|h.templates|h.noscript != 0 {
		end, hash := tagName(s, p)
		switch tagNames.of(hash, s[p:end]) {
		case tagSvg, tagMath:
			h.foreign = max(h.foreign-1, 0)
		case tagTemplate:
			h.templates = max(h.templates-1, 0)
		case tagNoscript:
			h.noscript = 0
		}
	}
	return skipTag(s, p)
}

// startTag reads the start tag whose name starts at s[p], with its raw text if it has any, and returns the
// position after it, or -1 if the document ends first.
func (h *htmlScan) startTag(p int) int {
	sc, s := h.scanner, h.v.s
	start := p - 1
	end, hash := tagName(s, p)
	tag := tagNames.of(hash, s[p:end])
	mark := len(sc.attrs)
	p = end
	var a rawAttr
	var seen attrSet
	for {
		p = nextAttr(s, p, &a)
		if p < 0 {
			break
		}
		id := attrNames.of(a.hash, s[a.k0:a.k1])
		if id == noAttr && forScript(s[a.k0:a.k1]) {
			id = attrForScript
		}
		if id == noAttr || (tag == noTag && !anywhere(id)) || (seen&(1<<id) != 0 && once&(1<<id) != 0) {
			continue
		}
		seen |= 1 << id
		if a.v0 == a.k1 && id != attrCrossorigin {
			continue // no value, and no place to write one
		}
		sc.attrs = append(sc.attrs, a.known(id))
	}
	if p == attrEOF {
		sc.attrs = sc.attrs[:mark]
		return -1
	}
	p = a.end
	h.seen = seen
	if tag == tagScript {
		h.inline, h.imports = h.inlineScript(mark)
	}
	if len(sc.attrs) > mark {
		m := sc.mark()
		h.tag(tag, mark, start)
		sc.release(m)
		sc.attrs = sc.attrs[:mark]
	}
	if tag != noTag {
		return h.content(tag, p)
	}
	return p
}

// content does what the element's kind asks for after its start tag, which ends at s[p], and returns where to
// read on.
func (h *htmlScan) content(tag tagID, p int) int {
	sc, s := h.scanner, h.v.s
	switch tag {
	case tagHtml:
		if h.top && sc.htmlEnd < 0 {
			sc.htmlEnd = h.v.at(p)
		}
		return p
	case tagHead:
		if h.top && sc.headEnd < 0 {
			sc.headEnd = h.v.at(p)
		}
		return p
	case tagSvg, tagMath:
		if sc.foreignAware && s[p-2] != '/' {
			h.foreign++
		}
		return p
	case tagTemplate:
		if s[p-2] != '/' || h.foreign == 0 {
			h.templates++
		}
		return p
	case tagNoscript:
		h.noscript = 1
		return p
	case tagPlaintext:
		return len(s)
	}
	name := rawNames[tag]
	if name == "" {
		return p
	}
	if h.foreign > 0 && ((tag != tagScript && tag != tagStyle) || s[p-2] == '/') {
		// in SVG and MathML only the HTML parser's script and style hold raw-like text, and they may be
		// self-closing
		return p
	}
	end := rawEnd(s, p, name)
	m := sc.mark()
	switch {
	case tag == tagStyle && h.foreign > 0:
		h.foreignStyle(h.v.sub(p, end))
	case tag == tagStyle:
		scanCSS(sc, sc.plainText(h.v.sub(p, end)), h.ctx|CtxCSS)
	case tag == tagTitle && h.top && sc.d.Title == "":
		sc.title(h.v.sub(p, end), false)
	case tag == tagScript && h.inline && h.foreign == 0 && h.ctx&(CtxXML|CtxCDATA) == 0:
		text := sc.plainText(h.v.sub(p, end))
		if h.imports {
			sc.imports.read(text.s)
		}
		scanScript(sc, text, h.ctx|CtxJS, false)
	}
	sc.release(m)
	return end
}

// foreignStyle scans the text of a style element in SVG, where character references and CDATA sections count.
func (h *htmlScan) foreignStyle(v view) {
	x := xmlReader{v: v}
	x.text(func(v view, ctx Context) {
		if ctx&CtxCDATA != 0 {
			scanCSS(h.scanner, h.plainText(v), h.ctx|CtxCDATA|CtxCSS)
		} else {
			scanCSS(h.scanner, h.plainText(h.attrText(v, false)), h.ctx.deeper()|CtxCSS)
		}
	})
}

// maxTitle bounds Doc.Title in bytes.
const maxTitle = 1024

func (sc *scanner) title(v view, xml bool) {
	if len(v.s) > 16*maxTitle {
		v = v.sub(0, 16*maxTitle)
	}
	t := sc.attrText(v, xml)
	sc.d.Title = collapse(t.s, maxTitle)
}

// resolveNested resolves the links of a srcdoc document that has a base of its own. That base itself is
// resolved against the outer base as known here.
func (h *htmlScan) resolveNested() {
	sc := h.scanner
	if sc.baseBytes > maxBaseBytes { // known before the work is done
		h.drop()
		return
	}
	outer := sc.in.URL
	if u, _, err := outer.Resolve(string(sc.base)); sc.base != nil && err == nil {
		outer = u
	}
	base, _, err := outer.Resolve(string(h.base))
	if err != nil {
		base = outer
	}
	if !sc.countBase(base) {
		h.drop()
		return
	}
	sc.resolveFrom(h.first, base)
}

// drop forgets the links of the document and the edits that depend on them.
func (h *htmlScan) drop() {
	d := h.d
	d.Links = d.Links[:h.first]
	mine := slices.DeleteFunc(d.Edits[h.firstEdit:], func(e Edit) bool { return int(e.Link) >= h.first })
	d.Edits = d.Edits[:h.firstEdit+len(mine)]
}

// countBase reports whether the base of a part of the document may be used. As with URLs, a long outer base
// and many short inner ones would otherwise be quadratic; the links under bases beyond the bound are left
// out.
func (sc *scanner) countBase(base site.URL) bool {
	if sc.baseBytes += len(base.String()); sc.baseBytes > maxBaseBytes {
		sc.d.Truncated |= BoundURLs
		return false
	}
	return true
}

// resolveFrom resolves the links from the first-th on that have no URL yet, which are under a base of their
// own.
func (sc *scanner) resolveFrom(first int, base site.URL) {
	for i := first; i < len(sc.d.Links); i++ {
		if l := &sc.d.Links[i]; l.URL == nil {
			l.Plain = false
			sc.resolve(base, l)
		}
	}
}

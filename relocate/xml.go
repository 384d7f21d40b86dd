// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"slices"

	"mirrord/internal/charset"
)

// SVG is any XML with links: SVG, XHTML, MathML, other XML with a style sheet instruction.
func (readers) SVG() reader {
	return reader{
		format:  SVG,
		name:    "svg",
		types:   []string{"application/xhtml+xml", "image/svg+xml"},
		syntax:  charset.XML,
		declare: (*scanner).declareInXML,
		scan:    (*scanner).xml,
		spliced: true,
	}
}

// declareInXML names the encoding in the XML declaration.
func (sc *scanner) declareInXML(raw []byte) {
	name := sc.cs.String()
	label, a, b := charset.XMLDeclaration(raw[:min(len(raw), charset.Window)])
	switch {
	case sc.cs.IsUTF8() && len(label) == 0, neutral(sc.cs, raw):
	case len(label) > 0:
		sc.d.declare(int32(a), int32(b), name)
	case b > 0:
		sc.d.declare(int32(a), int32(b), ` encoding="`+name+`"`)
	default:
		sc.d.declare(0, 0, `<?xml version="1.0" encoding="`+name+`"?>`)
	}
}

// xmlToken is what xmlReader.next found.
type xmlToken uint8

const (
	xmlEnd   xmlToken = iota // no more tokens
	xmlOpen                  // a start tag; closed says whether it is also an end tag
	xmlClose                 // an end tag
	xmlPI                    // a processing instruction; its attributes may be pseudo ones
)

// xmlReader goes through the tags of an XML document without asking that it be well formed: comments, CDATA
// sections and the document type are skipped, tags need not match, and a document that is cut off ends where
// it ends.
type xmlReader struct {
	v       view
	p       int
	name    []byte // local name, without prefix
	prefix  []byte
	hash    uint64 // of the whole name, see names.go
	attrs   []rawAttr
	closed  bool
	content int  // position after the tag
	subset  bool // a document type was seen; there is only one
}

// next reads on to the next tag or processing instruction.
func (x *xmlReader) next() xmlToken {
	s := x.v.s
	for {
		i := bytes.IndexByte(s[x.p:], '<')
		if i < 0 {
			return xmlEnd
		}
		x.p += i + 1
		rest := s[x.p:]
		if len(rest) == 0 {
			return xmlEnd
		}
		switch {
		case bytes.HasPrefix(rest, []byte("!--")):
			x.skip(3, "-->")
		case bytes.HasPrefix(rest, []byte("![CDATA[")):
			x.skip(8, "]]>")
		case rest[0] == '!':
			x.doctype()
		case rest[0] == '/':
			end, hash := tagName(s, x.p+1)
			x.setName(s[x.p+1:end], hash)
			x.p = after(s, end, '>')
			x.content = x.p
			return xmlClose
		case rest[0] == '?':
			end, hash := tagName(s, x.p+1)
			x.setName(s[x.p+1:end], hash)
			stop := bytes.Index(s[end:], []byte("?>"))
			if stop < 0 {
				return xmlEnd
			}
			x.attributes(s[:end+stop+2], end)
			x.p = end + stop + 2
			x.content = x.p
			return xmlPI
		case letter(rest[0]) || rest[0] >= 0x80 || rest[0] == '_' || rest[0] == ':':
			end, hash := tagName(s, x.p)
			x.setName(s[x.p:end], hash)
			if x.p = x.attributes(s, end); x.p < 0 {
				x.p = len(s)
				return xmlEnd
			}
			x.closed = s[x.p-2] == '/'
			x.content = x.p
			return xmlOpen
		}
	}
}

func (x *xmlReader) setName(name []byte, hash uint64) {
	x.name, x.prefix, x.hash = name, nil, hash
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		x.name, x.prefix = name[i+1:], name[:i]
		_, x.hash = tagName(x.name, 0)
	}
}

func (x *xmlReader) skip(from int, stop string) {
	s := x.v.s
	if i := bytes.Index(s[x.p+from:], []byte(stop)); i >= 0 {
		x.p += from + i + len(stop)
	} else {
		x.p = len(s)
	}
}

// doctype skips a declaration, with its internal subset if it has one.
func (x *xmlReader) doctype() {
	s := x.v.s
	end := after(s, x.p, '>')
	if i := bytes.IndexByte(s[x.p:end], '['); i >= 0 && !x.subset {
		x.subset = true
		if j := bytes.Index(s[x.p+i:], []byte("]")); j >= 0 {
			end = after(s, x.p+i+j, '>')
		}
	}
	x.p = end
}

// maxAttrs bounds the attributes kept of one XML tag.
const maxAttrs = 256

func (x *xmlReader) attributes(s []byte, p int) int {
	x.attrs = x.attrs[:0]
	var a rawAttr
	for {
		switch p = nextAttr(s, p, &a); p {
		case attrNone:
			return a.end
		case attrEOF:
			return -1
		}
		if a.k1 > a.k0 && a.v0 > a.k1 && len(x.attrs) < maxAttrs {
			x.attrs = append(x.attrs, a)
		}
	}
}

// attr returns the attribute of that name, or nil.
func (x *xmlReader) attr(name string) *rawAttr {
	for i := range x.attrs {
		if a := &x.attrs[i]; string(x.v.s[a.k0:a.k1]) == name {
			return a
		}
	}
	return nil
}

// text calls f with each piece of character data that follows the start tag just read, up to the next tag,
// and says how it is written: CDATA sections are pieces of their own.
func (x *xmlReader) text(f func(v view, ctx Context)) {
	s := x.v.s
	if x.closed {
		return
	}
	for p := x.content; p < len(s); {
		if bytes.HasPrefix(s[p:], []byte("<![CDATA[")) {
			start := p + len("<![CDATA[")
			end, next := len(s), len(s)
			if i := bytes.Index(s[start:], []byte("]]>")); i >= 0 {
				end, next = start+i, start+i+3
			}
			f(x.v.sub(start, end), CtxXML|CtxCDATA)
			p, x.p = next, next
			continue
		}
		if s[p] == '<' {
			return
		}
		end := len(s)
		if i := bytes.IndexByte(s[p:], '<'); i >= 0 {
			end = p + i
		}
		if len(bytes.TrimSpace(s[p:end])) > 0 {
			f(x.v.sub(p, end), CtxXML.deeper())
		}
		p = end
	}
}

// decoded returns the text of a piece of character data or of an attribute.
func (sc *scanner) decoded(v view, ctx Context) view {
	if ctx&CtxCDATA != 0 {
		return sc.plainText(v)
	}
	return sc.attrText(v, true)
}

// xmlCtx returns how to write into an attribute of an XML tag.
func xmlCtx(a *rawAttr) Context {
	ctx := CtxXML.deeper()
	switch a.quote {
	case 0:
		ctx |= CtxUnquoted
	case '\'':
		ctx |= CtxSingle
	}
	return ctx
}

// xml finds the links of SVG, XHTML and other XML: the elements of HTML and SVG by their local names,
// xlink:href anywhere, style sheet instructions.
func (sc *scanner) xml(v view) {
	x := xmlReader{v: v}
	h := htmlScan{
		scanner: sc,
		v:       v,
		ctx:     CtxXML,
		top:     true,
	}
	root, xslt := true, false
	m := sc.mark()
	for {
		sc.release(m)
		m = sc.mark()
		switch x.next() {
		case xmlEnd:
			return
		case xmlPI:
			sc.stylesheetPI(&x)
		case xmlClose:
			if string(x.name) == "template" {
				h.templates = max(h.templates-1, 0)
			}
		case xmlOpen:
			if root {
				root, xslt = false, x.xslt()
				sc.xmlLang(&x)
			}
			if a := x.attr("href"); xslt && a != nil && (string(x.name) == "import" || string(x.name) == "include") {
				sc.url(sc.attrText(v.sub(a.v0, a.v1), true), Requisite, xmlCtx(a), false)
			}
			tag := tagNames.of(x.hash, x.name)
			mark := len(sc.attrs)
			h.seen = 0
			for i := range x.attrs {
				a := &x.attrs[i]
				id := attrNames.of(a.hash, v.s[a.k0:a.k1])
				if id == noAttr || id == attrXmlBase || (tag == noTag && !anywhere(id)) ||
					computed(v.s[a.v0:a.v1], xslt) {
					continue
				}
				h.seen |= 1 << id
				sc.attrs = append(sc.attrs, a.known(id))
			}
			if len(sc.attrs) > mark {
				h.tag(tag, mark, x.p)
				sc.attrs = sc.attrs[:mark]
			}
			switch {
			case x.closed:
			case tag == tagTemplate:
				h.templates++
			case tag == tagStyle:
				x.text(func(v view, ctx Context) { scanCSS(sc, sc.plainText(sc.decoded(v, ctx)), ctx|CtxCSS) })
			case tag == tagTitle && sc.d.Title == "":
				x.text(func(v view, ctx Context) {
					if sc.d.Title == "" {
						sc.title(v, true)
					}
				})
			}
		}
	}
}

// xslt reports whether the root element just read is that of an XSLT stylesheet: its namespace is declared.
func (x *xmlReader) xslt() bool {
	return slices.ContainsFunc(x.attrs, func(a rawAttr) bool {
		return string(x.v.s[a.v0:a.v1]) == "http://www.w3.org/1999/XSL/Transform"
	})
}

// computed reports whether only an XML processor knows the value of an attribute: it has an attribute value
// template of XSLT or refers to an entity that the document declares.
func computed(value []byte, xslt bool) bool {
	if xslt && bytes.IndexByte(value, '{') >= 0 {
		return true
	}
	for i := bytes.IndexByte(value, '&'); i >= 0; i = bytes.IndexByte(value, '&') {
		n := 1
		for value = value[i:]; n < len(value) && alnum(value[n]); n++ {
		}
		if n > 1 && n < len(value) && value[n] == ';' {
			if _, _, known := entityAt(value, false); known == 0 {
				return true
			}
		}
		value = value[n:]
	}
	return false
}

func (sc *scanner) xmlLang(x *xmlReader) {
	a := x.attr("xml:lang")
	if a == nil {
		a = x.attr("lang")
	}
	if a != nil {
		t := sc.attrText(x.v.sub(a.v0, a.v1), true)
		sc.d.Lang = collapse(t.s, 64)
	}
}

// stylesheetPI handles <?xml-stylesheet href="…"?>.
func (sc *scanner) stylesheetPI(x *xmlReader) {
	if string(x.name) != "xml-stylesheet" {
		return
	}
	if a := x.attr("href"); a != nil && a.quote != 0 {
		sc.url(sc.attrText(x.v.sub(a.v0, a.v1), true), Requisite, xmlCtx(a), false)
	}
}

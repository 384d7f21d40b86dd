// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"mirrord/internal/charset"
	"mirrord/site"
)

// Scan finds the links of a document in one pass and replaces what d held before. raw is not changed and must not change while the
// links are in use. Whatever raw holds is scanned as far as it makes sense; an error says only that the document is too large
// (2 GiB) or that in is unusable. The time is linear in len(raw).
//
// HTML is read again in two rare cases that show only at its end: a <base> stands after references that it changes, or a <meta>
// beyond the first 1024 bytes names another encoding.
func (d *Doc) Scan(raw []byte, in Input) error {
	if len(raw) > math.MaxInt32 {
		return fmt.Errorf("scan %s: document of %d bytes is over 2 GiB", in.URL, len(raw))
	}
	if in.URL.IsZero() {
		return fmt.Errorf("scan: document without URL")
	}
	in = in.withDefaults()
	if in.Format == Unknown {
		in.Format = Detect(in.MIME, in.URL, raw)
	}
	sc := &d.sc
	d.Links, sc.arena, sc.maps, sc.urls = trim(d.Links), trim(sc.arena), trim(sc.maps), trim(sc.urls)
	sc.d, sc.in, sc.foreignAware, sc.keepEmpty = d, in, true, false
	sc.cs, d.CharsetFrom = charset.Browser(raw, syntaxOf(in.Format), in.HeaderCharset)
	for {
		sc.run(raw)
		if in.Format == HTML && d.CharsetFrom == FromDefault && sc.lateFound {
			d.CharsetFrom = FromDocument
			if sc.late.Name != sc.cs.Name {
				sc.cs = sc.late
				if !sc.neutral(raw) {
					continue
				}
			}
		}
		if sc.sawEmpty && !sc.keepEmpty && sc.foreignBase() {
			sc.keepEmpty = true
			continue
		}
		break
	}
	sc.finish(raw)
	return nil
}

// keepAlways is the length up to which a buffer is always kept for the next document.
const keepAlways = 16 << 10

// trim lets a buffer go that the last document filled to less than a quarter, so that one huge document does not hold its memory for
// all that follow.
func trim[T any](b []T) []T {
	if cap(b) > keepAlways && len(b) < cap(b)/4 {
		return nil
	}
	return b
}

// run makes one pass over the document.
func (sc *scanner) run(raw []byte) {
	d := sc.d
	d.Format, d.Charset = sc.in.Format, sc.cs.String()
	d.Links, d.Edits, d.Robots = d.Links[:0], d.Edits[:0], d.Robots[:0]
	d.Title, d.Lang, d.Icon, d.Truncated = "", "", false, false
	sc.arena, sc.maps, sc.urls, sc.attrs = sc.arena[:0], sc.maps[:0], sc.urls[:0], sc.attrs[:0]
	sc.urlsBefore = 0
	sc.nested.base = site.URL{} // what it remembers lies in the memory that is used again
	sc.baseBytes = 0
	sc.base, sc.baseSet, sc.sawEmpty, sc.lateFound = nil, false, false, false
	sc.headEnd, sc.htmlEnd, sc.doctypeEnd, sc.metaAt = -1, -1, -1, -1

	v := view{s: raw}
	if sc.cs.Transcoded() {
		if len(raw) > maxDecoded {
			d.Truncated = true
			return
		}
		if sc.cs.Name == "iso-2022-jp" {
			v = sc.decode2022(v)
		} else {
			v = sc.decodeUTF16(v, sc.cs.Name == "utf-16be")
		}
	} else if bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")) {
		v = v.sub(3, len(raw))
	}
	switch sc.in.Format {
	case HTML:
		sc.html(v, 0)
	case CSS:
		sc.css(sc.plainText(v), CtxCSS)
	case SVG, Feed, Sitemap:
		sc.xml(v)
	case Manifest:
		sc.manifest(v)
	case Script:
		sc.script(sc.plainText(v), CtxJS, true)
	}
}

// foreignBase reports whether the document's <base> makes its references mean something else than its own URL would.
func (sc *scanner) foreignBase() bool {
	if sc.base == nil {
		return false
	}
	u, _, err := sc.in.URL.Resolve(string(sc.base))
	return err == nil && u != sc.in.URL
}

// finish resolves what was found and declares the edits that need the whole document.
func (sc *scanner) finish(raw []byte) {
	d := sc.d
	base := sc.in.URL
	foreign := sc.foreignBase()
	if foreign {
		base, _, _ = base.Resolve(string(sc.base))
	}
	r := &sc.outer
	r.init(base)
	for i := range d.Links {
		l := &d.Links[i]
		plain := l.Plain
		if foreign || (plain && r.climbs(l.Ref)) {
			l.Plain = false
		}
		if l.URL == nil {
			sc.resolve(r, l, plain)
		}
	}
	d.Edits = slices.DeleteFunc(d.Edits, func(e Edit) bool { return int(e.Link) >= len(d.Links) })
	sc.charsetEdit(raw)
	sc.headerRefresh(raw)
	if len(d.Edits) > 1 {
		slices.SortStableFunc(d.Edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	}
}

// charsetEdit declares the encoding in the document when only the HTTP header named it: the copy is read without that header.
func (sc *scanner) charsetEdit(raw []byte) {
	d := sc.d
	if d.CharsetFrom != FromHeader || d.Format == Script {
		return
	}
	if sc.cs.IsUTF16() {
		sc.insert(0, 0, "\ufeff") // nothing inside a document can declare UTF-16
		return
	}
	if c, ok := charset.Declared(raw[:min(len(raw), charset.Window)], syntaxOf(d.Format)); ok && c.Name == sc.cs.Name {
		return
	}
	name := sc.cs.String()
	switch d.Format {
	case HTML:
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
		sc.insert(at, at, `<meta charset="`+name+`">`)
	case CSS:
		if sc.neutral(raw) {
			return
		}
		if a, b := charset.CSSRule(raw[:min(len(raw), charset.Window)]); b > 0 {
			sc.insert(int32(a), int32(b), name)
		} else {
			sc.insert(0, 0, `@charset "`+name+`";`)
		}
	case SVG, Feed, Sitemap:
		head := raw[:min(len(raw), charset.Window)]
		label, a, b := charset.XMLDeclaration(head)
		switch {
		case sc.cs.IsUTF8() && len(label) == 0, sc.neutral(raw):
		case len(label) > 0:
			sc.insert(int32(a), int32(b), name)
		case b > 0:
			sc.insert(int32(a), int32(b), ` encoding="`+name+`"`)
		default:
			sc.insert(0, 0, `<?xml version="1.0" encoding="`+name+`"?>`)
		}
	}
}

// neutral reports whether raw reads the same in all encodings that could be taken for the document's.
func (sc *scanner) neutral(raw []byte) bool { return !sc.cs.Transcoded() && ascii(raw) }

func (sc *scanner) insert(a, b int32, text string) {
	sc.d.Edits = append(sc.d.Edits, Edit{Start: a, End: b, New: text, Why: EditCharset, Link: -1})
}

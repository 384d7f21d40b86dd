// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"mirrord/internal/charset"
)

// Scan finds the links of a document in one pass and replaces what d held before. raw is not changed and must
// not change while the links are in use. Any raw is scanned as far as it makes sense; an error
// says only that the document is too large (2 GiB) or that in is unusable. The time is linear in len(raw).
//
// HTML is read again in two rare cases that show only at its end: a <base> stands after references that it
// changes, or a <meta> beyond the first 1024 bytes names another encoding.
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
	if d.CharsetFrom == FromDefault && (in.Format == CSS || in.Format == Script) && !utf8.Valid(raw) {
		// CSS Syntax, section 3.2, and HTML standard, section 8.1.4.2 ("fetch a classic script"). These read UTF-8
		// in another encoding, too; valid UTF-8 was meant so.
		if c, ok := charset.Lookup([]byte(in.Around)); ok && !c.IsUTF8() && !c.IsUTF16() {
			sc.cs, d.CharsetFrom = c, FromHeader
		}
	}
	for {
		sc.run(raw)
		if in.Format == HTML && d.CharsetFrom == FromDefault && sc.lateFound {
			d.CharsetFrom = FromDocument
			if sc.late.Name != sc.cs.Name {
				sc.cs = sc.late
				if !neutral(sc.cs, raw) {
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

// trim lets a buffer go that the last document filled to less than a quarter, so that one huge document does
// not hold its memory for all that follow.
func trim[T any](b []T) []T {
	if cap(b) > keepAlways && len(b) < cap(b)/4 {
		return nil
	}
	return b
}

// Forget drops all references to the last document. Capacity for an ordinary number of links stays for the
// next one.
func (d *Doc) Forget() {
	links, sc := Emptied(d.Links), &d.sc
	arena, maps, urls := Emptied(sc.arena), Emptied(sc.maps), Emptied(sc.urls)
	*d = Doc{} // in its place: on the stack, a second one would take a third of what a goroutine needs
	d.Links = links
	sc.arena, sc.maps, sc.urls = arena, maps, urls
}

// Emptied returns the room of a list for the next document, without what the list refers to; nil when the
// room is too much to be kept.
func Emptied[T any](b []T) []T {
	if cap(b) > keepAlways {
		return nil
	}
	clear(b[:cap(b)])
	return b[:0]
}

// run makes one pass over the document.
func (sc *scanner) run(raw []byte) {
	d := sc.d
	d.Format, d.Charset = sc.in.Format, sc.cs.String()
	d.Links, d.Edits, d.Robots = d.Links[:0], d.Edits[:0], d.Robots[:0]
	d.Title, d.Lang, d.Icon, d.Anchor, d.Truncated = "", "", false, false, 0
	sc.arena, sc.maps, sc.urls, sc.attrs = sc.arena[:0], sc.maps[:0], sc.urls[:0], sc.attrs[:0]
	sc.urlsBefore = 0
	sc.baseBytes = 0
	sc.imports = sc.imports[:0]
	sc.base, sc.sawEmpty, sc.lateFound = nil, false, false
	sc.headEnd, sc.htmlEnd, sc.doctypeEnd, sc.metaAt = -1, -1, -1, -1

	v := view{s: raw}
	if sc.cs.Transcoded() {
		if len(raw) > MaxDecoded {
			d.Truncated |= BoundText
			return
		}
		dec := sc.newDecoder(&v)
		v = dec.document(sc.cs)
	} else if bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")) {
		v = v.sub(3, len(raw))
	}
	if r := known.all[sc.in.Format]; r != nil {
		r.scan(sc, v)
	}
}

// foreignBase reports whether the document's <base> makes its references mean something else than its own URL
// would.
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
	for i := range d.Links {
		l := &d.Links[i]
		if foreign || (l.Plain && climbs(base, l.Ref)) {
			l.Plain = false
		}
		if l.URL == nil {
			sc.resolve(base, l)
		}
	}
	d.Edits = slices.DeleteFunc(d.Edits, func(e Edit) bool { return int(e.Link) >= len(d.Links) })
	d.declareCodebases()
	sc.charsetEdit(raw)
	declareRefresh(sc, raw)
	if len(d.Edits) > 1 {
		slices.SortStableFunc(d.Edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	}
}

// charsetEdit declares the encoding in the document when only the HTTP header named it: the copy is read
// without that header.
func (sc *scanner) charsetEdit(raw []byte) {
	d := sc.d
	r := known.all[d.Format]
	if d.CharsetFrom != FromHeader || r == nil {
		return
	}
	if sc.cs.IsUTF16() {
		d.declare(0, 0, "\ufeff") // nothing inside a document can declare UTF-16
		return
	}
	if c, ok := charset.Declared(raw[:min(len(raw), charset.Window)], r.syntax); ok && c.Name == sc.cs.Name {
		return
	}
	if r.declare != nil {
		r.declare(sc, raw)
	}
}

// neutral reports whether a document in an encoding reads the same in all that could be its own.
func neutral(cs charset.Charset, raw []byte) bool { return !cs.Transcoded() && ascii(raw) }

// declare declares the encoding between two places.
func (d *Doc) declare(a, b int32, text string) {
	d.Edits = append(d.Edits, Edit{
		Start: a,
		End:   b,
		New:   text,
		Why:   EditCharset,
		Link:  -1,
	})
}

// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"io"
	"slices"
	"unicode/utf8"
)

// A LinkTarget says what becomes of a document's links. It is called once for each link, in order. It returns
// the new reference (relative or absolute, valid URL characters, not empty; it may be overwritten by the next
// call), whether the link's target is inside the set, and whether to replace the reference at all. A fragment
// of the reference is that of a redirect, and takes the place of the link's own where that ends with a quoted
// attribute; anywhere else the link's own stays.
type LinkTarget func(i int) (ref []byte, inside, replace bool)

// Splice appends the raw bytes of a document to dst with replacements, and returns the extended slice. Spans
// that lie outside raw or behind an earlier one are ignored.
func (d *Doc) Splice(dst, raw []byte, target LinkTarget) []byte {
	out, _, _ := SpliceNoting(dst, raw, d.Charset, d.Links, d.Edits, target, nil)
	return out
}

// Span is a stretch of a document that Splice replaced: raw[Start:End] by what stands at [At:To) of what it
// made.
type Span struct{ Start, End, At, To int32 }

// SpliceNoting is Splice for links that were scanned earlier. It also returns the edits that were applied,
// and appends to spans what it replaced, in order. It reads only Start, End, Ctx and Kind of a link and never
// replaces one of kind Discovered, so links can be stored without Ref and URL.
func SpliceNoting(
	dst, raw []byte, charset string, links []Link, edits []Edit, target LinkTarget, spans []Span,
) (out []byte, edited []Edit, noted []Span) {
	if cap(dst)-len(dst) < len(raw) {
		dst = slices.Grow(dst, len(raw)+len(raw)/8) // most grow by less
	}
	sp := newSplicer(raw, charset, links, target)
	sp.out, sp.begin, sp.spans = dst, len(dst), spans
	edited = sp.run(edits)
	return append(sp.out, raw[sp.pos:]...), edited, sp.spans
}

func newSplicer(raw []byte, charset string, links []Link, target LinkTarget) splicer {
	sp := splicer{
		raw:    raw,
		links:  links,
		target: target,
		roman:  charset == "iso-2022-jp",
	}
	switch charset {
	case "utf-16le":
		sp.wide = littleEndian
	case "utf-16be":
		sp.wide = bigEndian
	}
	return sp
}

// note notes that raw[start:end] was replaced by what out has from at on.
func (sp *splicer) note(start, end int32, at int) {
	sp.spans = append(sp.spans, Span{start, end, int32(at - sp.begin), int32(len(sp.out) - sp.begin)})
}

// SpliceTo is SpliceNoting for large documents: what it makes goes to w in pieces and is never in memory
// whole.
func SpliceTo(
	w io.Writer, raw []byte, charset string, links []Link, edits []Edit, target LinkTarget, spans []Span,
) (edited []Edit, noted []Span, err error) {
	sp := newSplicer(raw, charset, links, target)
	sp.out, sp.sink, sp.spans = make([]byte, 0, sinkBuffer), w, spans
	edited = sp.run(edits)
	sp.copyTo(len(raw))
	sp.flush()
	return edited, sp.spans, sp.err
}

// sinkBuffer is how many bytes SpliceTo gathers for one write.
const sinkBuffer = 64 << 10

// run applies links and edits in the order of their places.
func (sp *splicer) run(edits []Edit) (edited []Edit) {
	links := sp.links
	if len(edits) > 0 {
		edited = make([]Edit, 0, len(edits))
	}
	for i := range edits {
		if edits[i].Link >= 0 {
			sp.keep, sp.in = true, make([]bool, 0, len(links))
			break
		}
	}
	e := 0
	for i := range links {
		for e < len(edits) && edits[e].before(&links[i]) {
			edited = sp.edit(&edits[e], edited)
			e++
		}
		sp.link(i)
	}
	for ; e < len(edits); e++ {
		edited = sp.edit(&edits[e], edited)
	}
	return edited
}

// before reports whether an edit is applied before a link. Where they begin at one place it is, but for the
// end of what surrounds the link.
func (e *Edit) before(l *Link) bool {
	return e.Start < l.Start || (e.Start == l.Start && e.Why != editRefreshEnd)
}

// copyTo copies the raw bytes up to end.
func (sp *splicer) copyTo(end int) {
	if sp.sink != nil && len(sp.out)+end-sp.pos > sinkBuffer {
		sp.flush()
		if end-sp.pos > sinkBuffer && sp.err == nil {
			_, sp.err = sp.sink.Write(sp.raw[sp.pos:end])
			sp.begin -= end - sp.pos
			sp.pos = end
		}
	}
	sp.out = append(sp.out, sp.raw[sp.pos:end]...)
	sp.pos = end
}

func (sp *splicer) flush() {
	if sp.err == nil && len(sp.out) > 0 {
		_, sp.err = sp.sink.Write(sp.out)
	}
	sp.begin -= len(sp.out)
	sp.out = sp.out[:0]
}

// wide says how many bytes an ASCII character takes in the raw document.
type wide uint8

const (
	narrow wide = iota
	littleEndian
	bigEndian
)

// answer is what target returned for a link before its turn.
type answer struct {
	from, to int // the reference, in splicer.refs
	replace  bool
}

type splicer struct {
	raw    []byte
	links  []Link
	target LinkTarget
	wide   wide
	roman  bool // '~' is not '~' in JIS X 0201
	keep   bool // some edit depends on a link: remember which links are inside

	out  []byte
	sink io.Writer // where out goes when it is full; nil for Splice
	err  error     // of sink
	pos  int       // raw bytes copied so far

	begin int // of the output, in out; negative when some of it is in sink already
	spans []Span

	asked int      // links that target was called for so far
	in    []bool   // by link, when keep
	ahead []answer // answers of links[asked-len(ahead):asked]
	refs  []byte
}

// ask asks the next link.
func (sp *splicer) ask() (ref []byte, replace bool) {
	ref, inside, replace := sp.target(sp.asked)
	sp.asked++
	if sp.keep {
		sp.in = append(sp.in, inside)
	}
	return ref, replace
}

// link copies up to link i and replaces it if its target says so.
func (sp *splicer) link(i int) {
	var ref []byte
	var replace bool
	if i < sp.asked {
		a := sp.ahead[len(sp.ahead)-(sp.asked-i)]
		ref, replace = sp.refs[a.from:a.to], a.replace
	} else {
		sp.ahead, sp.refs = sp.ahead[:0], sp.refs[:0]
		ref, replace = sp.ask()
	}
	l := &sp.links[i]
	if !replace || l.Kind == Discovered || !sp.valid(l.Start, l.End) ||
		(len(ref) == 0 && l.Ctx&(CtxUnquoted|CtxJS) != 0) {
		return
	}
	ref, end := sp.fragment(ref, l)
	sp.copyTo(int(l.Start))
	at := len(sp.out)
	sp.out = sp.appendRef(sp.out, ref, l.Ctx)
	sp.pos = int(end)
	sp.note(l.Start, end, at)
}

// fragment returns the reference that link l gets, which has one fragment at most, and the end of what it
// takes the place of.
func (sp *splicer) fragment(ref []byte, l *Link) ([]byte, int32) {
	i := bytes.IndexByte(ref, '#')
	if i < 0 {
		return ref, l.End
	}
	rest := sp.raw[l.End:]
	if sp.wide == bigEndian {
		rest = rest[min(len(rest), 1):]
	}
	own := len(rest) > 0 && bytes.IndexByte([]byte(`#&\`), rest[0]) >= 0 // "#" itself, or escaped
	switch {
	case l.Ctx&CtxDir != 0:
		return ref[:i], l.End
	case !own:
		return ref, l.End
	case sp.wide != narrow || l.Ctx&^CtxSingle != 1:
		return ref[:i], l.End
	}
	quote := byte('"')
	if l.Ctx&CtxSingle != 0 {
		quote = '\''
	}
	n := bytes.IndexByte(rest, quote)
	if n < 0 {
		return ref[:i], l.End
	}
	return ref, l.End + int32(n)
}

// edit applies one edit if its condition holds: the target of its link is inside the set, or outside of it.
// The attribute it changes may stand before the link it depends on: target is then called ahead of a link's
// turn and the answers are kept.
func (sp *splicer) edit(e *Edit, edited []Edit) []Edit {
	if e.Link >= 0 {
		if int(e.Link) >= len(sp.links) {
			return edited
		}
		for sp.asked <= int(e.Link) {
			ref, replace := sp.ask()
			from := len(sp.refs)
			sp.refs = append(sp.refs, ref...)
			sp.ahead = append(sp.ahead, answer{from, len(sp.refs), replace})
		}
		if sp.in[e.Link] == (e.Why == EditCodebase) {
			return edited
		}
	}
	if !sp.valid(e.Start, e.End) {
		return edited
	}
	sp.copyTo(int(e.Start))
	at := len(sp.out)
	for _, r := range e.New {
		sp.out = sp.appendRune(sp.out, r)
	}
	sp.pos = int(e.End)
	sp.note(e.Start, e.End, at)
	if e.Why == editRefreshEnd {
		return edited
	}
	return append(edited, *e)
}

func (sp *splicer) valid(start, end int32) bool {
	return int(start) >= sp.pos && end >= start && int(end) <= len(sp.raw)
}

func (sp *splicer) appendRune(dst []byte, r rune) []byte {
	switch sp.wide {
	case littleEndian:
		return append(dst, byte(r), byte(r>>8))
	case bigEndian:
		return append(dst, byte(r>>8), byte(r))
	}
	return utf8.AppendRune(dst, r)
}

// special are the bytes of a reference that some context cannot take as they are.
const special = "&'\"()\\,~<> "

// appendRef writes a reference so that a reader of the context finds exactly ref.
func (sp *splicer) appendRef(dst, ref []byte, ctx Context) []byte {
	if ctx&CtxDir != 0 {
		ref = codebaseOf(ref, ctx)
	}
	if sp.wide == narrow && ctx&(CtxRefresh|CtxJS) == 0 && !bytes.ContainsAny(ref, special) {
		return append(dst, ref...)
	}
	if ctx&CtxJS != 0 {
		return sp.appendJS(dst, ref, ctx)
	}
	if ctx&CtxRefresh != 0 && len(ref) >= 3 && ref[0]|0x20 == 'u' && ref[1]|0x20 == 'r' && ref[2]|0x20 == 'l' {
		dst = sp.appendASCII(dst, "./") // or it would read as the optional "url ="
	}
	for i, c := range ref {
		switch c {
		case '"', '<', '>', ' ': // never in a serialized URL; kept from breaking out of any context
			dst = sp.appendHex(dst, c)
		case '\'':
			switch {
			case ctx&CtxRefresh != 0:
				dst = sp.appendHex(dst, c)
			default:
				if ctx&CtxCSS != 0 {
					dst = sp.appendRune(dst, '\\')
				}
				dst = sp.appendEntity(dst, "#39;", '\'', ctx)
			}
		case '&':
			dst = sp.appendEntity(dst, "amp;", '&', ctx)
		case '(', ')':
			if ctx&CtxCSS != 0 {
				dst = sp.appendRune(dst, '\\')
			}
			dst = sp.appendRune(dst, rune(c))
		case '\\':
			if ctx&(CtxCSS|CtxJSON) != 0 {
				dst = sp.appendRune(dst, '\\')
			}
			dst = sp.appendRune(dst, '\\')
		case ',':
			if ctx&CtxSrcset != 0 && (i == 0 || i == len(ref)-1) {
				dst = sp.appendHex(dst, c)
			} else {
				dst = sp.appendRune(dst, ',')
			}
		case '~':
			dst = sp.appendTilde(dst)
		default:
			dst = sp.appendRune(dst, rune(c))
		}
	}
	return dst
}

// appendTilde writes a tilde, which encodings of Japan have another character for.
func (sp *splicer) appendTilde(dst []byte) []byte {
	if sp.roman {
		return sp.appendHex(dst, '~')
	}
	return sp.appendRune(dst, '~')
}

// appendJS writes a reference into a string of a script, regardless of its quotes.
func (sp *splicer) appendJS(dst, ref []byte, ctx Context) []byte {
	if schemeLen(ref) == 0 && !bytes.HasPrefix(ref, []byte("./")) && !bytes.HasPrefix(ref, []byte("../")) &&
		ref[0] != '/' {
		dst = sp.appendASCII(dst, "./")
	}
	for _, c := range ref {
		switch c {
		case '"', '\'', '`', '\\', '$', '<', '>', ' ':
			dst = sp.appendHex(dst, c)
		case '&':
			dst = sp.appendEntity(dst, "amp;", '&', ctx)
		case '~':
			dst = sp.appendTilde(dst)
		default:
			dst = sp.appendRune(dst, rune(c))
		}
	}
	return dst
}

func (sp *splicer) appendASCII(dst []byte, s string) []byte {
	for i := range len(s) {
		dst = sp.appendRune(dst, rune(s[i]))
	}
	return dst
}

func (sp *splicer) appendHex(dst []byte, c byte) []byte {
	dst = sp.appendRune(dst, '%')
	dst = sp.appendRune(dst, rune(upperHex[c>>4]))
	return sp.appendRune(dst, rune(upperHex[c&15]))
}

// appendEntity writes a character reference for c, once for every level it will be decoded: &amp; and
// &amp;amp; and so on.
func (sp *splicer) appendEntity(dst []byte, name string, c byte, ctx Context) []byte {
	level := ctx & CtxLevel
	if level == 0 {
		return sp.appendRune(dst, rune(c))
	}
	dst = sp.appendRune(dst, '&')
	for range level - 1 {
		dst = sp.appendASCII(dst, "amp;")
	}
	return sp.appendASCII(dst, name)
}

const upperHex = "0123456789ABCDEF"

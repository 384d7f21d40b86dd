// SPDX-License-Identifier: Apache-2.0

package relocate

import "bytes"

// anywhere reports whether an attribute matters on elements that are not known otherwise.
func anywhere(id attrID) bool {
	if id >= attrCount {
		return linkAttributes[id-attrCount].on == anyTag
	}
	const ids attrSet = 1<<attrStyle | 1<<attrEvent | 1<<attrXlinkHref | 1<<attrPaint | 1<<attrSrcdoc |
		1<<attrForScript
	return ids&(1<<id) != 0
}

// find returns the attribute of the tag whose attributes start at mark, or nil.
func (h *htmlScan) find(mark int, id attrID) *attr {
	if h.seen&(1<<id) == 0 {
		return nil
	}
	for i := mark; i < len(h.attrs); i++ {
		if h.attrs[i].id == id {
			return &h.attrs[i]
		}
	}
	return nil
}

// text returns the decoded value of an attribute, or nil.
func (h *htmlScan) text(a *attr) []byte {
	if a == nil {
		return nil
	}
	v := h.attrText(h.val(a), false)
	return v.s
}

// val returns the value of a as it is written.
func (h *htmlScan) val(a *attr) view { return h.v.sub(int(a.v0), int(a.v1)) }

// attrCtx returns how to write into a, an attribute value.
func (h *htmlScan) attrCtx(a *attr) Context {
	ctx := h.ctx.deeper()
	switch a.quote {
	case 0:
		ctx |= CtxUnquoted
	case '\'':
		ctx |= CtxSingle
	}
	return ctx
}

// tag finds the links of a start tag whose attributes start at mark. The tag's '<' is at start.
func (h *htmlScan) tag(tag tagID, mark, start int) {
	sc := h.scanner
	t := tagLinks{h: h, tag: tag, link: -1}
	switch tag {
	case tagA, tagArea, tagForm:
		t.nofollow = hasToken(h.text(h.find(mark, attrRel)), "nofollow")
		sc.d.Anchor = sc.d.Anchor || (tag == tagA && h.top && h.templates|h.noscript == 0)
	case tagLink:
		t.linkRel(mark)
	case tagMeta:
		h.meta(mark, start)
		return
	case tagBase:
		h.baseTag(mark)
		return
	case tagHtml:
		if a := h.find(mark, attrLang); a != nil && h.top && sc.d.Lang == "" {
			sc.d.Lang = collapse(h.text(a), 64)
		}
	case tagParam:
		switch lowered(h.text(h.find(mark, attrName))) {
		case "movie", "src", "data", "url", "filename":
			t.param = true
		}
	case tagInput:
		t.image = bytes.EqualFold(h.text(h.find(mark, attrType)), []byte("image"))
	case tagObject:
		t.frame = h.objectIsFrame(mark)
	}
	n := len(sc.attrs)
	for i := mark; i < n; i++ {
		a := sc.attrs[i]
		t.attr(&a)
		if tag == tagApplet && (a.id == attrCode || a.id == attrCodebase || a.id == attrArchive) {
			t.applet(mark, &a)
		}
	}
	if t.link < 0 && (tag == tagAudio || tag == tagVideo) {
		t.link = len(sc.d.Links) // a <source> to come; finish drops the edit without one
	}
	if tag == tagScript || tag == tagLink || tag == tagImg || tag == tagAudio || tag == tagVideo {
		for i := mark; i < n; i++ {
			switch a := &sc.attrs[i]; a.id {
			case attrIntegrity:
				if a.v1 > a.v0 {
					h.edit(h.v.at(int(a.v0)), h.v.at(int(a.v1)), h.emptied(a), EditIntegrity, t.link)
				}
			case attrCrossorigin: // its mere presence counts, and so would a second one's
				h.edit(h.v.at(int(a.k0)), h.v.at(int(a.end)), "", EditCrossorigin, t.link)
			}
		}
	}
}

// edit declares an edit that depends on a link; without one it is not needed.
func (h *htmlScan) edit(start, end int32, text string, why EditKind, link int) {
	if link >= 0 && h.d.Truncated&^BoundNesting == 0 {
		h.d.Edits = append(h.d.Edits, Edit{
			Start: start,
			End:   end,
			New:   text,
			Why:   why,
			Link:  int32(link),
		})
	}
}

// tagLinks is what a first pass over the attributes of a tag finds.
type tagLinks struct {
	h        *htmlScan
	tag      tagID
	nofollow bool
	param    bool
	image    bool
	frame    bool
	rel      Kind
	noLink   bool // link element whose rel names nothing to fetch or relocate
	link     int  // the link that integrity and crossorigin depend on, or -1
}

func (t *tagLinks) attr(a *attr) {
	switch a.id {
	case attrHref:
		t.href(a)
	case attrXlinkHref:
		switch t.tag {
		case tagA, tagMath, tagMathHref:
			t.url(a, Hyperlink)
		case tagLink:
		default:
			t.url(a, Requisite)
		}
	case attrSrc:
		t.src(a)
	case attrSrcset:
		if t.tag == tagImg || t.tag == tagSource {
			t.srcset(a, false)
		}
	case attrImagesrcset:
		if t.tag == tagLink && !t.noLink {
			t.srcset(a, false)
		}
	case attrStyle:
		sc := t.h.scanner
		v := sc.attrText(t.h.val(a), false)
		scanCSS(sc, sc.plainText(v), t.h.attrCtx(a)|CtxCSS)
	case attrEvent:
		if sc := t.h.scanner; !sc.in.NoScripts && t.h.ctx&(CtxXML|CtxCDATA) == 0 {
			scanScript(sc, sc.plainText(sc.attrText(t.h.val(a), false)), t.h.attrCtx(a)|CtxJS, false)
		}
	case attrPaint:
		sc := t.h.scanner
		v := t.h.val(a)
		if bytes.IndexByte(v.s, '(') >= 0 && !bytes.Contains(v.s, []byte("(#")) {
			scanCSS(sc, sc.plainText(sc.attrText(v, false)), t.h.attrCtx(a)|CtxCSS)
		}
	case attrForScript:
		t.forScript(a)
	case attrData:
		if t.tag == tagObject {
			t.url(a, t.frameKind())
		}
	case attrValue:
		if t.param {
			t.url(a, Requisite)
		}
	case attrSrcdoc:
		if t.tag == tagIframe {
			t.srcdoc(a)
		}
	default:
		if a.id >= attrCount {
			t.listed(a, &linkAttributes[a.id-attrCount])
		}
	}
}

// listed finds the links of an attribute of linkAttributes.
func (t *tagLinks) listed(a *attr, l *linkAttribute) {
	if (l.on != anyTag) && (l.on&(1<<t.tag) == 0) {
		return
	}
	switch l.value {
	case oneURL:
		t.url(a, l.kind)
	case listOfURLs:
		t.list(a, l.kind)
	case lazy:
		v := t.h.attrText(t.h.val(a), false)
		if lazyURL(v.s) {
			t.h.url(v, l.kind, t.h.attrCtx(a), false)
		}
	case lazySrcset:
		t.srcset(a, true)
	}
}

// forScript looks at the value of a data-* attribute as at a string of an inline script, or at JSON in it as
// at such a script.
func (t *tagLinks) forScript(a *attr) {
	sc, written := t.h.scanner, t.h.val(a)
	if sc.in.NoScripts || bytes.IndexByte(written.s, '.') < 0 {
		return
	}
	json := written.s[0] == '[' || written.s[0] == '{'
	if !json && len(written.s) > maxScriptURL {
		return
	}
	m := sc.mark()
	v := sc.attrText(written, false)
	if json {
		scanScript(sc, sc.plainText(v), t.h.attrCtx(a)|CtxJS, false)
		sc.release(m)
		return
	}
	name := t.h.v.s[a.k0:]
	name = name[:bytes.IndexByte(name, '=')]
	if shape, ok := scriptURL(v.s); ok && dataNames(name, shape, isPage(v.s)) {
		sc.url(v, InScript, t.h.attrCtx(a)|CtxJS, false)
	}
	sc.release(m)
}

func (t *tagLinks) href(a *attr) {
	switch t.tag {
	case tagA, tagArea, tagMathHref, tagMath:
		kind := Hyperlink
		path, _, fragment := bytes.Cut(t.h.val(a).s, []byte("#"))
		if fragment && bytes.HasSuffix(path, []byte("/cdn-cgi/l/email-protection")) {
			kind = Action // Cloudflare's script finds it by that, and makes it the mail address in its fragment
		}
		t.url(a, kind)
	case tagLink:
		if !t.noLink {
			t.link = t.url(a, t.rel)
		}
	case tagUse, tagImage, tagFeimage, tagScript, tagSVGHref:
		t.url(a, Requisite)
	}
}

func (t *tagLinks) src(a *attr) {
	switch t.tag {
	case tagImg, tagSource, tagTrack, tagAudio, tagVideo, tagEmbed, tagScript, tagBgsound, tagImage:
		if i := t.url(a, Requisite); i >= 0 {
			t.link = i
		}
	case tagInput:
		if t.image {
			t.url(a, Requisite)
		}
	case tagIframe, tagFrame:
		t.url(a, Frame)
	}
}

func (t *tagLinks) frameKind() Kind {
	if t.frame {
		return Frame
	}
	return Requisite
}

// url emits the value of a as a link and returns its index, or -1.
func (t *tagLinks) url(a *attr, kind Kind) int {
	return t.h.url(t.h.attrText(t.h.val(a), false), kind, t.h.attrCtx(a), t.nofollow)
}

// list emits every URL of a space-separated list.
func (t *tagLinks) list(a *attr, kind Kind) {
	v := t.h.attrText(t.h.val(a), false)
	for i := 0; i < len(v.s); {
		for i < len(v.s) && space(v.s[i]) {
			i++
		}
		j := i
		for j < len(v.s) && !space(v.s[j]) {
			j++
		}
		if j > i {
			t.h.url(v.sub(i, j), kind, t.h.attrCtx(a), t.nofollow)
		}
		i = j
	}
}

func (t *tagLinks) srcset(a *attr, lazy bool) {
	sc := t.h.scanner
	v := sc.attrText(t.h.val(a), false)
	ctx := t.h.attrCtx(a) | CtxSrcset
	for p := 0; ; {
		i, j, next := srcsetNext(v.s, p)
		if j <= i {
			return
		}
		p = next
		if lazy && !lazyURL(v.s[i:j]) {
			continue
		}
		if n := sc.url(v.sub(i, j), Requisite, ctx, false); n >= 0 && t.link < 0 {
			t.link = n
		}
	}
}

// srcdoc scans the document inside the attribute: its spans lie in the outer document.
func (t *tagLinks) srcdoc(a *attr) {
	ctx := t.h.attrCtx(a)
	if ctx&CtxLevel == CtxLevel {
		t.h.d.Truncated |= BoundNesting // a reference in it could not be written
		return
	}
	t.h.html(t.h.attrText(t.h.val(a), false), ctx)
}

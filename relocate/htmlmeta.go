// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"

	"mirrord/internal/charset"
)

// maxRobots bounds the robots metas that are kept.
const maxRobots = 16

// metaKinds are the names and properties of metas whose content is a link.
var metaKinds = map[string]Kind{
	"og:image":                        Requisite,
	"og:image:url":                    Requisite,
	"og:image:secure_url":             Requisite,
	"twitter:image":                   Requisite,
	"twitter:image:src":               Requisite,
	"image":                           Requisite,
	"thumbnail":                       Requisite,
	"thumbnailurl":                    Requisite,
	"msapplication-tileimage":         Requisite,
	"msapplication-square70x70logo":   Requisite,
	"msapplication-square150x150logo": Requisite,
	"msapplication-square310x310logo": Requisite,
	"msapplication-wide310x150logo":   Requisite,
	"docfx:navrel":                    Frame, // tables of contents that DocFX loads into its pages
	"docfx:tocrel":                    Frame,
	"og:url":                          Reference,
	"twitter:url":                     Reference,
	"og:video":                        Reference,
	"og:video:url":                    Reference,
	"og:audio":                        Reference,
	"url":                             Reference,
}

// meta handles a meta element: refresh, images and addresses for link previews, robots, charset, policy.
func (h *htmlScan) meta(mark, start int) {
	sc := h.scanner
	content := h.find(mark, attrContent)
	equiv := lowered(h.text(h.find(mark, attrHttpEquiv)))
	if a := h.find(mark, attrCharset); a != nil || equiv == "content-type" {
		h.metaCharset(a, content, start)
	}
	if content == nil {
		return
	}
	switch equiv {
	case "refresh":
		v := sc.attrText(h.val(content), false)
		if i, j := refreshURL(v.s); j > i {
			sc.url(v.sub(i, j), Hyperlink, h.attrCtx(content)|CtxRefresh, false)
		}
		return
	case "content-security-policy":
		if content.v1 > content.v0 {
			h.blank(content, EditCSP)
		}
		return
	}
	a := h.find(mark, attrProperty)
	if a == nil {
		if a = h.find(mark, attrName); a == nil {
			a = h.find(mark, attrItemprop)
		}
	}
	name := lowered(h.text(a))
	if name == "robots" || name == "mirrord" {
		if h.templates == 0 && len(sc.d.Robots) < maxRobots {
			sc.d.Robots = append(sc.d.Robots, RobotsMeta{
				Name:    name,
				Content: collapse(h.text(content), 1024),
			})
		}
		return
	}
	kind, known := metaKinds[name]
	if !known {
		return
	}
	sc.url(sc.attrText(h.val(content), false), kind, h.attrCtx(content), false)
}

// metaCharset notes where the document first names its encoding, and which.
func (h *htmlScan) metaCharset(charsetAttr, content *attr, start int) {
	sc := h.scanner
	if !h.top || h.templates > 0 {
		return
	}
	var label []byte
	if charsetAttr != nil {
		label = h.text(charsetAttr)
	} else if content != nil {
		label = charset.MetaContent(h.text(content))
	}
	if len(label) == 0 {
		return
	}
	if sc.metaAt < 0 {
		sc.metaAt = h.v.at(start)
	}
	if c, ok := charset.InDocument(label); ok && !sc.lateFound {
		sc.late, sc.lateFound = c, true
	}
}

// blank declares that an attribute's value is emptied.
func (h *htmlScan) blank(a *attr, why EditKind) {
	h.d.Edits = append(h.d.Edits, Edit{
		Start: h.v.at(int(a.v0)),
		End:   h.v.at(int(a.v1)),
		New:   h.emptied(a),
		Why:   why,
		Link:  -1,
	})
}

// emptied returns how the emptied value of a is written. An unquoted one gets quotes, or the next attribute
// would become the value.
func (h *htmlScan) emptied(a *attr) string {
	if a.quote != 0 {
		return ""
	}
	return [...]string{`""`, "&quot;&quot;", "&amp;quot;&amp;quot;",
		"&amp;amp;quot;&amp;amp;quot;"}[h.ctx&CtxLevel]
}

// baseTag takes the first base element with an href as the base of the whole document (HTML standard, section
// 4.2.3). In SVG and MathML it does not count; in noscript it is one without scripts only, and is blanked for
// those.
func (h *htmlScan) baseTag(mark int) {
	a := h.find(mark, attrHref)
	if a == nil || h.templates > 0 || h.foreign > 0 || h.baseSet {
		return
	}
	if h.noscript > 0 {
		if a.v1 > a.v0 {
			h.blank(a, EditBase)
		}
		return
	}
	h.baseSet = true
	h.base = bytes.Clone(bytes.Trim(h.text(a), "\x00\t\n\f\r "))
	if h.top {
		h.scanner.base = h.base
	}
	if a.v1 > a.v0 {
		h.blank(a, EditBase)
	}
}

// RefreshURL returns the reference in the value of an HTTP Refresh header field, which is that of meta
// refresh, or "".
func RefreshURL(value string) string {
	i, j := refreshURL([]byte(value))
	return value[i:j]
}

// refreshURL returns the span of the URL in the content of a meta refresh (HTML standard, section 4.2.5.3,
// "shared declarative refresh steps"), or an empty one.
func refreshURL(s []byte) (start, end int) {
	i := 0
	skip := func() {
		for i < len(s) && space(s[i]) {
			i++
		}
	}
	skip()
	digits := i
	for i < len(s) && (('0' <= s[i] && s[i] <= '9') || s[i] == '.') {
		i++
	}
	if i == digits || i >= len(s) {
		return 0, 0
	}
	if s[i] != ';' && s[i] != ',' && !space(s[i]) {
		return 0, 0
	}
	skip()
	if i < len(s) && (s[i] == ';' || s[i] == ',') {
		i++
	}
	skip()
	start = i
	if i+3 <= len(s) && equalFold(s[i:i+3], "url") {
		i += 3
		skip()
		if i < len(s) && s[i] == '=' {
			i++
			skip()
			start = i
		}
	}
	if start < len(s) && (s[start] == '"' || s[start] == '\'') {
		q := s[start]
		start++
		if j := bytes.IndexByte(s[start:], q); j >= 0 {
			return start, start + j
		}
	}
	return start, len(s)
}

// srcsetNext returns the span of the next URL in a srcset at or after p and where to continue (HTML
// standard, section 4.8.4.3.10, "parse a srcset attribute"). The span is empty at the end.
func srcsetNext(s []byte, p int) (start, end, next int) {
	for p < len(s) && (space(s[p]) || s[p] == ',') {
		p++
	}
	start = p
	for p < len(s) && !space(s[p]) {
		p++
	}
	if end = p; end > start && s[end-1] == ',' {
		for end > start && s[end-1] == ',' {
			end--
		}
		return start, end, p
	}
	for depth := 0; p < len(s); p++ { // descriptors
		switch c := s[p]; {
		case c == '(':
			depth = 1
		case c == ')':
			depth = 0
		case c == ',' && depth == 0:
			return start, end, p + 1
		}
	}
	return start, end, p
}

// forScript reports whether an attribute is one that only scripts read (HTML standard, section 3.2.6.6).
func forScript(name []byte) bool {
	return len(name) > len("data-") && equalFold(name[:len("data-")], "data-")
}

// dataNames reports whether a data-* attribute whose value looks like the address of a file holds one. An
// address that says where it begins is one, but that of a page may as well be a key of that page. The others
// are when the attribute is named for it by its last word.
func dataNames(name []byte, shape refShape, page bool) bool {
	switch lowered(name[bytes.LastIndexAny(name, "-_")+1:]) {
	case "src", "href":
		return true
	case "url", "json", "index", "image", "img":
		return !page
	}
	return !page && (shape == shapeRooted || shape == shapeDotted)
}

// lazyURL reports whether the value of an attribute that only scripts read looks like the URL of a file: a
// path with an extension and none of the characters of markup, JSON or text.
func lazyURL(s []byte) bool {
	s = bytes.Trim(s, "\t\n\f\r ")
	if len(s) == 0 || len(s) > 4096 || bytes.ContainsAny(s, " \t\n\r\"<>{}[]|\\^`") {
		return false
	}
	rest := s
	if i := bytes.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	if i := bytes.Index(rest, []byte("://")); i > 0 { // the extension must be one of the path, not of the host
		j := bytes.IndexByte(rest[i+3:], '/')
		if j < 0 {
			return false
		}
		rest = rest[i+3+j:]
	}
	if bytes.IndexByte(rest, ':') >= 0 {
		return false
	}
	base := rest[bytes.LastIndexByte(rest, '/')+1:]
	dot := bytes.LastIndexByte(base, '.')
	if dot <= 0 || len(base)-dot-1 < 2 || len(base)-dot-1 > 5 {
		return false
	}
	letters := 0
	for _, c := range base[dot+1:] {
		if !alnum(c) {
			return false
		}
		if letter(c) {
			letters++
		}
	}
	return letters > 0
}

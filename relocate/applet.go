// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"slices"

	"mirrord/site"
)

// An applet's links (HTML 4.01, section 13.4): with archives these are, resolved against the codebase, which
// is blanked as a <base> is. Without, the class file is. Its name is the class's and must stay, so the
// codebase is replaced: by the directory of the class file in the copy. Without a codebase the class file is
// only found; if it is not in the copy, the applet gets one that points to the origin.

// applet handles one of the attributes that say what an applet element loads.
func (t *tagLinks) applet(mark int, a *attr) {
	h := t.h
	archive := h.find(mark, attrArchive)
	if archive != nil && len(bytes.TrimSpace(h.text(archive))) == 0 {
		archive = nil
	}
	codebase := h.find(mark, attrCodebase)
	base := directoryRef(h.text(codebase))
	switch {
	case a.id == attrArchive && archive != nil:
		h.appletArchives(a, base)
	case a.id == attrCodebase && archive != nil && a.v1 > a.v0:
		h.blank(a, EditBase)
	case archive != nil, a.id == attrArchive, a.id == attrCode && len(base) > 0, a.id == attrCodebase &&
		len(base) == 0:
	default:
		class, packages := classFile(h.text(h.find(mark, attrCode)))
		switch {
		case class == nil || packages > int(CtxPackage>>packageShift):
		case a.id == attrCode:
			n := len(h.d.Links)
			joinedLink(h.scanner, h.val(a), nil, class, Discovered, h.attrCtx(a))
			if len(h.d.Links) > n && h.attrCtx(a)&CtxLevel == 1 {
				start, end := a.end, a.end
				if codebase != nil { // an empty one
					start, end = codebase.k0, codebase.end
				}
				h.edit(h.v.at(int(start)), h.v.at(int(end)), "", EditCodebase, n)
			}
		default:
			joinedLink(h.scanner, h.val(a), base, class, Requisite,
				h.attrCtx(a)|CtxDir|Context(packages)<<packageShift)
		}
	}
}

// appletArchives finds the URLs of a comma-separated list.
func (h *htmlScan) appletArchives(a *attr, base []byte) {
	v := h.attrText(h.val(a), false)
	for i := 0; i <= len(v.s); {
		j := len(v.s)
		if n := bytes.IndexByte(v.s[i:], ','); n >= 0 {
			j = i + n
		}
		if name := bytes.TrimSpace(v.s[i:j]); len(name) > 0 {
			from := i + bytes.Index(v.s[i:j], name)
			joinedLink(h.scanner, v.sub(from, from+len(name)), base, name, Requisite, h.attrCtx(a))
		}
		i = j + 1
	}
}

// joinedLink records the link at v to name as resolved against base.
func joinedLink(sc *scanner, v view, base, name []byte, kind Kind, ctx Context) {
	ref := name
	if len(base) > 0 && schemeLen(name) == 0 {
		if name[0] == '/' { // of the codebase's origin, which is the document's if it names none
			ref = originRef(base, name)
		} else {
			ref = append(bytes.Clone(base), name...)
		}
	}
	n := len(sc.d.Links)
	if sc.url(view{
		s:       ref,
		off:     v.at(0),
		utf8:    true,
		escaped: true,
	}, kind, ctx, false) < 0 {
		return
	}
	l := &sc.d.Links[n]
	l.Start, l.End = v.at(0), v.at(len(v.s))
}

// originRef returns path at the origin that base names.
func originRef(base, path []byte) []byte {
	if u, _, err := site.Parse(string(base)); err == nil {
		return append([]byte(u.Origin()), path...)
	}
	return path
}

// directoryRef returns a codebase as the reference of a directory, nil for none: the last slash may be
// missing.
func directoryRef(ref []byte) []byte {
	ref = bytes.TrimSpace(ref)
	if i := bytes.IndexAny(ref, "?#"); i >= 0 {
		ref = ref[:i]
	}
	if len(ref) == 0 {
		return nil
	}
	if ref[len(ref)-1] == '/' {
		return bytes.Clone(ref)
	}
	return append(bytes.Clone(ref), '/')
}

// classFile returns the path of the file of a class below the codebase, and how many directories deep its
// package is: p.Name, p.Name.class and p/Name.class are p/Name.class. nil says that code names no class.
func classFile(code []byte) (file []byte, packages int) {
	name := bytes.TrimSpace(code)
	if n := len(name) - len(".class"); n >= 0 && equalFold(name[n:], ".class") {
		name = name[:n]
	}
	for _, c := range name {
		if !alnum(c) && c < 0x80 && bytes.IndexByte([]byte("._$/"), c) < 0 {
			return nil, 0
		}
	}
	name = bytes.ReplaceAll(name, []byte("."), []byte("/"))
	if len(name) == 0 || name[0] == '/' || name[len(name)-1] == '/' || bytes.Contains(name, []byte("//")) {
		return nil, 0
	}
	return append(name, ".class"...), bytes.Count(name, []byte("/"))
}

// declareCodebases completes the edits that give applets a codebase: all links are resolved.
func (d *Doc) declareCodebases() {
	d.Edits = slices.DeleteFunc(d.Edits, func(e Edit) bool {
		return e.Why == EditCodebase && d.Links[e.Link].URL == nil
	})
	for i := range d.Edits {
		e := &d.Edits[i]
		if e.Why != EditCodebase {
			continue
		}
		l := &d.Links[e.Link]
		packages := Context(min(bytes.Count(l.Ref, []byte("/")), int(CtxPackage>>packageShift)))
		dir := bytes.ReplaceAll(codebaseOf(l.URL, packages<<packageShift), []byte("&"), []byte("&amp;"))
		if e.New = `codebase="` + string(dir) + `"`; e.Start == e.End {
			e.New = " " + e.New
		}
	}
}

// codebaseOf returns the directory that holds the packages of the class at ref.
func codebaseOf(ref []byte, ctx Context) []byte {
	if i := bytes.IndexByte(ref, '?'); i >= 0 {
		ref = ref[:i]
	}
	for range 1 + int(ctx&CtxPackage>>packageShift) {
		ref = ref[:max(bytes.LastIndexByte(ref[:max(len(ref)-1, 0)], '/')+1, 0)]
	}
	if len(ref) == 0 {
		return []byte("./")
	}
	return ref
}

// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"

	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
)

// NewRelink returns the function by which phm.Derive changes the links of published documents. It keeps the
// memory of one scan and is not safe for concurrent use.
func NewRelink() phm.Relink {
	r := new(relinker)
	return r.relink
}

type relinker struct {
	doc      relocate.Doc
	out, ref []byte
}

func (r *relinker) relink(f *phm.File, raw []byte, to func(string) (string, bool)) ([]byte, error) {
	has, err := scanPublished(&r.doc, f, raw)
	if err != nil || !has {
		return raw, err
	}
	self, _ := to(f.Path)
	doc := &r.doc
	target := func(i int) ([]byte, bool, bool) {
		l := &doc.Links[i]
		p, in := insidePath(l.URL)
		if l.URL == nil || !in || l.Absolute || l.Kind == relocate.Action || l.Kind == relocate.Discovered {
			return nil, false, false
		}
		if l.Kind == relocate.InScript && !bytes.HasPrefix(l.Ref, []byte(".")) {
			// One that leads inside begins with "./" or "../"; what this one is for only the script knows.
			return nil, false, false
		}
		ref, inside := to(p)
		switch {
		case inside && self == f.Path && ref == p:
			return nil, true, false
		case inside:
			r.ref = relocate.Relative(r.ref[:0], self, ref)
			return r.ref, true, true
		case ref != "":
			return []byte(ref), false, true
		}
		return nil, false, false
	}
	r.out = doc.Splice(r.out[:0], raw, target)
	return r.out, nil
}

// Linked reports whether a published file may have links that are relative in the mirror, as far as its
// line tells.
func Linked(f *phm.File) bool {
	u, _, _ := site.Parse(f.URL) // a URL that cannot be parsed tells nothing
	return relocate.MaySplice(f.Type, u, f.Path)
}

// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"strings"

	"mirrord/relocate"
	"mirrord/store/record"
)

// target is the reference that link i gets in the document at mirror path p: relative inside the set,
// absolute outside. identity says whether the document's path is its URL's.
func (s *Splicer) target(i int, p string, identity bool) (ref []byte, inside, replace bool) {
	l := &s.links.Targets[i]
	id, ok := s.numberOf(i)
	if !ok {
		return s.outsideRef(i, l.Literal)
	}
	if s.links.Links[i].Kind == relocate.Action {
		return s.urlOf(id), false, !l.Absolute
	}
	final, inside := s.Table.Final(id)
	if !inside {
		return s.outsideRef(i, s.urlOf(id))
	}
	if identity && l.Plain && final == id && s.Table.Identity(final) {
		return nil, true, false // the copy lies as the site does: the link is right as it is
	}
	s.ref = relocate.Relative(s.ref[:0], p, s.Table.Path(final))
	if final != id && s.links.Links[i].Kind != relocate.InScript { // what a script does with it is not known
		if fragment := s.Table.Fragment(id); fragment != "" {
			s.ref = append(append(s.ref, '#'), fragment...)
		}
	}
	return s.ref, true, true
}

// outsideRef is the reference that link i gets when its target is the URL u outside of the set.
func (s *Splicer) outsideRef(i int, u []byte) (ref []byte, inside, replace bool) {
	if ref, ok := s.repair(i, u); ok {
		return ref, false, true
	}
	if s.links.Targets[i].Absolute || s.links.Links[i].Kind == relocate.InScript {
		return nil, false, false
	}
	return u, false, true
}

// numberOf is the number of the URL of link i; ok is false for one that has none, which is a
// literal.
func (s *Splicer) numberOf(i int) (id uint32, ok bool) {
	l := &s.links.Targets[i]
	if l.Literal == nil {
		return l.ID, true
	}
	return s.Table.Find(l.Literal)
}

// outside returns the URL of link i when it leads out of the set, else nil.
func (s *Splicer) outside(i int) []byte {
	id, ok := s.numberOf(i)
	if !ok {
		return s.links.Targets[i].Literal
	}
	if _, inside := s.Table.Final(id); inside {
		return nil
	}
	return s.urlOf(id)
}

// urlOf returns the URL of a number; valid until the next call.
func (s *Splicer) urlOf(id uint32) []byte {
	s.url = s.Table.AppendURL(s.url[:0], id)
	return s.url
}

// Cure is where a broken link leads instead, and why.
type Cure struct{ To, Why string }

// mostDeclared is how much of the line of a document its repaired links take at most, in bytes: a line of 4
// MiB is bad (package phm).
const mostDeclared = 2 << 20

// restart forgets the repaired links of the document before, or of another pass over this one.
func (s *Splicer) restart() { s.cured, s.declared, s.full = s.cured[:0], 0, false }

// cure returns where link i leads instead of the URL u outside of the set. Only what a reader follows is
// repaired: neither what a page loads, which would run with its rights, nor frames, forms, and the names of
// documents.
func (s *Splicer) cure(i int, u []byte) (c Cure, ok bool) {
	l := &s.links.Links[i]
	if l.Kind != relocate.Hyperlink {
		return Cure{}, false
	}
	if s.was != nil {
		c, ok = s.was[l.Start]
		return c, ok
	}
	if c, ok = s.Cures[string(u)]; !ok {
		return Cure{}, false
	}
	// In the line: the edit, and the URLs, in which an ampersand takes six bytes.
	cost := 100 + len(u) + len(c.To) + len(c.Why) + 5*(bytes.Count(u, []byte("&"))+strings.Count(c.To, "&"))
	if s.declared+cost > mostDeclared {
		s.full = true
		return Cure{}, false
	}
	s.declared += cost
	return c, true
}

// repair returns the reference that link i gets when it is repaired, and notes that.
func (s *Splicer) repair(i int, u []byte) (ref []byte, ok bool) {
	c, ok := s.cure(i, u)
	if !ok {
		return nil, false
	}
	at := int64(s.links.Links[i].Start)
	s.cured = append(s.cured, RepairedLink{
		At:  at,
		Was: string(u),
		To:  c.To,
		Why: c.Why,
	})
	s.ref = append(s.ref[:0], c.To...)
	return s.ref, true
}

// RepairedAlike reports whether the links of a stored document that Cures repairs are the given ones, in
// their order. It reads all that is stored of the document, because links to other sites have no number. A
// document that is damaged is alike: its reader reports that.
func (s *Splicer) RepairedAlike(rec *record.Resource, published []RepairedLink) bool {
	if _, err := s.read(s.frames, rec.At, "", false); err != nil {
		return true
	}
	s.restart()
	n := 0
	for i := range s.links.Links {
		c, ok := s.cure(i, s.outside(i))
		if !ok {
			continue
		}
		if n == len(published) || published[n].At != int64(s.links.Links[i].Start) || published[n].To != c.To {
			return false
		}
		n++
	}
	return n == len(published)
}

// OtherRepairs returns the numbers of the documents in the mirror whose repaired links, by Cures, are not
// those of the published version, by path. resources calls its argument for every record; documents that
// skip names are left out.
func (r *Renderer) OtherRepairs(ctx context.Context, resources func(func(*record.Resource) error) error,
	published map[string][]RepairedLink, skip func(id uint32) bool) (ids []uint32, err error) {
	s := r.Splicer()
	err = resources(func(rec *record.Resource) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !rec.InSet || rec.Body != record.PackBody || skip(rec.ID) {
			return nil
		}
		if !s.RepairedAlike(rec, published[r.Table.Path(rec.ID)]) {
			ids = append(ids, rec.ID)
		}
		return nil
	})
	return ids, err
}

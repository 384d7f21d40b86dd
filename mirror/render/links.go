// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/binary"
	"errors"
	"slices"

	"mirrord/internal/binread"
	"mirrord/relocate"
)

// Links are stored beside the body that they were found in, so that relocation parses nothing twice:
//
//	byte version; string charset
//	uvarint count of links; each: uvarint start minus the end before, uvarint length, uvarint context,
//	        byte kind | flags<<4, uvarint number of the target plus one, or 0 and the URL as a string
//	uvarint count of edits; each: uvarint start minus the start before, uvarint length, byte why,
//	        uvarint link plus two, string
//
// A URL that the job does not admit is stored as a string: it has no number, and may be in the mirror all
// the same, as the requisite of another page.
const linksVersion = 1

const (
	lfAbsolute = 1 << (4 + iota)
	lfPlain
)

// StoredTarget is what relocation needs of a link beside what relocate.Splice reads.
type StoredTarget struct {
	ID       uint32 // of the URL, if Literal is nil
	Literal  []byte // the URL, when it has no number; aliases the stored bytes
	Absolute bool   // see relocate.Link
	Plain    bool
}

// StoredLinks is the decoded list of a document's links. Decode uses its memory again; it is not safe for
// concurrent use.
type StoredLinks struct {
	Charset string
	Links   []relocate.Link // without URLs and references
	Targets []StoredTarget  // of Links
	Edits   []relocate.Edit
}

// forget lets go of all that refers to the last list, and of room that is too much to be kept.
func (d *StoredLinks) forget() {
	*d = StoredLinks{
		Charset: d.Charset,
		Links:   relocate.Emptied(d.Links),
		Targets: relocate.Emptied(d.Targets),
		Edits:   relocate.Emptied(d.Edits),
	}
}

var errLinks = errors.New("stored links are damaged")

// Links of edits that are not a link's number in the list.
const (
	editAlways = -1
	editNever  = -2 // its link has no URL, so that its target is never inside the set
)

// AppendLinks encodes what a scan found. target returns the number of a link's URL, or false for a literal.
func AppendLinks(b []byte, d *relocate.Doc, target func(i int) (uint32, bool)) []byte {
	b = append(b, linksVersion)
	b = binread.AppendString(b, d.Charset)
	n := 0
	for i := range d.Links {
		if d.Links[i].URL != nil {
			n++
		}
	}
	b = binary.AppendUvarint(b, uint64(n))
	var renumber []int32 // link number in d -> in the list, for edits
	if len(d.Edits) > 0 {
		renumber = make([]int32, len(d.Links))
	}
	n = 0
	prev := int32(0)
	for i := range d.Links {
		l := &d.Links[i]
		if l.URL == nil {
			if renumber != nil {
				renumber[i] = editNever
			}
			continue
		}
		if renumber != nil {
			renumber[i] = int32(n)
		}
		n++
		b = binary.AppendUvarint(b, uint64(l.Start-prev))
		b = binary.AppendUvarint(b, uint64(l.End-l.Start))
		prev = l.End
		b = binary.AppendUvarint(b, uint64(l.Ctx))
		k := byte(l.Kind)
		if l.Absolute {
			k |= lfAbsolute
		}
		if l.Plain {
			k |= lfPlain
		}
		b = append(b, k)
		if id, ok := target(i); ok {
			b = binary.AppendUvarint(b, uint64(id)+1)
			continue
		}
		b = append(b, 0)
		b = binread.AppendString(b, string(l.URL))
	}
	b = binary.AppendUvarint(b, uint64(len(d.Edits)))
	prev = 0
	for _, e := range d.Edits {
		link := int32(editAlways)
		if e.Link >= 0 {
			link = renumber[e.Link]
		}
		b = binary.AppendUvarint(b, uint64(e.Start-prev))
		b = binary.AppendUvarint(b, uint64(e.End-e.Start))
		prev = e.Start
		b = append(b, byte(e.Why))
		b = binary.AppendUvarint(b, uint64(link+2))
		b = binread.AppendString(b, e.New)
	}
	return b
}

// leastLink is how many bytes a stored link takes at least.
const leastLink = 5

// Decode reads what AppendLinks wrote. Literals alias b.
func (d *StoredLinks) Decode(b []byte) error {
	r := binread.Reader{Rest: b}
	d.Links, d.Targets, d.Edits = d.Links[:0], d.Targets[:0], d.Edits[:0]
	if r.Byte() != linksVersion {
		return errLinks
	}
	if cs := r.Bytes(); string(cs) != d.Charset {
		d.Charset = string(cs)
	}
	prev := int32(0)
	links := r.Uvarint()
	room := int(min(links, uint64(len(b)/leastLink)))
	d.Links, d.Targets = slices.Grow(d.Links, room), slices.Grow(d.Targets, room)
	for n := links; n > 0 && !r.Bad; n-- {
		var l relocate.Link
		l.Start = prev + int32(r.Uvarint())
		l.End = l.Start + int32(r.Uvarint())
		r.Bad = r.Bad || l.Start < prev || l.End < l.Start
		prev = l.End
		l.Ctx = relocate.Context(r.Uvarint())
		k := r.Byte()
		l.Kind = relocate.Kind(k & 15)
		t := StoredTarget{Absolute: k&lfAbsolute != 0, Plain: k&lfPlain != 0}
		if id := r.Uvarint(); id > 0 {
			t.ID = uint32(id - 1)
		} else {
			t.Literal = r.Bytes()
		}
		d.Links = append(d.Links, l)
		d.Targets = append(d.Targets, t)
	}
	prev = 0
	for n := r.Uvarint(); n > 0 && !r.Bad; n-- {
		var e relocate.Edit
		e.Start = prev + int32(r.Uvarint())
		e.End = e.Start + int32(r.Uvarint())
		e.Why = relocate.EditKind(r.Byte())
		e.Link = int32(r.Uvarint()) - 2
		e.New = r.Text()
		r.Bad = r.Bad || e.Start < prev || e.End < e.Start || e.Link < editNever || int(e.Link) >= len(d.Links)
		prev = e.Start
		if e.Link != editNever {
			d.Edits = append(d.Edits, e)
		}
	}
	if r.Bad || len(r.Rest) > 0 {
		return errLinks
	}
	return nil
}

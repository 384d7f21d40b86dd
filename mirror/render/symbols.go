// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"

	"mirrord/phm"
	"mirrord/relocate"
)

// mostSymbols is how many symbols of other files the line of a file names.
const mostSymbols = 10_000

// declareSymbols writes into the line of a document where it shows symbols of other files of the set:
// <use href="sprite.svg#star">. Chromium shows them over HTTP, but not from file://, where each file is an
// origin of its own; nothing that the copy could say changes that. The symbols are not copied into the
// documents: each would have to be made again with the file that has them, and a copy would no longer be what
// the site sent.
func (d *Rendered) declareSymbols(f *phm.File) error {
	var at []int64
	for i := range d.s.links.Links {
		l := &d.s.links.Links[i]
		if l.Kind != relocate.Requisite || len(at) == mostSymbols || !usesSymbol(d.body, l) {
			continue
		}
		id, ok := d.s.numberOf(i)
		if !ok {
			continue
		}
		if _, inside := d.s.Table.Final(id); inside {
			at = append(at, int64(l.Start))
		}
	}
	if at == nil {
		return nil
	}
	return declare(f, phm.SymbolsField, at)
}

// usesSymbol reports whether a link is the reference of an element use to a symbol of another file. The
// element is looked for in the bytes in front of the reference; a document in UTF-16 has none.
func usesSymbol(raw []byte, l *relocate.Link) bool {
	if l.Start < 0 || l.Start >= l.End || int(l.End) >= len(raw) || raw[l.End] != '#' {
		return false
	}
	head := raw[:l.Start]
	open := bytes.LastIndexByte(head[max(0, len(head)-mostTag):], '<')
	if open < 0 {
		return false
	}
	name := head[max(0, len(head)-mostTag)+open+1:]
	if end := bytes.IndexAny(name, " \t\r\n\f/"); end >= 0 {
		name = name[:end]
	}
	if colon := bytes.LastIndexByte(name, ':'); colon >= 0 {
		name = name[colon+1:]
	}
	return bytes.EqualFold(name, []byte("use"))
}

// mostTag is how many bytes of a tag stand in front of its reference, at most.
const mostTag = 4 << 10

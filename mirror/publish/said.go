// SPDX-License-Identifier: Apache-2.0

package publish

import "mirrord/mirror/render"

// said is what an outlook says of the links of one document, by their places in its list: link i is number
// 2i, and 2i+1 when it leads elsewhere by redirects.
type said struct {
	outlook *outlook // of which only the table is used beside take
	of      []saidLink
	paths   [2048]knownPath // of the last documents: most of what a page links to is on the page before
}

type knownPath struct {
	final, number uint32 // as an outlook has them
	path          string
}

type saidLink struct {
	id, final      uint32
	in, identity   bool
	moved          bool // by redirects
	path, fragment string
}

// keptSaid is how many links a document has at most whose memory is kept for the next one.
const keptSaid = 4 << 10

var _ render.Names = (*said)(nil)

// take has an outlook say what becomes of links, and numbers them by their places. ok is false when it cannot
// say something; literal says that a document has only the URL of some link.
func (s *said) take(o *outlook, targets []render.StoredTarget) (literal, ok bool) {
	if s.outlook, s.of = o, s.of[:0]; cap(s.of) > keptSaid || cap(s.of) < len(targets) {
		s.of = make([]saidLink, 0, len(targets))
	}
	for i := range targets {
		l := &targets[i]
		id := l.ID
		if l.Literal != nil {
			literal = true
			n, numbered, ok := o.find(l.Literal)
			if !ok {
				return literal, false
			}
			if !numbered {
				s.of = append(s.of, saidLink{})
				continue
			}
			id, l.Literal = n, nil
		}
		f, ok := o.say(id)
		if !ok {
			return literal, false
		}
		link := saidLink{
			id:       id,
			in:       f.in(),
			identity: f.identity(),
			final:    f.final,
		}
		if f.in() && !f.identity() {
			link.path = s.path(o, f)
		}
		if f.final != id {
			link.moved, link.fragment = true, o.fragments[id]
		}
		s.of = append(s.of, link)
		l.ID = uint32(2 * i)
	}
	return literal, true
}

// path is outlook.path.
func (s *said) path(o *outlook, f foreseen) string {
	k := &s.paths[f.final%uint32(len(s.paths))]
	if k.path == "" || k.final != f.final || k.number != f.path {
		*k = knownPath{
			final:  f.final,
			number: f.path,
			path:   o.path(f),
		}
	}
	return k.path
}

// Find implements render.Names.
func (s *said) Find([]byte) (uint32, bool) { return 0, false }

// Final implements render.Names.
func (s *said) Final(id uint32) (uint32, bool) {
	l := &s.of[id/2]
	if l.moved {
		id |= 1
	}
	return id, l.in
}

// Fragment implements render.Names.
func (s *said) Fragment(id uint32) string { return s.of[id/2].fragment }

// Path implements render.Names. The table has a path that is that of a URL, so that this does not wait
// for the outlook. Most links need none: they are right as they are.
func (s *said) Path(id uint32) string {
	l := &s.of[id/2]
	if l.in && l.identity {
		return s.path(s.outlook, foreseen{final: l.final, path: pathOfURL})
	}
	return l.path
}

// Identity implements render.Names.
func (s *said) Identity(id uint32) bool { return s.of[id/2].identity }

// AppendURL implements render.Names.
func (s *said) AppendURL(dst []byte, id uint32) []byte {
	return s.outlook.table.AppendURL(dst, s.of[id/2].id)
}

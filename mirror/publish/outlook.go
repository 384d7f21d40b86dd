// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"path"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/internal/hashset"
	"mirrord/internal/texts"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// mostForeseen bounds the numbers of which an outlook says something, and the links to URLs without a number:
// with what a Through keeps of a file in memory, it takes up to 150 bytes of each.
const mostForeseen = 1 << 17

// outlook says of URLs what will most likely become of them, before they are answered: those that wait for
// their answer will be pages, or what their names say. What it said of a number and turns out otherwise it
// retracts; the clock tells which documents were written by what was said before that. It is that of a first
// version, in which no URL has a mirror path yet. One goroutine uses it at a time.
type outlook struct {
	table *ledger.Table
	seeds []site.URL

	layout    phm.Layout // once the first entry point is answered
	clock     uint32     // grows with each retraction
	numbers   []*[foreseenChunk]foreseen
	paths     texts.List
	fragments map[uint32]string // see render.Names
	retracted map[uint32]uint32 // when what was said of a number was found to be wrong, last

	// hashes of URLs that had no number when a document that links to them came
	unnumbered hashset.Hashes
	numbered   map[uint64]uint32 // others of which a document has only the URL

	types map[string]string // of extensions, as likelyType has them
}

// foreseen is what an outlook says of one number.
type foreseen struct {
	path     uint32 // where it leads, if that is in the mirror: a number in paths, or 0 for the path of the URL
	final    uint32 // see render.Names
	when     uint32 // by the clock; 0: nothing was said
	in       bool   // where it leads is in the mirror
	identity bool   // see render.Names
}

const foreseenChunk = 1 << 10

func newOutlook(table *ledger.Table, seeds []site.URL) outlook {
	return outlook{
		table:     table,
		seeds:     seeds,
		clock:     1,
		fragments: map[uint32]string{},
		retracted: map[uint32]uint32{},
		numbered:  map[uint64]uint32{},
		types:     map[string]string{},
	}
}

// of returns what was said of a number for which there is room.
func (o *outlook) of(id uint32) *foreseen { return &o.numbers[id/foreseenChunk][id%foreseenChunk] }

// path returns the mirror path where a number leads.
func (o *outlook) path(f foreseen) string {
	if f.path == 0 && f.identity {
		return o.table.URL(f.final).Path()[1:]
	}
	return string(o.paths.Append(nil, f.path))
}

// has reports whether something was said of a number.
func (o *outlook) has(id uint32) bool {
	return id/foreseenChunk < uint32(len(o.numbers)) && o.of(id).when > 0
}

// all calls f with each number of which something was said.
func (o *outlook) all(f func(id uint32, f *foreseen)) {
	for id := range uint32(len(o.numbers)) * foreseenChunk {
		if of := o.of(id); of.when > 0 {
			f(id, of)
		}
	}
}

// begin reports whether the layout of the tree is known. rec is the record of a document that has just come.
func (o *outlook) begin(rec *store.Resource) bool {
	if o.layout.Primary != "" {
		return true
	}
	id, ok := o.table.Find([]byte(o.seeds[0].String()))
	if !ok {
		return false
	}
	final, s, known := o.table.Leads(id)
	if !known && final != rec.ID {
		return false
	}
	if o.layout.Primary = o.seeds[0].Origin(); !known || s.InSet() {
		o.layout.Primary = o.table.URL(final).Origin()
	}
	return true
}

// self says what becomes of a document that has come and that the table does not know to be answered; ok is
// false when it has no file of its own.
func (o *outlook) self(rec *store.Resource) (f foreseen, ok bool) {
	if !o.room(rec.ID) || !rec.InSet {
		return f, false
	}
	f = o.restate(rec.ID, o.file(rec.ID, rec.URL, rec.MIME))
	return f, f.final == rec.ID
}

// room makes room for a number, if there may be.
func (o *outlook) room(id uint32) bool {
	if id >= mostForeseen {
		return false
	}
	for uint32(len(o.numbers)) <= id/foreseenChunk {
		o.numbers = append(o.numbers, new([foreseenChunk]foreseen))
	}
	return true
}

// restate says something of a number, and retracts what was said before if that was something else.
func (o *outlook) restate(id uint32, v view) foreseen {
	was := o.of(id)
	same := was.in == v.in && was.final == v.final && was.identity == v.identity &&
		(was.identity || o.path(*was) == v.path)
	f := foreseen{
		final:    v.final,
		when:     o.clock,
		in:       v.in,
		identity: v.identity,
	}
	switch {
	case v.identity || !v.in:
	case same && was.when > 0:
		f.path = was.path
	default:
		f.path = o.paths.Add([]byte(v.path))
	}
	if was.when > 0 && !same {
		o.clock++
		o.retracted[id], f.when = o.clock, o.clock
	}
	*was = f
	return f
}

// came hears that the table has the answer of a URL.
func (o *outlook) came(rec *store.Resource) {
	if !o.has(rec.ID) {
		return
	}
	if v, ok := o.look(rec.ID); ok {
		o.restate(rec.ID, v)
	}
	if twin := render.IndexTwin(rec.URL, rec.MIME); twin != "" {
		if other, ok := o.table.Find([]byte(twin)); ok && o.has(other) {
			if v, ok := o.look(other); ok {
				o.restate(other, v)
			}
		}
	}
}

// say says what becomes of a number.
func (o *outlook) say(id uint32) (f foreseen, ok bool) {
	if !o.room(id) {
		return f, false
	}
	f = *o.of(id)
	if f.when > 0 && (f.final == id || o.retracted[f.final] <= f.when) {
		return f, true
	}
	v, ok := o.look(id)
	if ok {
		f = o.restate(id, v)
	}
	return f, ok
}

// view is what an outlook comes to say of a number.
type view struct {
	path         string
	final        uint32
	in, identity bool
}

// look finds out what most likely becomes of a number, by what is known now.
func (o *outlook) look(id uint32) (v view, ok bool) {
	final, s, known := o.table.Leads(id)
	v.final = final
	switch {
	case known && !s.InSet(), !known && s.Guessed():
		return v, true
	case final != id:
		to, ok := o.say(final)
		if fragment := o.table.Fragment(id); fragment != "" {
			o.fragments[id] = fragment
		}
		v = view{
			path:     o.path(to),
			final:    to.final,
			in:       to.in,
			identity: to.identity,
		}
		return v, ok
	}
	u := o.table.URL(id)
	mime := o.table.MIME(id)
	if !known {
		mime = o.likelyType(u)
	}
	return o.file(id, u, mime), true
}

// file says which file a resource has: its own, or that of its twin, if that is in the mirror and gets its
// path first. Whether they have the same bytes is known in the end.
func (o *outlook) file(id uint32, u site.URL, mime string) view {
	v := view{
		path:  o.layout.Preferred(u, mime),
		final: id,
		in:    true,
	}
	if twin := render.IndexTwin(u, mime); twin != "" {
		if other, ok := o.table.Find([]byte(twin)); ok && other != id {
			final, s, known := o.table.Leads(other)
			t := o.table.URL(other)
			if (final == other) && (!known || s.InSet()) && phm.Compare(t, u) < 0 {
				v.final, u = other, t
			}
		}
	}
	_, query := u.Query()
	v.identity = (u.Path()[1:] == v.path) && !query
	return v
}

// likelyType is the MIME type of a URL that is not answered yet.
func (o *outlook) likelyType(u site.URL) string {
	ext := path.Ext(u.Path())
	if ext == "" {
		return "text/html"
	}
	mime, known := o.types[ext]
	if known {
		return mime
	}
	if mime = phm.TypeByExtension(strings.ToLower(ext[1:])); mime == "" {
		mime = "text/html"
	}
	if len(o.types) < mostTypes {
		o.types[strings.Clone(ext)] = mime
	}
	return mime
}

// mostTypes bounds the extensions whose types an outlook remembers: what follows a dot may be anything.
const mostTypes = 256

// compare holds what was said against what has come about, now that all is known and paths are given. some
// says that something was wrong; links are the hashes of URLs without a number of which that is true. No
// worker may run.
func (o *outlook) compare(t ledger.Settled) (some bool, links map[uint64]bool) {
	links = map[uint64]bool{}
	o.all(func(id uint32, f *foreseen) {
		if !o.holds(id, f, t) {
			o.retracted[id] = always
		}
	})
	o.all(func(id uint32, f *foreseen) {
		if to := o.retracted[f.final]; f.final != id && to > f.when {
			o.retracted[id] = max(o.retracted[id], to)
		}
	})
	for h, id := range o.numbered {
		if o.retracted[id] > 0 {
			links[h] = true
		}
	}
	var u []byte
	for id, s := range t.All() {
		if o.unnumbered.Len() == 0 {
			break
		}
		if !s.Governed() {
			continue
		}
		u = t.AppendURL(u[:0], id)
		if h := hashOf(u); o.unnumbered.Has(h) {
			if _, in := t.Final(id); in {
				links[h] = true
			}
		}
	}
	return len(o.retracted) > 0, links
}

// hashOf is the hash of a URL, which is not 0.
func hashOf(u []byte) uint64 { return max(1, xxh3.Hash(u)) }

// holds reports whether what was said of a number has come about.
func (o *outlook) holds(id uint32, f *foreseen, t ledger.Settled) bool {
	final, in := t.Final(id)
	if !f.in || !in {
		return f.in == in
	}
	if (final != f.final) || final != id {
		return (final == f.final) && t.Fragment(id) == o.fragments[id]
	}
	return (t.Identity(id) == f.identity) && (f.identity || t.Path(id) == o.path(*f))
}

// said is what an outlook says of the links of one document, by their places in its list: link i is number
// 2i, and 2i+1 when it leads elsewhere by redirects.
type said struct {
	outlook *outlook // of which only the table is used beside take
	of      []saidLink
	paths   [2048]knownPath // of the last documents: most of what a page links to is on the page before
}

type knownPath struct {
	final, number uint32 // as an outlook has them
	identity      bool
	path          string
}

type saidLink struct {
	id, final      uint32
	in, identity   bool
	moved          bool // by redirects
	path, fragment string
}

var _ render.Names = (*said)(nil)

// take has an outlook say what becomes of links, and numbers them by their places. ok is false when it cannot
// say something; literal says that a document has only the URL of some link.
func (s *said) take(o *outlook, targets []render.StoredTarget) (literal, ok bool) {
	s.outlook, s.of = o, s.of[:0]
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
			in:       f.in,
			identity: f.identity,
			final:    f.final,
		}
		if f.in && !f.identity {
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
	if k.path == "" || k.final != f.final || k.number != f.path || k.identity != f.identity {
		*k = knownPath{
			final:    f.final,
			number:   f.path,
			identity: f.identity,
			path:     o.path(f),
		}
	}
	return k.path
}

// find returns the number of a URL that had none when the document came. numbered is false when it has none
// yet; ok is false when there is no room to remember that.
func (o *outlook) find(u []byte) (id uint32, numbered, ok bool) {
	h := hashOf(u)
	if o.unnumbered.Has(h) {
		return 0, false, true
	}
	if id, ok := o.numbered[h]; ok {
		return id, true, true
	}
	if o.unnumbered.Len()+len(o.numbered) >= mostForeseen {
		return 0, false, false
	}
	if id, ok := o.table.Find(u); ok {
		o.numbered[h] = id
		return id, true, true
	}
	o.unnumbered.Add(h)
	return 0, false, true
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

// Path implements render.Names. The table has a path that is that of a URL, so that nobody waits for the
// outlook. Most links need none: they are right as they are.
func (s *said) Path(id uint32) string {
	l := &s.of[id/2]
	if l.in && l.identity {
		return s.path(s.outlook, foreseen{final: l.final, identity: true})
	}
	return l.path
}

// Identity implements render.Names.
func (s *said) Identity(id uint32) bool { return s.of[id/2].identity }

// AppendURL implements render.Names.
func (s *said) AppendURL(dst []byte, id uint32) []byte {
	return append(dst, s.outlook.table.URL(s.of[id/2].id).String()...)
}

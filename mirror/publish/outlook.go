// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"math"
	"path"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/internal/hashset"
	"mirrord/internal/numbered"
	"mirrord/internal/texts"
	"mirrord/mirror/render"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// mostForeseen bounds what an outlook knows of numbers beyond that they have the paths that their names give
// them, and the links to URLs without a number: up to 50 bytes of each.
const mostForeseen = 1 << 17

// outlook says of URLs what will most likely become of them, before they are answered: those that wait for
// their answer will be pages, or what their names say. What it said of a number and turns out otherwise it
// retracts; the clock tells which documents were written by what was said before that. It is that of a first
// version, in which no URL has a mirror path yet. It takes a byte of memory for each number, and four of most
// that it retracts. One goroutine uses it at a time.
type outlook struct {
	table *urls.Table
	seeds []site.URL

	layout    phm.Layout // once the first entry point is answered
	clock     uint32     // grows with each retraction
	sayings   numbered.Values[saying]
	more      map[uint32]foreseen
	most      int // of these, and of links to URLs without a number: mostForeseen
	paths     texts.List
	fragments map[uint32]string       // see render.Names
	retracted numbered.Values[uint32] // when what was said of a number was found to be wrong, last

	// hashes of URLs that had no number when a document that links to them came
	unnumbered hashset.Hashes
	numbered   map[uint64]uint32 // others of which a document has only the URL

	types map[string]string // of extensions, as likelyType has them
}

// saying is what an outlook says of one number, if that is simple: it leads nowhere else.
type saying uint8

const (
	nothing saying = iota // was said
	outside               // it is not in the mirror
	asURL                 // its mirror path is that of its URL
	asNamed               // or the one that its name gives it: see outlook.named
	inMore                // see outlook.more
)

// foreseen is what an outlook says of one number.
type foreseen struct {
	path  uint32 // where it leads: a number in paths, or one of the following
	final uint32 // see render.Names
	when  uint32 // by the clock, if it leads elsewhere
}

const (
	pathOfURL = 0 // the path is that of the URL
	pathNamed = math.MaxUint32 - iota
	noPath    // where it leads is not in the mirror
)

// in says that where it leads is in the mirror.
func (f foreseen) in() bool { return f.path != noPath }

// identity is as in render.Names.
func (f foreseen) identity() bool { return f.path == pathOfURL }

func newOutlook(table *urls.Table, seeds []site.URL) outlook {
	return outlook{
		table:     table,
		seeds:     seeds,
		clock:     1,
		most:      mostForeseen,
		more:      map[uint32]foreseen{},
		fragments: map[uint32]string{},
		numbered:  map[uint64]uint32{},
		types:     map[string]string{},
	}
}

// of returns what was said of a number; ok is false when that is nothing.
func (o *outlook) of(id uint32) (f foreseen, ok bool) {
	f.final = id
	switch o.sayings.Of(id) {
	case nothing:
		return f, false
	case outside:
		f.path = noPath
	case asURL:
		f.path = pathOfURL
	case asNamed:
		f.path = pathNamed
	case inMore:
		f = o.more[id]
	}
	return f, true
}

// put keeps the statement on a number; ok is false when there is no memory for it, and nothing is said then.
func (o *outlook) put(id uint32, f foreseen) (ok bool) {
	s := inMore
	switch {
	case f.final != id:
	case f.path == noPath:
		s = outside
	case f.path == pathOfURL:
		s = asURL
	case f.path == pathNamed:
		s = asNamed
	}
	if o.sayings.Of(id) == inMore {
		delete(o.more, id)
	}
	if ok = s != inMore || len(o.more) < o.most; !ok {
		s = nothing
	} else if s == inMore {
		o.more[id] = f
	}
	o.sayings.Put(id, s)
	return ok
}

// path returns the mirror path where a number leads.
func (o *outlook) path(f foreseen) string {
	var u site.URL
	if f.path == pathOfURL || f.path == pathNamed {
		u = o.table.URL(f.final)
	}
	return o.pathTo(f, u)
}

// pathTo is path where the URL to which the number leads is known.
func (o *outlook) pathTo(f foreseen, final site.URL) string {
	switch f.path {
	case noPath:
		return ""
	case pathOfURL:
		return final.Path()[1:]
	case pathNamed:
		return o.named(final)
	}
	return string(o.paths.Append(nil, f.path))
}

// named is the mirror path that the name of a URL gives it: while it has no other facts.
func (o *outlook) named(u site.URL) string { return o.layout.Preferred(u, o.likelyType(u)) }

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
	if !rec.InSet {
		return f, false
	}
	f, ok = o.restate(o.file(rec.ID, rec.URL, rec.MIME))
	return f, ok && f.final == rec.ID
}

// restate says something of a number, and retracts what was said before if that was something else. ok is
// false when there is no memory for it.
func (o *outlook) restate(v view) (f foreseen, ok bool) {
	was, said := o.of(v.id)
	f = foreseen{
		path:  v.path,
		final: v.final,
		when:  o.clock,
	}
	same := was.final == v.final && was.path == v.path
	if v.text != "" {
		if same = was.final == v.final && said && o.path(was) == v.text; same {
			f.path = was.path
		} else {
			f.path = o.paths.Add([]byte(v.text))
		}
	}
	if said && !same {
		o.clock++
		f.when = o.clock
		o.retracted.Put(v.id, o.clock)
	}
	return f, o.put(v.id, f)
}

// came hears that the table has the answer of a URL.
func (o *outlook) came(rec *store.Resource) {
	o.lookAgain(rec.ID, rec.URL)
	if twin := render.IndexTwin(rec.URL, rec.MIME); twin != "" {
		if id, ok := o.table.Find([]byte(twin)); ok {
			o.lookAgain(id, site.Canonical(twin))
		}
	}
}

// lookAgain says something of a number of which something was said, by the present facts. It has the URL.
func (o *outlook) lookAgain(id uint32, u site.URL) {
	if _, said := o.of(id); !said {
		return
	}
	if v, ok := o.look(id, u); ok {
		o.restate(v)
	}
}

// say says what becomes of a number.
func (o *outlook) say(id uint32) (f foreseen, ok bool) {
	f, ok = o.of(id)
	if ok && (f.final == id || o.retracted.Of(f.final) <= f.when) {
		return f, true
	}
	v, ok := o.look(id, site.URL{})
	if !ok {
		return f, false
	}
	return o.restate(v)
}

// view is the statement of an outlook on a number.
type view struct {
	id, path, final uint32 // the last two are those of a foreseen
	text            string // the path, where that has no number yet
}

// look foresees the outcome of a number by the present facts. u is its URL, or none.
func (o *outlook) look(id uint32, u site.URL) (v view, ok bool) {
	final, s, known := o.table.Leads(id)
	switch {
	case known && !s.InSet(), !known && s.Guessed():
		return view{
			id:    id,
			path:  noPath,
			final: final,
		}, true
	case final != id:
		to, ok := o.say(final)
		if fragment := o.table.Fragment(id); fragment != "" {
			o.fragments[id] = fragment
		}
		return view{
			id:    id,
			path:  to.path,
			final: to.final,
		}, ok
	}
	if u.IsZero() {
		u = o.table.URL(id)
	}
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
		id:    id,
		final: id,
		text:  o.layout.Preferred(u, mime),
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
	switch _, query := u.Query(); {
	case !query && u.Path()[1:] == v.text:
		v.path, v.text = pathOfURL, ""
	case mime == o.likelyType(u) && v.final == id, v.text == o.named(u):
		v.path, v.text = pathNamed, ""
	}
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
func (o *outlook) compare(t urls.Settled) (some bool, links map[uint64]bool) {
	links = map[uint64]bool{}
	some = o.clock > 1
	for id := range o.sayings.All() {
		if f, _ := o.of(id); !o.holds(id, f, t) {
			some = true
			o.retracted.Put(id, always)
		}
	}
	for id, f := range o.more {
		if to := o.retracted.Of(f.final); f.final != id && to > f.when {
			o.retracted.Put(id, max(o.retracted.Of(id), to))
		}
	}
	for h, id := range o.numbered {
		if o.retracted.Of(id) > 0 {
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
	return some, links
}

// hashOf is the hash of a URL, which is not 0.
func hashOf(u []byte) uint64 { return max(1, xxh3.Hash(u)) }

// holds reports whether what was said of a number has come about.
func (o *outlook) holds(id uint32, f foreseen, t urls.Settled) bool {
	final, in := t.Final(id)
	if !f.in() || !in {
		return f.in() == in
	}
	if (final != f.final) || final != id {
		return (final == f.final) && t.Fragment(id) == o.fragments[id]
	}
	return (t.Identity(id) == f.identity()) && (f.identity() || t.Path(id) == o.path(f))
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
	if o.unnumbered.Len()+len(o.numbered) >= o.most {
		return 0, false, false
	}
	if id, ok := o.table.Find(u); ok {
		o.numbered[h] = id
		return id, true, true
	}
	o.unnumbered.Add(h)
	return 0, false, true
}

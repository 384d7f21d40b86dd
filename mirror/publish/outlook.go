// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"github.com/zeebo/xxh3"

	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
)

// mostForeseen bounds the numbers of which an outlook says something, and the links to URLs without a number:
// with what an Ahead keeps of a file, it takes 200 bytes of each.
const mostForeseen = 1 << 14

// outlook is the table of a run as it will most likely be when all URLs are answered, of those of which the
// answer is known: what it once said of a number it says for good. Afterwards wrong compares. It is that of a
// first version, in which no URL has a mirror path yet. One goroutine uses it.
type outlook struct {
	table *ledger.Table
	seeds []site.URL

	layout  phm.Layout // once the first entry point is answered
	waits   uint32     // the number of which the answer was missing last
	numbers []foreseen
	// by the hash of a URL that had no number when a document that links to it came: the one that it got since,
	// plus one; 0: none
	links map[uint64]uint32
}

// foreseen is what an outlook says of one number. The zero value is nothing.
type foreseen struct {
	known    bool
	in       bool // where it leads is in the mirror
	identity bool // see render.Names
	final    uint32
	path     string // of a number that is its own final one
	fragment string // see render.Names
}

var _ render.Names = (*outlook)(nil)

// Find implements render.Names.
func (o *outlook) Find(u []byte) (uint32, bool) {
	n := o.links[xxh3.Hash(u)]
	return n - 1, n > 0
}

// Final implements render.Names.
func (o *outlook) Final(id uint32) (uint32, bool) { return o.numbers[id].final, o.numbers[id].in }

// Fragment implements render.Names.
func (o *outlook) Fragment(id uint32) string { return o.numbers[id].fragment }

// Path implements render.Names.
func (o *outlook) Path(id uint32) string { return o.numbers[id].path }

// Identity implements render.Names.
func (o *outlook) Identity(id uint32) bool { return o.numbers[id].identity }

// AppendURL implements render.Names.
func (o *outlook) AppendURL(dst []byte, id uint32) []byte {
	return append(dst, o.table.URL(id).String()...)
}

// known reports whether it is known where a link leads. When it is not, waits is the number of which the
// answer is missing, or none.
func (o *outlook) known(t *render.StoredTarget) bool {
	if t.Literal == nil {
		return o.foresee(t.ID)
	}
	o.waits = none
	h := xxh3.Hash(t.Literal)
	if n, ok := o.links[h]; ok {
		return n == 0 || o.foresee(n-1)
	}
	if len(o.links) == mostForeseen {
		return false
	}
	id, ok := o.table.Find(t.Literal)
	if !ok {
		o.links[h] = 0
		return true
	}
	if !o.foresee(id) {
		return false
	}
	o.links[h] = id + 1
	return true
}

// none is no number.
const none = ^uint32(0)

// begin reports whether the layout of the tree is known.
func (o *outlook) begin() bool {
	if o.layout.Primary != "" {
		return true
	}
	o.waits = none
	id, ok := o.table.Find([]byte(o.seeds[0].String()))
	if !ok {
		return false
	}
	final, s, known := o.table.Leads(id)
	if !known {
		o.waits = final
		return false
	}
	if o.layout.Primary = o.seeds[0].Origin(); s.InSet() {
		o.layout.Primary = o.table.URL(final).Origin()
	}
	return true
}

// foresee finds out what becomes of a number, and reports whether that is known.
func (o *outlook) foresee(id uint32) bool {
	if o.waits = none; id >= mostForeseen {
		return false
	}
	for uint32(len(o.numbers)) <= id {
		o.numbers = append(o.numbers, foreseen{})
	}
	if o.numbers[id].known {
		return true
	}
	final, s, known := o.table.Leads(id)
	f := foreseen{known: true, final: final}
	switch {
	case !known:
		o.waits = final
		return false
	case !s.InSet():
	case final != id:
		if !o.foresee(final) {
			return false
		}
		f.in, f.final, f.fragment = true, o.numbers[final].final, o.table.Fragment(id)
	default:
		u, mime := o.table.URL(id), o.table.MIME(id)
		owner, known := o.owner(id, u, mime)
		if !known {
			return false
		}
		if f.in, f.final = true, owner; owner != id {
			if !o.foresee(owner) {
				return false
			}
			break
		}
		f.path = o.layout.Preferred(u, mime)
		_, query := u.Query()
		f.identity = (u.Path()[1:] == f.path) && !query
	}
	o.numbers[id] = f
	return true
}

// owner returns the number that has the file of a resource: that of its twin, if both are in the mirror and
// the twin gets its path first. Whether they have the same bytes wrong finds out.
func (o *outlook) owner(id uint32, u site.URL, mime string) (owner uint32, known bool) {
	twin := render.IndexTwin(u, mime)
	if twin == "" {
		return id, true
	}
	other, ok := o.table.Find([]byte(twin))
	if !ok || other == id {
		return id, true
	}
	final, s, known := o.table.Leads(other)
	if !known {
		o.waits = final
		return 0, false
	}
	if (final == other) && s.InSet() && phm.Compare(o.table.URL(other), u) < 0 {
		return other, true
	}
	return id, true
}

// wrong returns the numbers of which the outlook was wrong, now that all is known and paths are given, and
// the hashes of such URLs without a number. No worker may run.
func (o *outlook) wrong(t ledger.Settled) (ids numbers, some bool, links map[uint64]bool) {
	ids, links = make(numbers, len(o.numbers)/64+1), map[uint64]bool{}
	for id := range o.numbers {
		if f := &o.numbers[id]; f.known && !f.holds(uint32(id), t) {
			ids.add(uint32(id))
			some = true
		}
	}
	for id := range o.numbers {
		if f := &o.numbers[id]; some && f.known && f.in && ids.has(f.final) {
			ids.add(uint32(id))
		}
	}
	for h, n := range o.links {
		if n > 0 && ids.has(n-1) {
			links[h] = true
		}
	}
	var u []byte
	for id := range t.All() {
		if len(o.links) == 0 {
			break
		}
		u = t.AppendURL(u[:0], id)
		h := xxh3.Hash(u)
		if n, was := o.links[h]; was && n == 0 {
			if _, in := t.Final(id); in {
				links[h] = true
			}
		}
	}
	return ids, some, links
}

// holds reports whether what was foreseen of a number has come about.
func (f *foreseen) holds(id uint32, t ledger.Settled) bool {
	final, in := t.Final(id)
	if !f.in || !in {
		return f.in == in
	}
	if (final != f.final) || final != id {
		return (final == f.final) && t.Fragment(id) == f.fragment
	}
	return (t.Identity(id) == f.identity) && (f.identity || t.Path(id) == f.path)
}

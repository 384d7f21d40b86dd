// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"log/slog"

	"mirrord/mirror/render"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/record"
)

// Naming is what mirror paths are given by.
type Naming struct {
	Table   urls.Settled
	Layout  phm.Layout
	Records Records
	Log     *slog.Logger

	// Journal calls done for what was recorded of some numbers and is not among Records yet, in order.
	Journal func(of func(id uint32) bool, done func(rec *record.Resource)) error
}

// Names says what became of files that several URLs share.
type Names struct {
	Shared render.Shared
	Apart  []uint32 // shared a file before this run and have a path now; their records have to say so
	Bare   []uint32 // their path went to their twins; their records have to say so
}

// AssignNames gives a mirror path, in the table, to every resource of the mirror that has none and does not
// share a file. The order, and so the result, depends on the URLs and bodies alone, not on the order in
// which they were found.
func AssignNames(n Naming) (Names, error) {
	t := n.Table
	namer := phm.NewNamer(n.Layout, int(t.Len()))
	fresh := n.reserve(namer)
	w, err := n.findTwins(fresh)
	if err != nil {
		return Names{}, err
	}
	offered, err := n.offered(fresh)
	if err != nil {
		return Names{}, err
	}
	for _, id := range urls.Sorted(fresh, t.URL, phm.Compare) {
		if n.share(w, id) {
			continue
		}
		t.Place(id, namer.Assign(t.URL(id), t.MIME(id), offered[id]))
		if w.rec[id].shared {
			w.apart = append(w.apart, id)
		}
	}
	return Names{Shared: render.SharedURLs(t), Apart: w.apart, Bare: w.bare}, nil
}

// offered returns the names under which the site offers files of which the type says nothing.
func (n *Naming) offered(fresh []uint32) (map[uint32]string, error) {
	names := map[uint32]string{}
	for _, id := range fresh {
		if phm.NeedsName(n.Table.MIME(id)) {
			names[id] = ""
		}
	}
	return names, recorded(n, names, func(rec *record.Resource, _ bool) { names[rec.ID] = rec.Name })
}

// recorded calls take for the stored records of the keys of a map, and then for those written since.
func recorded[T any](n *Naming, of map[uint32]T, take func(rec *record.Resource, stored bool)) error {
	if len(of) == 0 {
		return nil
	}
	for id := range of {
		rec, ok, err := n.Records.Get(n.Table.URL(id))
		if err != nil {
			return err
		}
		if ok {
			take(&rec, true)
		}
	}
	wanted := func(id uint32) bool {
		_, ok := of[id]
		return ok
	}
	return n.Journal(wanted, func(rec *record.Resource) { take(rec, false) })
}

// reserve reserves the mirror paths that are given, and returns the resources of the mirror that have none.
// What has left comes last: it may have handed its path on. So may what lies at the root although that is of
// another origin now, see closing.findPrimary: it comes after the others, and has no claim once it has left.
func (n *Naming) reserve(namer *phm.Namer) (fresh []uint32) {
	t := n.Table
	moved := n.moved()
	for _, of := range [...]struct{ inSet, moved bool }{{true, false}, {true, true}, {false, false}} {
		inSet := of.inSet
		for id, s := range t.All() {
			if (s.InSet() != inSet) || (moved.Has(id) != of.moved) {
				continue
			}
			if p := t.Path(id); p != "" {
				err := namer.Reserve(p)
				if err == nil {
					continue
				}
				t.Displace(id)
				if inSet {
					n.Log.Warn("mirror path is assigned again", "url", t.URL(id).String(), "err", err)
				}
			}
			if inSet {
				fresh = append(fresh, id)
			}
		}
	}
	return fresh
}

// moved returns what lies at the root of the tree and is not of the origin whose files lie there.
func (n *Naming) moved() (ids urls.IDSet) {
	var u []byte
	root := []byte(n.Layout.Primary + "/")
	for id, s := range n.Table.All() {
		if !s.Given() || !s.HasPath() {
			continue
		}
		if u = n.Table.AppendURL(u[:0], id); bytes.HasPrefix(u, root) {
			continue
		}
		if p := n.Table.Path(id); (p != "") && (p[0] != '@') {
			ids.Put(id, true)
		}
	}
	return ids
}

// A resource that shares a file with its twin (package render) gets a mirror path of its own, for good,
// once both were looked at in one run and have different bytes.

// twins knows which of the resources without a path may share the file of another one.
type twins struct {
	of  map[uint32]uint32 // the other URL
	rec map[uint32]twin   // of both

	apart []uint32 // see Names
	bare  []uint32
}

// twin is what decides whether two resources are one file.
type twin struct {
	body     twinBody
	shared   bool // it shared a file before this run
	imported bool // its body is the imported file, which both shared
}

// twinBody is what two resources of one file have in common.
type twinBody struct {
	digest        [32]byte
	mime, charset string
	source        string
}

// findTwins reads the records of those that have no path, and of their twins.
func (n *Naming) findTwins(fresh []uint32) (*twins, error) {
	w := &twins{of: map[uint32]uint32{}, rec: map[uint32]twin{}}
	for _, id := range fresh {
		if other, ok := render.TwinOf(n.Table, id); ok {
			w.of[id] = other
			w.rec[id], w.rec[other] = twin{}, twin{}
		}
	}
	return w, recorded(n, w.rec, func(rec *record.Resource, stored bool) {
		pathless := rec.InSet && rec.Path == ""
		w.rec[rec.ID] = twin{
			body:     twinBody{rec.Digest, rec.MIME, rec.Charset, rec.Source},
			shared:   (stored && pathless) || (!stored && w.rec[rec.ID].shared),
			imported: pathless && (rec.Fetched == 0),
		}
	})
}

// share decides whether a resource without a path shares the file of its twin, or takes over its path
// because the twin has left the mirror.
func (n *Naming) share(w *twins, id uint32) bool {
	other, ok := w.of[id]
	if !ok {
		return false
	}
	t := n.Table
	s, o := t.State(id), t.State(other)
	a, b := w.rec[id], w.rec[other]
	p := t.Path(other)
	looked := s.Answered() && o.Answered() && s.Outcome() != site.Failed && o.Outcome() != site.Failed
	switch {
	case p == "" || o.Shares():
		return false
	case !o.InSet():
		if !a.shared || n.Layout.Preferred(t.URL(id), t.MIME(id)) != p {
			return false
		}
		t.Displace(other)
		t.Place(id, p)
		w.apart, w.bare = append(w.apart, id), append(w.bare, other)
		return true
	case a.body == b.body:
	case (a.shared || a.imported || b.imported) && !looked:
		// One of the two was not requested, so that it is not known whether they differ.
	default:
		return false
	}
	t.Share(id, other)
	return true
}

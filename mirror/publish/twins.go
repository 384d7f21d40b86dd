// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"mirrord/mirror/render"
	"mirrord/site"
	"mirrord/store/record"
)

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
	if len(w.of) == 0 {
		return w, nil
	}
	take := func(rec *record.Resource, shared bool) {
		w.rec[rec.ID] = twin{
			body:     twinBody{rec.Digest, rec.MIME, rec.Charset, rec.Source},
			shared:   shared,
			imported: rec.InSet && (rec.Fetched == 0) && rec.Path == "",
		}
	}
	for id := range w.rec {
		rec, ok, err := n.Records.Get(n.Table.URL(id))
		if err != nil {
			return nil, err
		}
		if ok {
			take(&rec, rec.InSet && rec.Path == "")
		}
	}
	wanted := func(id uint32) bool {
		_, ok := w.rec[id]
		return ok
	}
	return w, n.Journal(wanted, func(rec *record.Resource) { take(rec, w.rec[rec.ID].shared) })
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

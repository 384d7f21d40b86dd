// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"strings"

	"mirrord/mirror/render"
	"mirrord/site"
	"mirrord/store"
)

// A resource that shares a file with its twin (package render) gets a mirror path of its own, for good, once both were looked at in one run
// and have different bytes.

// twins knows which of the resources without a path may share the file of another one.
type twins struct {
	of  map[uint32]uint32 // the other URL
	rec map[uint32]twin   // of both

	apart []uint32 // shared a file before this run and have a path now
	bare  []uint32 // whose path went to their twins
}

// twin is what decides whether two resources are one file.
type twin struct {
	digest        [32]byte
	mime, charset string
	source        string
	shared        bool // it shared a file before this run
}

// findTwins reads the records of those that have no path, and of their twins.
func (r *run) findTwins(fresh []uint32) (*twins, error) {
	t := r.table.Settled()
	w := &twins{of: map[uint32]uint32{}, rec: map[uint32]twin{}}
	for _, id := range fresh {
		if other, ok := render.TwinOf(t, id); ok {
			w.of[id] = other
			w.rec[id], w.rec[other] = twin{}, twin{}
		}
	}
	if len(w.of) == 0 {
		return w, nil
	}
	take := func(rec *store.Resource, shared bool) {
		w.rec[rec.ID] = twin{rec.Digest, rec.MIME, rec.Charset, rec.Source, shared}
	}
	for id := range w.rec {
		rec, ok, err := r.site.Records.Get(t.URL(id))
		if err != nil {
			return nil, err
		}
		if ok {
			take(&rec, rec.InSet && rec.Path == "")
		}
	}
	return w, r.site.Records.Replay(func(uint32, store.NewURL) error { return nil }, func(rec *store.Resource, _ []byte, _ bool) error {
		if was, ok := w.rec[rec.ID]; ok {
			take(rec, was.shared)
		}
		return nil
	})
}

// share decides whether a resource without a path shares the file of its twin, or takes over its path because the twin has left the mirror.
func (w *twins) share(r *run, id uint32) bool {
	other, ok := w.of[id]
	if !ok {
		return false
	}
	t := r.table.Settled()
	s, o := t.State(id), t.State(other)
	a, b := w.rec[id], w.rec[other]
	p := t.Path(other)
	looked := s.Answered() && o.Answered() && s.Outcome() != site.Failed && o.Outcome() != site.Failed
	switch {
	case p == "" || o.Shares():
		return false
	case !o.InSet():
		if !a.shared || r.layout.Preferred(t.URL(id), t.MIME(id)) != p {
			return false
		}
		p = strings.Clone(p)
		t.Displace(other)
		t.Place(id, p)
		w.apart, w.bare = append(w.apart, id), append(w.bare, other)
		return true
	case a.mime == b.mime && a.charset == b.charset && a.source == b.source && a.digest == b.digest:
	case a.shared && !looked:
		// One of the two was not looked at, so that nobody knows whether they differ.
	default:
		return false
	}
	t.Share(id, other)
	return true
}

// keepTwins writes the new paths of those that shared a file, also of those that this run did not look at.
func (r *run) keepTwins(w *twins) error {
	if len(w.apart) == 0 {
		return nil
	}
	err := r.amend(w.apart, func(rec *store.Resource) { rec.Path, rec.Moved = r.table.Settled().Path(rec.ID), r.version })
	if err == nil {
		err = r.amend(w.bare, func(rec *store.Resource) { rec.Path = "" })
	}
	if err != nil {
		return err
	}
	return r.site.Records.Fold(r.folding())
}

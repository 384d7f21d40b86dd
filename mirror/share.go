// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"mirrord/mirror/ledger"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// A directory and its index page are often two names of one thing: /a/ and /a/index.html, with the same bytes. Both want the mirror path
// a/index.html. The one that has it owns the file; the other one shares it: links to both lead there. A resource that shares a file is in the
// mirror as any other, with its own record and body, and has no mirror path. It gets one of its own, for good, once both were looked at in one run
// and have different bytes.

// indexTwin returns the other one of the two URLs that want the mirror path of a directory's index: "" when u is none of them.
func indexTwin(u site.URL, mime string) string {
	p := u.Path()
	if _, query := u.Query(); query {
		return ""
	}
	dir, name := path.Split(p)
	if (name != "") && !strings.HasPrefix(name, "index.") {
		return "" // the name that phm gives to an index begins so
	}
	s := u.String()
	d := site.Canonical(strings.TrimSuffix(s, p) + dir)
	if d.IsZero() {
		return ""
	}
	index := path.Base(phm.Layout{Primary: u.Origin()}.Preferred(d, mime))
	switch name {
	case "":
		return s + index
	case index:
		return d.String()
	}
	return ""
}

// twinOf returns the number of the other URL, when it is in the mirror too.
func twinOf(t ledger.Settled, id uint32) (uint32, bool) {
	twin := indexTwin(t.URL(id), t.MIME(id))
	if twin == "" {
		return 0, false
	}
	other, ok := t.Find([]byte(twin))
	return other, ok && other != id
}

// noteShared notes for each file the other URLs that share it: resources of the mirror that have no path of their own.
func (r *run) noteShared() {
	t := r.table.Settled()
	r.shared = map[uint32][]string{}
	for id, s := range t.All() {
		if !s.InSet() || s.HasPath() {
			continue
		}
		if owner, ok := twinOf(t, id); ok && t.Path(owner) != "" && t.State(owner).InSet() {
			t.Share(id, owner)
			r.shared[owner] = append(r.shared[owner], t.URL(id).String())
		}
	}
}

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
		if other, ok := twinOf(t, id); ok {
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
		rec, ok, err := r.site.Get(t.URL(id))
		if err != nil {
			return nil, err
		}
		if ok {
			take(&rec, rec.InSet && rec.Path == "")
		}
	}
	return w, r.site.Replay(func(uint32, store.NewURL) error { return nil }, func(rec *store.Resource, _ []byte, _ bool) error {
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
	return r.site.Fold(r.folding())
}

// declareShared writes into the line of a file which other URLs share it.
func (r *run) declareShared(f *phm.File, id uint32) error {
	urls := r.shared[id]
	if len(urls) == 0 {
		return nil
	}
	v, err := json.Marshal(urls)
	if err != nil {
		return err
	}
	declare(f, phm.AlsoField, v)
	return nil
}

// sharedAs reports whether the line of a file names the URLs that share it now.
func (r *run) sharedAs(f *phm.File, id uint32) bool { return slices.Equal(f.Also(), r.shared[id]) }

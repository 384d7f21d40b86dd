// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"mirrord/mirror/render"
	"mirrord/mirror/urls"
	"mirrord/phm"
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
	var sorted []uint32
	var wg sync.WaitGroup
	wg.Go(func() { sorted = urls.Sorted(slices.Clone(fresh), t.URL, phm.Compare) })
	w, err := n.findTwins(fresh)
	offered, errNames := n.offered(fresh)
	wg.Wait()
	if err := errors.Join(err, errNames); err != nil {
		return Names{}, err
	}
	for _, id := range sorted {
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
		if !phm.NeedsName(n.Table.MIME(id)) {
			continue
		}
		names[id] = ""
		rec, ok, err := n.Records.Get(n.Table.URL(id))
		if err != nil {
			return nil, err
		}
		if ok {
			names[id] = rec.Name
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	wanted := func(id uint32) bool {
		_, ok := names[id]
		return ok
	}
	return names, n.Journal(wanted, func(rec *record.Resource) { names[rec.ID] = rec.Name })
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

// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"slices"
)

// nothing never asks.
type nothing struct{}

func (nothing) act(*World) error { return nil }

// visit asks for the listing of every wanted directory that is known, and for the pages that the mirror has
// there.
func visit(w *World, want func(d Dir) bool) {
	w.Begin()
	known := make([]Dir, 0, w.h.Dirs())
	for d := range Dir(w.h.Dirs()) {
		if w.Known(d) && want(d) {
			known = append(known, d)
		}
	}
	for _, d := range known { // those found on the way are fetched by the listing that shows them
		visitDir(w, d)
	}
}

// visitDir asks for the listing of a directory, and for the pages that the mirror has there.
func visitDir(w *World, d Dir) {
	var pages []Page
	for _, p := range w.h.PagesIn(d) {
		if w.Holds(p) {
			pages = append(pages, p)
		}
	}
	if !w.h.Linked() {
		w.Listing(d)
	}
	for _, p := range pages {
		if w.Holds(p) { // else the listing said that it is gone
			w.Page(p)
			w.Named(p)
		}
	}
}

// never is the plainest skip of all: directories of which nothing directly in them changed in training are
// no longer requested. The root always is.
type never struct{ skip []bool }

func newNever(h *History, train int) never {
	n := never{make([]bool, h.Dirs())}
	w := NewWorld(h, 1)
	changed := make([]bool, h.Dirs())
	for range train - 1 {
		w.Step()
		for _, p := range w.Changed {
			changed[h.DirOf(p)] = true
		}
	}
	for d := range n.skip {
		n.skip[d] = Dir(d) != Root && seenBy(h, Dir(d), train) && !changed[d]
	}
	return n
}

// seenBy reports whether a directory existed in one of the first n versions.
func seenBy(h *History, d Dir, n int) bool { return h.dirs[d].born < n }

func (n never) act(w *World) error {
	visit(w, func(d Dir) bool { return !n.skip[d] })
	return nil
}

// fullSync makes the mirror equal to the site, at what a full sync costs.
type fullSync struct{}

func (fullSync) act(w *World) error {
	w.FullSync()
	return nil
}

// roundRobin requests the directories that it has longest not requested, each whole, until the budget is
// used.
type roundRobin struct {
	budget float64
	last   []int32 // by directory: the version at which it was requested
}

func newRoundRobin(w *World, o Options) *roundRobin {
	return &roundRobin{o.Budget, make([]int32, w.h.Dirs())}
}

func (r *roundRobin) act(w *World) error {
	var turns []Dir
	known := 0
	for d := range Dir(w.h.Dirs()) {
		if w.Known(d) {
			turns = append(turns, d)
			known++
		}
	}
	known += w.held
	slices.SortFunc(turns, func(a, b Dir) int {
		return cmp.Or(cmp.Compare(r.last[a], r.last[b]), cmp.Compare(w.h.DirPath(a), w.h.DirPath(b)))
	})
	now := int32(w.Now())
	for _, d := range turns {
		if float64(w.Requests()) >= r.budget*float64(known) {
			break
		}
		if w.Known(d) { // else a listing above has shown that it is gone
			visitDir(w, d)
		}
		r.last[d] = now
	}
	return nil
}

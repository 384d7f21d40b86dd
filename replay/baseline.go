// SPDX-License-Identifier: Apache-2.0

package replay

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
		w.Visit(d)
	}
}

// Visit asks for the listing of a directory, and for the pages that the mirror has there.
func (w *World) Visit(d Dir) {
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
		n.skip[d] = Dir(d) != Root && h.dirs[Dir(d)].born < train && !changed[d]
	}
	return n
}

func (n never) act(w *World) error {
	visit(w, func(d Dir) bool { return !n.skip[d] })
	return nil
}

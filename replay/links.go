// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"slices"

	"mirrord/evolution/policy"
)

// links say how the pages of a site without listings are found: a page that is new is found by a request for
// the page that was the first to name it. A history without links is of a site on which every directory has a
// listing.
type links struct {
	names [][]Page // by page: those that it was the first to name
	by    []Page   // by page: the one that was the first to name it; -1: none is known
	first []bool   // by page: every run requests it, regardless of the policy
}

// Linked says that the site has no listings of directories: its pages are found by links alone. by is the
// path of the page that was the first to name each path.
func (b *Builder) Linked(by map[string]string) {
	b.h.links = &links{}
	b.namedBy = by
}

// First says that every run requests these paths, regardless of the policy: entry points and sources. It
// counts for a site without listings.
func (b *Builder) First(paths ...string) { b.first = append(b.first, paths...) }

// link gives the links of a site without listings the numbers of its pages.
func (b *Builder) link() {
	l := b.h.links
	if l == nil {
		return
	}
	n := len(b.h.pages)
	l.names, l.by, l.first = make([][]Page, n), make([]Page, n), make([]bool, n)
	for p := range n {
		l.by[p] = -1
		if by, ok := b.pages[b.namedBy[b.h.pages[p].path]]; ok && by != Page(p) {
			l.by[p] = by
			l.names[by] = append(l.names[by], Page(p))
		}
	}
	for _, path := range b.first {
		if p, ok := b.pages[path]; ok {
			l.first[p] = true
		}
	}
}

// Linked reports whether the site has no listings: then no directory is requested, and none counts.
func (h *History) Linked() bool { return h.links != nil }

// Named follows what a page names: each page that is new costs a request, and what that one names is followed
// in the same way. What it returns is valid until the next call of Named, Listing or Begin.
func (w *World) Named(p Page) *ListingSeen {
	w.seen.reset()
	w.follow(p)
	return &w.seen
}

func (w *World) follow(p Page) {
	if w.h.links == nil || w.Site[p] == Gone {
		return
	}
	todo := []Page{p}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, named := range slices.Backward(w.h.links.names[p]) {
			if w.enter(named) {
				todo = append(todo, named)
			}
		}
	}
}

// enter requests a page when it is new.
func (w *World) enter(p Page) bool {
	if w.Site[p] == Gone || w.Mirror[p] != Gone {
		return false
	}
	w.Page(p)
	w.seen.Entered = append(w.seen.Entered, p)
	return true
}

// Begin finds what no page of the site names: a run learns of it by other means, at one request each. It
// returns as well the pages that every run requests.
func (w *World) Begin() (found *ListingSeen, first []Page) {
	w.seen.reset()
	l := w.h.links
	if l == nil {
		return &w.seen, nil
	}
	for _, c := range w.h.Versions[w.now].Changes {
		unnamed := l.by[c.Page] < 0 || w.Site[l.by[c.Page]] == Gone
		if unnamed && !l.first[c.Page] && w.enter(c.Page) {
			w.follow(c.Page)
		}
	}
	for p, is := range l.first {
		if is && (w.Site[p] != Gone || w.Mirror[p] != Gone) {
			first = append(first, Page(p))
		}
	}
	return &w.seen, first
}

func (s *ListingSeen) reset() {
	s.Entered, s.Left, s.Listings, s.NonEmpty = s.Entered[:0], s.Left[:0], s.Listings[:0], s.NonEmpty[:0]
}

// begin is the beginning of a run on a site without listings.
func (d *driver) begin(w *World, p policy.Plan, more *found) {
	s, first := w.Begin()
	d.entered(p, s, more)
	for _, page := range first {
		if u := d.page[page]; u != 0 {
			d.askPage(w, p, u-1, page, more)
		}
	}
}

// broughtBy takes note that a page entered, for the page that named it.
func (d *driver) broughtBy(p Page) {
	if !d.Linked() || d.links.by[p] < 0 {
		return
	}
	if u := d.page[d.links.by[p]]; u != 0 && d.m.Runs() > 0 {
		d.seen[u-1] |= linksNew
	}
}

// SPDX-License-Identifier: Apache-2.0

package replay

import "slices"

// World holds the true site and the mirror of it, at one version of a history. The mirror changes through
// requests only, and each costs 1. It keeps count of what the requests found, so that every measure of a step
// is had in O(1).
//
// The cost model is that of the paper's experiments made precise: a request for a page takes its state over;
// a request for the listing of a directory shows the names directly in it, takes deleted pages out of the
// mirror, and fetches new ones, one request each; a directory that was not known is listed at once in the
// same way. On a site without listings ([Builder.Linked]) only pages cost, and [World.Named] finds new ones.
type World struct {
	// What both are, and what was requested; for those who look on, who change nothing.
	Site, Mirror []Content // by page
	Asked        []int32   // the version at which a page was last requested
	Listed       []int32   // the version at which a directory was last listed
	Changed      []Page    // by the step that led here

	h   *History
	now int // the version

	size     []int64
	live     []int32 // files of the site below a directory, itself included
	liveDirs int     // directories with files below them, the root always
	files    int     // of the site
	held     int     // of the mirror
	both     int     // pages of both
	same     int     // pages of both with equal contents
	known    []bool  // directories whose listing was seen non-empty

	heldSize   []int64 // of what the mirror has
	wholeBytes int64   // of the pages of the site that come whole

	requests int
	fresh    int   // of them, those for what the mirror knew nothing of
	bytes    int64 // of the answers to them
	askedNow int   // pages of the site requested at this version

	seen ListingSeen
}

// NewWorld returns the world after n full syncs: site and mirror both are version n-1 of the history, and n
// is at least 1 and at most the number of versions.
func NewWorld(h *History, n int) *World {
	w := &World{
		h:        h,
		now:      -1,
		Site:     make([]Content, len(h.pages)),
		Mirror:   make([]Content, len(h.pages)),
		size:     make([]int64, len(h.pages)),
		heldSize: make([]int64, len(h.pages)),
		live:     make([]int32, len(h.dirs)),
		liveDirs: 1,
		known:    make([]bool, len(h.dirs)),
		Asked:    make([]int32, len(h.pages)),
		Listed:   make([]int32, len(h.dirs)),
	}
	for i := range w.Asked {
		w.Asked[i] = -1
	}
	for i := range w.Listed {
		w.Listed[i] = -1
	}
	for range n {
		w.Step()
	}
	w.FullSync()
	w.requests, w.bytes, w.askedNow = 0, 0, 0
	return w
}

// FullSync makes the mirror equal to the site. It costs one request for each file and each directory of the
// site.
func (w *World) FullSync() {
	copy(w.Mirror, w.Site)
	copy(w.heldSize, w.size)
	w.held, w.both, w.same = w.files, w.files, w.files
	for d := range w.known {
		w.known[d] = w.live[d] > 0
	}
	w.known[Root] = true
	w.requests += w.FullCost()
	w.bytes += w.fullBytes()
	w.askedNow = w.files
	for p := range w.Asked {
		w.Asked[p] = int32(w.now)
	}
	for d := range w.Listed {
		w.Listed[d] = int32(w.now)
	}
}

// Now is the version that the site has reached.
func (w *World) Now() int { return w.now }

// Step moves the site to the next version. The mirror stays as it is.
func (w *World) Step() bool {
	if w.now+1 >= len(w.h.Versions) {
		return false
	}
	w.now++
	w.requests, w.fresh, w.bytes, w.askedNow = 0, 0, 0, 0
	w.Changed = w.Changed[:0]
	for _, c := range w.h.Versions[w.now].Changes {
		w.Changed = append(w.Changed, c.Page)
		had := w.Site[c.Page]
		switch {
		case had == Gone:
			w.files++
			for d := w.h.pages[c.Page].dir; d >= 0; d = w.h.dirs[d].parent {
				if w.live[d]++; w.live[d] == 1 && d != Root {
					w.liveDirs++
				}
			}
		case c.Content == Gone:
			w.files--
			for d := w.h.pages[c.Page].dir; d >= 0; d = w.h.dirs[d].parent {
				if w.live[d]--; w.live[d] == 0 && d != Root {
					w.liveDirs--
				}
			}
		}
		w.count(c.Page, -1)
		w.wholeBytes -= w.wholeSize(c.Page)
		w.Site[c.Page], w.size[c.Page] = c.Content, c.Size
		w.wholeBytes += w.wholeSize(c.Page)
		w.count(c.Page, 1)
	}
	return true
}

// count takes a page into the counts of the mirror, and out of them before it changes.
func (w *World) count(p Page, by int) {
	is, had := w.Site[p], w.Mirror[p]
	if had == Gone {
		return
	}
	w.held += by
	if is != Gone {
		w.both += by
	}
	if is == had {
		w.same += by
	}
}

// Outcome is what a request for a page found, held against the mirror.
type Outcome uint8

// What a request can find.
const (
	Unchanged Outcome = iota // as the mirror has it
	Changed                  // other content
	Entered                  // not in the mirror before
	Left                     // gone from the site, and now from the mirror
	Absent                   // neither in the mirror nor on the site
)

// Page asks for a page: the mirror takes its state over.
func (w *World) Page(p Page) Outcome {
	w.requests++
	w.bytes += w.answer(p)
	if w.Asked[p] != int32(w.now) {
		w.Asked[p] = int32(w.now)
		if w.Site[p] != Gone {
			w.askedNow++
		}
	}
	return w.take(p)
}

func (w *World) take(p Page) Outcome {
	is, had := w.Site[p], w.Mirror[p]
	if is == had {
		if is == Gone {
			return Absent
		}
		return Unchanged
	}
	w.count(p, -1)
	w.Mirror[p], w.heldSize[p] = is, w.size[p]
	w.count(p, 1)
	if w.h.links != nil && is != Gone {
		w.known[w.h.pages[p].dir] = true
	}
	switch {
	case is == Gone:
		return Left
	case had == Gone:
		w.fresh++
		return Entered
	}
	return Changed
}

// ListingSeen is what the request for a listing showed, including the listings that it caused.
type ListingSeen struct {
	Entered  []Page // fetched; in the order in which they were found
	Left     []Page
	Listings []Dir // all that were requested, the first one included
	NonEmpty []bool
}

// Listing asks for the names directly in a directory. Pages that are gone leave the mirror; each that is new
// costs a request and enters it; a subdirectory that was not known is listed at once in the same way. What it
// returns is valid until the next call.
func (w *World) Listing(d Dir) *ListingSeen {
	w.seen.reset()
	todo := []Dir{d}
	for len(todo) > 0 {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		w.requests++
		w.bytes += w.listingBytes(d)
		w.Listed[d] = int32(w.now)
		for _, p := range w.h.dirs[d].pages {
			switch is, had := w.Site[p], w.Mirror[p]; {
			case is == Gone && had != Gone:
				w.take(p)
				w.seen.Left = append(w.seen.Left, p)
			case is != Gone && had == Gone:
				w.Page(p)
				w.seen.Entered = append(w.seen.Entered, p)
			}
		}
		w.known[d] = w.live[d] > 0 || d == Root
		w.seen.Listings, w.seen.NonEmpty = append(w.seen.Listings, d), append(w.seen.NonEmpty, w.live[d] > 0)
		for _, sub := range slices.Backward(w.h.dirs[d].subs) {
			if w.live[sub] > 0 && !w.known[sub] {
				w.fresh++
				todo = append(todo, sub)
			}
		}
	}
	return &w.seen
}

// Known reports whether a directory's listing was last seen non-empty; the root is always known.
func (w *World) Known(d Dir) bool { return w.known[d] }

// Holds reports whether the mirror has a page.
func (w *World) Holds(p Page) bool { return w.Mirror[p] != Gone }

// Size is the size of a page as the site has it, in bytes; -1 when not known.
func (w *World) Size(p Page) int64 { return w.size[p] }

// FullCost is what a full sync of the site would cost now: its files, and where there are listings its
// directories, the root included.
func (w *World) FullCost() int {
	if w.h.links != nil {
		return w.files
	}
	return w.files + w.liveDirs
}

// Requests is what was requested at this version.
func (w *World) Requests() int { return w.requests }

// Fresh is how much of it was for pages and listings that the mirror had not: no plan decides about them.
func (w *World) Fresh() int { return w.fresh }

// Measure is what one step of a replay came to.
type Measure struct {
	Files    int // of the site
	Requests int // made at this version
	Full     int // what a full sync would have requested

	Bytes     int64 // of the answers at this version
	FullBytes int64 // of those to a full sync that was preceded by one at the version before

	Changes int // pages inserted, deleted and updated by the step to this version
	Found   int // of them, how many are now in the mirror as the site has them

	Asked int // files of the site that were requested, so 1-Asked/Files is BR
	Held  int // files of the mirror
	Same  int // files of the mirror that are as the site has them
	Stale int // pages that differ
	Union int // pages of mirror or site
}

// Measure counts what the mirror is worth at this version.
func (w *World) Measure() Measure {
	union := w.files + w.held - w.both
	m := Measure{
		Files:    w.files,
		Requests: w.requests,
		Full:     w.FullCost(),
		Bytes:    w.bytes,
		Changes:  len(w.Changed),
		Asked:    w.askedNow,
		Held:     w.held,
		Same:     w.same,
		Stale:    union - w.same,
		Union:    union,
	}
	m.FullBytes = w.fullBytes()
	for _, p := range w.Changed {
		if w.Site[p] == w.Mirror[p] {
			m.Found++
		}
	}
	return m
}

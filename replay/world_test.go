// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// checkWorld holds every count of a world against a slow count over all pages.
func checkWorld(t *testing.T, w *World) {
	t.Helper()
	var files, held, same, stale, union int
	live := map[Dir]bool{Root: true}
	for p := range w.Site {
		is, had := w.Site[p], w.Mirror[p]
		if is != Gone {
			files++
			for d := w.h.DirOf(Page(p)); d >= 0; d = w.h.Parent(d) {
				live[d] = true
			}
		}
		if had != Gone {
			held++
		}
		if is != Gone || had != Gone {
			union++
			if is == had {
				same++
			} else {
				stale++
			}
		}
	}
	m := w.Measure()
	if m.Files != files || m.Files != w.h.Versions[w.now].Files || m.Held != held || m.Same != same ||
		m.Stale != stale || m.Union != union || m.Full != files+len(live) {
		t.Fatalf("version %d: %+v; counted: files %d (recorded %d), held %d, same %d, stale %d of %d, full sync %d",
			w.now, m, files, w.h.Versions[w.now].Files, held, same, stale, union, files+len(live))
	}
}

func (h *History) find(t *testing.T, name string) Page {
	t.Helper()
	for p := range Page(h.Pages()) {
		if h.Path(p) == name {
			return p
		}
	}
	t.Fatalf("no page %s", name)
	return 0
}

func (h *History) findDir(t *testing.T, name string) Dir {
	t.Helper()
	for d := range Dir(h.Dirs()) {
		if h.DirPath(d) == name {
			return d
		}
	}
	t.Fatalf("no directory %s", name)
	return 0
}

func TestWorldPage(t *testing.T) {
	h := smallHistory(t)
	w := NewWorld(h, 1)
	w.Step() // index.html and news/index.html changed, news/second.html is new
	body := func(name string) int64 { return w.body(h.find(t, name)) }
	full := 15*answerHead + 14*entryBytes + body("index.html") + body("news/index.html") +
		body("news/second.html")
	if m := w.Measure(); m != (Measure{
		Files:     10,
		Full:      15,
		FullBytes: full,
		Changes:   3,
		Held:      9,
		Same:      7,
		Stale:     3,
		Union:     10,
	}) {
		t.Fatalf("before any request: %+v", m)
	}
	for _, c := range []struct {
		page string
		want Outcome
	}{
		{"index.html", Changed}, {"index.html", Unchanged}, {"about.html", Unchanged},
		{"news/second.html", Entered}, {"news/third.html", Absent},
	} {
		if got := w.Page(h.find(t, c.page)); got != c.want {
			t.Errorf("%s: %v, want %v", c.page, got, c.want)
		}
	}
	if m := w.Measure(); m != (Measure{
		Files:     10,
		Requests:  5,
		Full:      15,
		Bytes:     5*answerHead + body("index.html") + body("news/second.html"),
		FullBytes: full,
		Changes:   3,
		Found:     2,
		Asked:     3,
		Held:      10,
		Same:      9,
		Stale:     1,
		Union:     10,
	}) {
		t.Errorf("after the requests: %+v", m)
	}
	for range 4 {
		w.Step()
	}
	if got := w.Page(h.find(t, "docs/1.0/api.html")); got != Left {
		t.Errorf("a page that is gone: %v", got)
	}
	checkWorld(t, w)
	if w.Holds(h.find(t, "docs/1.0/api.html")) {
		t.Error("the mirror keeps a page that is gone")
	}
}

func TestWorldListing(t *testing.T) {
	h := smallHistory(t)
	w := NewWorld(h, 4)
	w.Step() // docs/3.0 is new, with two pages
	docs, three := h.findDir(t, "docs"), h.findDir(t, "docs/3.0")
	if w.Known(three) {
		t.Fatal("a directory is known before anything showed it")
	}
	s := w.Listing(docs)
	if !slices.Equal(s.Listings, []Dir{docs, three}) || len(s.Entered) != 2 || len(s.Left) != 0 {
		t.Errorf("the listing of docs: %+v", s)
	}
	if m := w.Measure(); m.Requests != 4 || m.Asked != 2 || m.Found != 2 || !w.Known(three) {
		t.Errorf("after it: %+v", m)
	}
	// A directory that is known is not listed again for its parent's listing.
	if s := w.Listing(docs); len(s.Listings) != 1 || len(s.Entered) != 0 {
		t.Errorf("the second listing: %+v", s)
	}
	w.Step()
	w.Step() // docs/1.0 is gone; docs/3.0/api.html became a directory
	one := h.findDir(t, "docs/1.0")
	if s := w.Listing(docs); len(s.Left) != 0 {
		t.Errorf("the parent's listing took %v out", s.Left)
	}
	if s := w.Listing(one); len(s.Left) != 2 || s.NonEmpty[0] || w.Known(one) {
		t.Errorf("the listing of a directory that is gone: %+v", s)
	}
	if s := w.Listing(three); len(s.Listings) != 2 || len(s.Entered) != 1 || len(s.Left) != 1 {
		t.Errorf("a file became a directory: %+v", s)
	}
	checkWorld(t, w)
}

func TestWorldCounts(t *testing.T) {
	h := smallHistory(t)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := NewWorld(h, 1+rng.IntN(len(h.Versions)))
		for more := true; more; more = w.Step() {
			for range rng.IntN(6) {
				if rng.IntN(3) == 0 {
					w.Listing(Dir(rng.IntN(h.Dirs())))
				} else {
					w.Page(Page(rng.IntN(h.Pages())))
				}
				checkWorld(t, w)
			}
		}
	}
}

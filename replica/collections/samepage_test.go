// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"slices"
	"strings"
	"testing"

	"mirrord/replica/text"
	"mirrord/replica/unionfind"
)

// found is what a Finder finds of pages, to judge by it which of them are one document: how well that goes
// measures digests, groups and pairs.
type found struct {
	pages   []Address
	digests []text.ContentDigest
	sets    *unionfind.Sets
	pairs   []DirPair
	related map[Address][]Address // directories that a directory is paired with
	known   map[Address]struct{}  // all pages, once they are requested
	texts   map[hostText]struct{} // and what they say
	least   int                   // equal bytes of two sketches that are alike
	renamed int                   // …, of pages with other names in directories that hold the same
	alike   int                   // …, wherever they lie
}

// findAll is what a Finder finds by default.
func findAll(t testing.TB, pages []Address, digests []text.ContentDigest) *found {
	t.Helper()
	finder := NewFinder(&memorySpill{}, FinderOptions{})
	for i := range pages {
		if err := finder.Add(pages[i], digests[i]); err != nil {
			t.Fatal(err)
		}
	}
	g, all, err := finder.Find()
	if err != nil {
		t.Fatal(err)
	}
	if err := finder.Close(); err != nil {
		t.Error(err)
	}
	f := &found{
		pages:   pages,
		digests: digests,
		sets:    g.Sets,
		pairs:   all.Copies,
		related: map[Address][]Address{},
	}
	f.least, f.renamed, f.alike = text.LeastEqual(Votes{}.withDefaults().Resemblance), text.LeastEqual(0.85),
		text.LeastEqual(0.9)
	for _, p := range all.Copies {
		f.related[p.A] = append(f.related[p.A], p.B)
		f.related[p.B] = append(f.related[p.B], p.A)
	}
	return f
}

// same says whether two pages are the same document. They are when they have the same words. Of others it
// depends on where they lie. In directories that hold the same they must have the same place, and be alike,
// or one of them must hold most of what the other says. Where neither has a counterpart in its place, files
// have other names there: they must be much alike. Elsewhere they must be very much alike, and on one host,
// or where one of them has a counterpart, of one name. A page with the same words as some page of the
// other's host is only that one's, though made of one template with the other.
func (f *found) same(p, q uint32) bool {
	a, b := &f.digests[p], &f.digests[q]
	if a.Words == 0 || b.Words == 0 {
		return false
	}
	if a.Text == b.Text {
		return true
	}
	n := a.Sketch.Equal(&b.Sketch)
	if n < leastInside {
		return false
	}
	at, there := f.pages[p], f.pages[q]
	place := f.places(at, there)
	switch {
	case place == samePlace:
		return n >= f.least || containment(a, b) >= inside
	case n < f.renamed || (n < f.alike && place != renamedPlace):
		return false
	case (place == otherPlace || at.Host == there.Host) && !sameEnds(at.Path, there.Path):
		return false
	}
	return !f.has(there.Host, a.Text) && !f.has(at.Host, b.Text)
}

// A page is in another one when the sketches have as many equal bytes and this share of its shingles is in
// the other.
const (
	leastInside = text.Bins / 5
	inside      = 0.8
)

// containment estimates the share of the shorter page's shingles that the other has (Broder, 1997), from
// their sketches and their numbers of words.
func containment(a, b *text.ContentDigest) float64 {
	r := a.Sketch.Resemblance(&b.Sketch)
	return r / (1 + r) * (1 + float64(max(a.Words, b.Words))/float64(min(a.Words, b.Words)))
}

// placing is where two pages lie, as to directories that hold the same.
type placing uint8

const (
	noPlace      placing = iota // not in such directories
	samePlace                   // their paths below these are the same
	otherPlace                  // one of them has a counterpart there
	renamedPlace                // none has
)

func (f *found) places(a, b Address) placing {
	out := noPlace
	for dir := dirOf(a.Path); ; dir = dirOf(dir[:len(dir)-1]) {
		for _, other := range f.related[Address{a.Host, dir}] {
			there, ok := strings.CutPrefix(b.Path, other.Path)
			if !ok || other.Host != b.Host {
				continue
			}
			here := a.Path[len(dir):]
			switch {
			case sameRelative(here, there):
				return samePlace
			case f.lies(Address{other.Host, other.Path + here}) || f.lies(Address{a.Host, dir + there}):
				out = otherPlace
			case out == noPlace:
				out = renamedPlace
			}
		}
		if len(dir) <= 1 {
			return out
		}
	}
}

// lies says whether there is a page.
func (f *found) lies(a Address) bool {
	f.index()
	_, ok := f.known[a]
	return ok
}

// has says whether some page of a host has the words of that fingerprint.
func (f *found) has(host string, text uint64) bool {
	f.index()
	_, ok := f.texts[hostText{host, text}]
	return ok
}

type hostText struct {
	host string
	text uint64
}

func (f *found) index() {
	if f.known != nil {
		return
	}
	f.known, f.texts = make(map[Address]struct{}, len(f.pages)), make(map[hostText]struct{}, len(f.pages))
	for i, a := range f.pages {
		f.known[a], f.texts[hostText{a.Host, f.digests[i].Text}] = struct{}{}, struct{}{}
	}
}

// elsewhere lists where a page should lie in the directories that hold the same as one above it, nearest
// directory first. Whether it does lie there is not said.
func (f *found) elsewhere(a Address) []Address {
	var out []Address
	for dir := dirOf(a.Path); ; dir = dirOf(dir[:len(dir)-1]) {
		for _, other := range f.related[Address{a.Host, dir}] {
			if there := (Address{other.Host, other.Path + a.Path[len(dir):]}); !slices.Contains(out, there) {
				out = append(out, there)
			}
		}
		if len(dir) <= 1 {
			return out
		}
	}
}

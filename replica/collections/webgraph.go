// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"slices"
	"strings"

	"mirrord/replica/unionfind"
)

// Address is where a page lies.
type Address struct{ Host, Path string }

// LinkGraph is a set of pages, by number, and which pages each links to.
type LinkGraph struct {
	Pages []Address
	Links [][]uint32 // of each page: in ascending order, each once, none to itself
}

// Edges returns the trivial clusters that link into one another, by their smallest pages: from, to. With
// smaller, also those of which the second has fewer pages.
func (w LinkGraph) Edges(sets *unionfind.Sets, smaller bool) [][2]uint32 {
	size := make([]uint32, sets.Len())
	for i := range size {
		size[sets.Find(uint32(i))]++
	}
	var out [][2]uint32
	for _, e := range clusterEdges(w, sets, size, smaller) {
		out = append(out, [2]uint32{e.from, e.to})
	}
	return out
}

// edge says that every page of the trivial cluster from links into to.
type edge struct {
	from, to uint32 // the smallest pages of the trivial clusters
	links    [][2]uint32
	equal    bool // the clusters are of one size: else to is smaller
}

// clusterEdges finds the edges between trivial clusters (Cho, Shivakumar, Garcia-Molina, sections 3 and 4.2):
// |Ri| = s >= d = |Rj|, where s is the number of pages of Ri that link into Rj and d that of pages of Rj that
// Ri links to. Without smaller, only those of equal sizes.
func clusterEdges(w LinkGraph, sets *unionfind.Sets, size []uint32, smaller bool) []edge {
	type link struct{ ri, rj, p, q uint32 }
	var all []link
	for p, out := range w.Links {
		ri := sets.Find(uint32(p))
		for _, q := range out {
			if rj := sets.Find(q); rj != ri && (size[rj] == size[ri] || (smaller && size[rj] < size[ri])) {
				all = append(all, link{ri, rj, uint32(p), q})
			}
		}
	}
	slices.SortFunc(all, func(a, b link) int {
		return cmp.Or(cmp.Compare(a.ri, b.ri), cmp.Compare(a.rj, b.rj), cmp.Compare(a.p, b.p),
			cmp.Compare(a.q, b.q))
	})
	var out []edge
	targets := map[uint32]bool{}
	for from := 0; from < len(all); {
		to, sources := from, uint32(0)
		clear(targets)
		for ; to < len(all) && all[to].ri == all[from].ri && all[to].rj == all[from].rj; to++ {
			if to == from || all[to].p != all[to-1].p {
				sources++
			}
			targets[all[to].q] = true
		}
		ri, rj := all[from].ri, all[from].rj
		if sources == size[ri] && uint32(len(targets)) == size[rj] {
			e := edge{from: ri, to: rj, equal: size[ri] == size[rj]}
			for _, l := range all[from:to] {
				e.links = append(e.links, [2]uint32{l.p, l.q})
			}
			out = append(out, e)
		}
		from = to
	}
	return out
}

// prefer orders pages that page p links to: the same host first, then the longest common directory, then the
// smallest number.
func (w LinkGraph) prefer(p uint32) func(a, b uint32) int {
	home := w.Pages[p]
	return func(a, b uint32) int {
		if c := cmp.Compare(w.near(home, b), w.near(home, a)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	}
}

// near is how near a page lies: 0 on another host by their common directories, more on the same host.
func (w LinkGraph) near(home Address, q uint32) int {
	n := commonDirs(home.Path, w.Pages[q].Path)
	if home.Host == w.Pages[q].Host {
		n += 1 << 20
	}
	return n
}

// commonDirs counts the directories that two paths have in common from the top.
func commonDirs(a, b string) int {
	n := 0
	for {
		i, j := strings.IndexByte(a, '/'), strings.IndexByte(b, '/')
		if i < 0 || j < 0 || a[:i] != b[:j] {
			return n
		}
		a, b = a[i+1:], b[j+1:]
		n++
	}
}

// choices groups links by their first page, each one's targets in order of preference. reverse takes them by
// their second.
func (w LinkGraph) choices(links [][2]uint32, reverse bool) map[uint32][]uint32 {
	out := map[uint32][]uint32{}
	for _, l := range links {
		if reverse {
			l[0], l[1] = l[1], l[0]
		}
		out[l[0]] = append(out[l[0]], l[1])
	}
	for p, qs := range out {
		slices.SortFunc(qs, w.prefer(p))
	}
	return out
}

// matching gives each page of an edge between equal clusters a partner of its own among those it links to
// (Kuhn's algorithm); nil when there is no perfect matching, which the condition on s and d does not rule
// out.
func (w LinkGraph) matching(e edge) map[uint32]uint32 {
	choices := w.choices(e.links, false)
	pages := make([]uint32, 0, len(choices))
	for p := range choices {
		pages = append(pages, p)
	}
	slices.Sort(pages)
	taken := map[uint32]uint32{}
	var seen map[uint32]bool
	var try func(p uint32) bool
	try = func(p uint32) bool {
		for _, q := range choices[p] {
			if seen[q] {
				continue
			}
			seen[q] = true
			if other, ok := taken[q]; !ok || try(other) {
				taken[q] = p
				return true
			}
		}
		return false
	}
	for _, p := range pages {
		seen = map[uint32]bool{}
		if !try(p) {
			return nil
		}
	}
	out := make(map[uint32]uint32, len(taken))
	for q, p := range taken {
		out[p] = q
	}
	return out
}

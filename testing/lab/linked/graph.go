// SPDX-License-Identifier: Apache-2.0

// Package linked finds collections of pages that lie in several places along links, in memory: the method of
// Cho, Shivakumar and Garcia-Molina, Finding replicated web collections (SIGMOD 2000).
package linked

import (
	"cmp"
	"slices"
	"strings"

	"mirrord/replica/collections"
	"mirrord/replica/unionfind"
)

// Graph is a set of pages, by number, and which pages each links to.
type Graph struct {
	Pages []collections.Address
	Links [][]uint32 // of each page: in ascending order, each once, none to itself
}

// Edges returns the trivial clusters that link into one another, by their smallest pages: from, to. With
// smaller, also those of which the second has fewer pages.
func (w Graph) Edges(sets *unionfind.Sets, smaller bool) [][2]uint32 {
	size := make([]uint32, sets.Len())
	for i := range size {
		size[sets.Find(uint32(i))]++
	}
	var out [][2]uint32
	for _, e := range w.edges(sets, size, smaller) {
		out = append(out, [2]uint32{e.from, e.to})
	}
	return out
}

// edge says that every page of the trivial cluster from links into to.
type edge struct {
	from, to uint32      // the smallest pages of the trivial clusters
	equal    bool        // the clusters are of one size: else to is smaller
	links    [][2]uint32 // of which it is made
}

// edges finds the edges between trivial clusters (Cho, Shivakumar, Garcia-Molina, sections 3 and 4.2), in
// ascending order: |Ri| = s >= d = |Rj|, where s is the number of pages of Ri that link into Rj and d that of
// pages of Rj that Ri links to. Without smaller, only those of equal sizes.
func (w Graph) edges(sets *unionfind.Sets, size []uint32, smaller bool) []edge {
	links := map[[2]uint32][][2]uint32{} // by their trivial clusters
	for p, out := range w.Links {
		ri := sets.Find(uint32(p))
		for _, q := range out {
			rj := sets.Find(q)
			if rj == ri || (size[rj] != size[ri] && (!smaller || size[rj] > size[ri])) {
				continue
			}
			links[[2]uint32{ri, rj}] = append(links[[2]uint32{ri, rj}], [2]uint32{uint32(p), q})
		}
	}
	var out []edge
	for at, links := range links {
		sources, targets := map[uint32]bool{}, map[uint32]bool{}
		for _, l := range links {
			sources[l[0]], targets[l[1]] = true, true
		}
		if len(sources) == int(size[at[0]]) && len(targets) == int(size[at[1]]) {
			out = append(out, edge{
				from:  at[0],
				to:    at[1],
				equal: size[at[0]] == size[at[1]],
				links: links,
			})
		}
	}
	slices.SortFunc(out, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	return out
}

// prefer orders pages that page p links to: the same host first, then the longest common directory, then the
// smallest number.
func (w Graph) prefer(p uint32) func(a, b uint32) int {
	home := w.Pages[p]
	return func(a, b uint32) int {
		if c := cmp.Compare(w.nearness(home, b), w.nearness(home, a)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	}
}

// nearness is how near a page lies: 0 on another host by their common directories, more on the same host.
func (w Graph) nearness(home collections.Address, q uint32) int {
	to := w.Pages[q]
	n := commonDirs(home.Path, to.Path)
	if home.Host == to.Host {
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

// choices groups links by their first page, each one's targets in order of preference.
func (w Graph) choices(links [][2]uint32) map[uint32][]uint32 {
	out := map[uint32][]uint32{}
	for _, l := range links {
		out[l[0]] = append(out[l[0]], l[1])
	}
	for p, qs := range out {
		if len(qs) > 1 {
			slices.SortFunc(qs, w.prefer(p))
		}
	}
	return out
}

// matching gives each page of an edge between equal clusters a partner of its own among those it links to
// (Kuhn's algorithm); nil when there is no perfect matching, which the condition on s and d does not rule
// out.
func (w Graph) matching(links [][2]uint32) map[uint32]uint32 {
	choices := w.choices(links)
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

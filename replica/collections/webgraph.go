// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bufio"
	"cmp"
	"errors"
	"math"
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

// linkedPages is a web of pages: a LinkGraph, or one in files.
type linkedPages interface {
	at(page uint32) Address
	// each calls f with the pages that have links, in ascending order. What f gets is its own only until it
	// returns.
	each(f func(p uint32, out []uint32) error) error
	problem() error // of the files
}

func (w LinkGraph) at(page uint32) Address { return w.Pages[page] }

func (w LinkGraph) each(f func(p uint32, out []uint32) error) error {
	for p, out := range w.Links {
		if err := f(uint32(p), out); err != nil {
			return err
		}
	}
	return nil
}

func (w LinkGraph) problem() error { return nil }

// Edges returns the trivial clusters that link into one another, by their smallest pages: from, to. With
// smaller, also those of which the second has fewer pages.
func (w LinkGraph) Edges(sets *unionfind.Sets, smaller bool) [][2]uint32 {
	size := make([]uint32, sets.Len())
	for i := range size {
		size[sets.Find(uint32(i))]++
	}
	var out [][2]uint32
	err := clusterEdges(w, sets, size, smaller, inMemory(), func(e edge, _ [][2]uint32) error {
		out = append(out, [2]uint32{e.from, e.to})
		return nil
	})
	if err != nil {
		panic("replica/collections: links in memory: " + err.Error())
	}
	return out
}

// edge says that every page of the trivial cluster from links into to.
type edge struct {
	from, to uint32 // the smallest pages of the trivial clusters
	n        uint32 // links of which it is made
	equal    bool   // the clusters are of one size: else to is smaller
	links    int64  // where these are kept
}

// linkRoom is what may be held in memory of links, and where the rest goes.
type linkRoom struct {
	spill  Spill
	memory int
	tick   func(n int) error
}

// inMemory is the room of a web that is wholly in memory.
func inMemory() linkRoom {
	return linkRoom{memory: math.MaxInt, tick: func(int) error { return nil }}
}

// clusterLink is a link from a page of one trivial cluster to one of another.
type clusterLink struct{ ri, rj, p, q uint32 }

func (l clusterLink) compare(m clusterLink) int {
	return cmp.Or(cmp.Compare(l.ri, m.ri), cmp.Compare(l.rj, m.rj), cmp.Compare(l.p, m.p), cmp.Compare(l.q, m.q))
}

func clusterLinkOrder() order[clusterLink] {
	return order[clusterLink]{
		key:     func(l clusterLink) uint64 { return uint64(l.ri)<<32 | uint64(l.rj) },
		compare: clusterLink.compare,
		size:    func(clusterLink) int { return 2 * tripleSize },
		write: func(b []byte, l clusterLink) []byte {
			return appendTriple(b, uint64(l.ri)<<32|uint64(l.rj), l.p, l.q)
		},
		read: func(r *bufio.Reader) (clusterLink, error) {
			key, p, q, err := takeTriple(r)
			return clusterLink{uint32(key >> 32), uint32(key), p, q}, err
		},
	}
}

// clusterEdges finds the edges between trivial clusters (Cho, Shivakumar, Garcia-Molina, sections 3 and 4.2),
// in ascending order: |Ri| = s >= d = |Rj|, where s is the number of pages of Ri that link into Rj and d that
// of pages of Rj that Ri links to. Without smaller, only those of equal sizes. The links of which an edge is
// made are f's own only until it returns.
func clusterEdges(
	w linkedPages, sets *unionfind.Sets, size []uint32, smaller bool, room linkRoom,
	f func(e edge, links [][2]uint32) error,
) (err error) {
	all := sorter[clusterLink]{
		order: clusterLinkOrder(),
		spill: room.spill,
		limit: room.memory,
		tick:  room.tick,
	}
	defer func() { err = errors.Join(err, all.close()) }()
	err = w.each(func(p uint32, out []uint32) error {
		ri := sets.Find(p)
		for _, q := range out {
			rj := sets.Find(q)
			if rj == ri || (size[rj] != size[ri] && (!smaller || size[rj] > size[ri])) {
				continue
			}
			if err := all.add(clusterLink{ri, rj, p, q}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var e edge
	var links [][2]uint32
	targets := map[uint32]bool{}
	end := func() error {
		sources := uint32(0)
		clear(targets)
		for i, l := range links {
			if i == 0 || l[0] != links[i-1][0] {
				sources++
			}
			targets[l[1]] = true
		}
		if len(links) == 0 || sources != size[e.from] || uint32(len(targets)) != size[e.to] {
			return nil
		}
		e.equal, e.n = size[e.from] == size[e.to], uint32(len(links))
		return f(e, links)
	}
	for l, err := range all.all() {
		if err != nil {
			return err
		}
		if l.ri != e.from || l.rj != e.to {
			if err := end(); err != nil {
				return err
			}
			e, links = edge{from: l.ri, to: l.rj}, links[:0]
		}
		links = append(links, [2]uint32{l.p, l.q})
	}
	return end()
}

// prefer orders pages that page p links to: the same host first, then the longest common directory, then the
// smallest number.
func prefer(w linkedPages, p uint32) func(a, b uint32) int {
	home := w.at(p)
	return func(a, b uint32) int {
		if c := cmp.Compare(nearness(w, home, b), nearness(w, home, a)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	}
}

// nearness is how near a page lies: 0 on another host by their common directories, more on the same host.
func nearness(w linkedPages, home Address, q uint32) int {
	to := w.at(q)
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
func choices(w linkedPages, links [][2]uint32) map[uint32][]uint32 {
	out := map[uint32][]uint32{}
	for _, l := range links {
		out[l[0]] = append(out[l[0]], l[1])
	}
	for p, qs := range out {
		if len(qs) > 1 {
			slices.SortFunc(qs, prefer(w, p))
		}
	}
	return out
}

// matching gives each page of an edge between equal clusters a partner of its own among those it links to
// (Kuhn's algorithm); nil when there is no perfect matching, which the condition on s and d does not rule
// out.
func matching(w linkedPages, links [][2]uint32) map[uint32]uint32 {
	choices := choices(w, links)
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

// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"slices"
	"strings"

	"mirrord/replica/unionfind"
)

// Chain says whether a page that is there once extends a cluster beyond itself.
type Chain uint8

const (
	ChainNone   Chain = iota // what it links to is not taken
	ChainPrefix              // what it links to is taken below the collection's own directory
	ChainAll                 // everything it leads to is taken: the paper's letter
)

// Growing says how similar clusters are grown from trivial ones.
type Growing struct {
	Extended        bool  // partial mirrors too: pages of a smaller trivial cluster are shared by collections
	Chain           Chain // with Extended
	SkipBoilerplate bool  // trivial clusters that repeat within one directory extend no cluster
}

// Collection is one copy: the pages that are its own, and those of other copies that it links to in their
// place.
type Collection struct {
	Own, Virtual []uint32 // in ascending order
}

// Cluster is a similar cluster: collections that are copies of one another.
type Cluster struct {
	Root        uint32   // the trivial cluster it was grown from
	Rids        []uint32 // the trivial clusters it consists of, in ascending order
	Collections []Collection
	Foreign     int // links from other hosts to the pages of the root
}

// Grow grows similar clusters along the links between trivial clusters (Cho, Shivakumar, Garcia-Molina,
// figure 8). All clusters of at least two collections are returned, also those of one page each, by root.
func Grow(w LinkGraph, sets *unionfind.Sets, o Growing) []Cluster {
	g := grower{
		w:         w,
		o:         o,
		sets:      sets,
		size:      make([]uint32, sets.Len()),
		forward:   map[uint32][]int{},
		backward:  map[uint32][]int{},
		joined:    map[uint32]bool{},
		matchings: map[int]map[uint32]uint32{},
		members:   map[uint32][]uint32{},
	}
	for root, members := range sets.All(1) {
		g.size[root] = uint32(len(members))
		if len(members) > 1 {
			g.members[root] = members
		}
	}
	g.edges = clusterEdges(w, sets, g.size, o.Extended)
	var repeats map[uint32]bool
	if o.SkipBoilerplate {
		repeats = g.repeats()
	}
	incoming := map[uint32]bool{}
	kept := g.edges[:0]
	for _, e := range g.edges {
		if (g.size[e.from] < 2 && o.Chain == ChainNone) || (!e.equal && (repeats[e.from] || repeats[e.to])) {
			continue
		}
		if e.equal {
			m := w.matching(e)
			if m == nil {
				continue
			}
			g.matchings[len(kept)] = m
		}
		kept = append(kept, e)
	}
	g.edges = kept
	for i, e := range g.edges {
		g.forward[e.from] = append(g.forward[e.from], i)
		g.backward[e.to] = append(g.backward[e.to], i)
		incoming[e.to] = true
	}
	var out []Cluster
	for _, root := range g.roots(incoming) {
		if !g.joined[root] {
			out = append(out, g.grow(root))
		}
	}
	return out
}

type grower struct {
	w    LinkGraph
	o    Growing
	sets *unionfind.Sets
	size []uint32 // of a trivial cluster, at its smallest page

	members           map[uint32][]uint32 // of those of two pages and more
	edges             []edge
	matchings         map[int]map[uint32]uint32 // of edges between equal clusters
	forward, backward map[uint32][]int
	joined            map[uint32]bool
	foreign           map[uint32]int // links from other hosts to a trivial cluster
}

// repeats finds the trivial clusters that have two pages in one directory: boilerplate, which any hub page
// links to.
func (g *grower) repeats() map[uint32]bool {
	type place struct {
		rid       uint32
		host, dir string
	}
	seen, out := map[place]bool{}, map[uint32]bool{}
	for i, a := range g.w.Pages {
		at := place{g.sets.Find(uint32(i)), a.Host, dirOf(a.Path)}
		if seen[at] {
			out[at.rid] = true
		}
		seen[at] = true
	}
	return out
}

// below says whether an edge between single pages stays below the directory of the collection that the first
// page is one's own of.
func (g *grower) below(e edge, start []uint32) bool {
	p, q := g.w.Pages[e.from], g.w.Pages[e.to]
	return p.Host == q.Host && slices.ContainsFunc(start, func(r uint32) bool {
		return g.host(r) == q.Host && strings.HasPrefix(q.Path, dirOf(g.w.Pages[r].Path))
	})
}

// roots lists the trivial clusters to grow from: those without an incoming edge first, then the largest,
// those linked most from other hosts, and those of the smallest page.
func (g *grower) roots(incoming map[uint32]bool) []uint32 {
	foreign := map[uint32]int{}
	g.foreign = foreign
	for p, out := range g.w.Links {
		for _, q := range out {
			if g.w.Pages[p].Host != g.w.Pages[q].Host {
				foreign[g.sets.Find(q)]++
			}
		}
	}
	var out []uint32
	for i, n := range g.size {
		if n >= 2 {
			out = append(out, uint32(i))
		}
	}
	slices.SortFunc(out, func(a, b uint32) int {
		if incoming[a] != incoming[b] {
			if incoming[a] {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(g.size[b], g.size[a]), cmp.Compare(foreign[b], foreign[a]), cmp.Compare(a, b))
	})
	return out
}

// grow makes the cluster of a root. at holds, for every trivial cluster that joined, the page of each
// collection.
func (g *grower) grow(root uint32) Cluster {
	start := g.members[root]
	at := map[uint32][]uint32{root: start}
	g.joined[root] = true
	order := []uint32{root}
	for n := 0; n < len(order); n++ {
		from := order[n]
		for _, i := range g.forward[from] {
			e := g.edges[i]
			if g.joined[e.to] || (g.o.Chain == ChainPrefix && g.size[from] == 1 && !g.below(e, start)) {
				continue
			}
			at[e.to] = g.follow(i, at[from])
			g.joined[e.to] = true
			order = append(order, e.to)
		}
		for _, i := range g.backward[from] {
			e := g.edges[i]
			if g.joined[e.from] || !e.equal {
				continue
			}
			back := map[uint32]uint32{}
			for p, q := range g.matchings[i] {
				back[q] = p
			}
			pages := make([]uint32, len(start))
			for c, q := range at[from] {
				pages[c] = back[q]
			}
			at[e.from] = pages
			g.joined[e.from] = true
			order = append(order, e.from)
		}
	}
	return g.cluster(root, order, at)
}

// follow gives the page of each collection at the end of an edge.
func (g *grower) follow(i int, pages []uint32) []uint32 {
	out := make([]uint32, len(pages))
	if m := g.matchings[i]; m != nil {
		for c, p := range pages {
			out[c] = m[p]
		}
		return out
	}
	choices := g.w.choices(g.edges[i].links, false)
	for c, p := range pages {
		out[c] = choices[p][0]
	}
	return out
}

// cluster shares out the pages of the trivial clusters that joined: a page is the own one of the first
// collection on its host, or of the first that takes it, and virtual in others.
func (g *grower) cluster(root uint32, order []uint32, at map[uint32][]uint32) Cluster {
	c := Cluster{
		Root:        root,
		Rids:        slices.Sorted(slices.Values(order)),
		Collections: make([]Collection, len(at[root])),
		Foreign:     g.foreign[root],
	}
	for _, rid := range order {
		owner := map[uint32]int{}
		for i, p := range at[rid] {
			if j, ok := owner[p]; !ok || (g.host(at[root][j]) != g.host(p) && g.host(at[root][i]) == g.host(p)) {
				owner[p] = i
			}
		}
		for i, p := range at[rid] {
			col := &c.Collections[i]
			if owner[p] == i {
				col.Own = append(col.Own, p)
			} else {
				col.Virtual = append(col.Virtual, p)
			}
		}
	}
	for i := range c.Collections {
		slices.Sort(c.Collections[i].Own)
		slices.Sort(c.Collections[i].Virtual)
	}
	return c
}

func (g *grower) host(p uint32) string { return g.w.Pages[p].Host }

// dirOf is a path's directory, with its slash at the end.
func dirOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

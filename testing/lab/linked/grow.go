// SPDX-License-Identifier: Apache-2.0

package linked

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"mirrord/replica/collections"
	"mirrord/replica/unionfind"
)

// ChainRule says whether a page that is there once extends a cluster beyond itself.
type ChainRule uint8

const (
	ChainNone   ChainRule = iota // what it links to is not taken
	ChainPrefix                  // what it links to is taken below the collection's own directory
	ChainAll                     // everything that it links to is taken: the paper's letter
)

// Growing says how similar clusters are grown from trivial ones.
type Growing struct {
	Extended        bool      // partial mirrors too: collections share pages of a smaller trivial cluster
	Chain           ChainRule // with Extended
	SkipBoilerplate bool      // trivial clusters that repeat within one directory extend no cluster
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
func Grow(w Graph, sets *unionfind.Sets, o Growing) []Cluster {
	var out []Cluster
	g := newGrower(w, sets, o)
	for _, root := range g.roots(g.findEdges()) {
		if !g.joined[root] {
			out = append(out, g.grow(root))
		}
	}
	return out
}

type grower struct {
	w    Graph
	o    Growing
	sets *unionfind.Sets
	size []uint32 // of a trivial cluster, at its smallest page

	members  map[uint32][]uint32 // of trivial clusters of two pages and more, at the smallest page
	repeats  []bool              // trivial clusters that have two pages in one directory
	edges    []edge              // in ascending order
	backward []uint32            // numbers of edges, by where they lead
	joined   []bool
	foreign  []uint32 // links from other hosts to a trivial cluster of two pages and more
}

func newGrower(w Graph, sets *unionfind.Sets, o Growing) *grower {
	n := sets.Len()
	g := &grower{
		w:       w,
		o:       o,
		sets:    sets,
		size:    make([]uint32, n),
		members: map[uint32][]uint32{},
		repeats: make([]bool, n),
		joined:  make([]bool, n),
	}
	type place struct{ host, dir string }
	seen := map[place]bool{}
	for root, members := range sets.All(1) {
		g.size[root] = uint32(len(members))
		if len(members) < 2 {
			continue
		}
		g.members[root] = members
		if !o.SkipBoilerplate {
			continue
		}
		clear(seen)
		for _, p := range members { // boilerplate, which any hub page links to
			at := place{w.Pages[p].Host, dirOf(w.Pages[p].Path)}
			if seen[at] {
				g.repeats[root] = true
				break
			}
			seen[at] = true
		}
	}
	return g
}

// findEdges keeps the edges that clusters may grow along. It returns the trivial clusters that one points to.
func (g *grower) findEdges() (incoming []bool) {
	incoming = make([]bool, g.sets.Len())
	for _, e := range g.w.edges(g.sets, g.size, g.o.Extended) {
		if (g.size[e.from] < 2 && g.o.Chain == ChainNone) ||
			(!e.equal && (g.repeats[e.from] || g.repeats[e.to])) ||
			(e.equal && g.w.matching(e.links) == nil) {
			continue
		}
		g.edges = append(g.edges, e)
		incoming[e.to] = true
	}
	g.backward = make([]uint32, len(g.edges))
	for i := range g.backward {
		g.backward[i] = uint32(i)
	}
	slices.SortFunc(g.backward, func(i, j uint32) int {
		return cmp.Or(cmp.Compare(g.edges[i].to, g.edges[j].to), cmp.Compare(i, j))
	})
	return incoming
}

// forward are the edges from a trivial cluster, by number.
func (g *grower) forward(from uint32) (first, end int) {
	first, _ = slices.BinarySearchFunc(g.edges, from, func(e edge, from uint32) int {
		return cmp.Compare(e.from, from)
	})
	for end = first; end < len(g.edges) && g.edges[end].from == from; end++ {
	}
	return first, end
}

// into are the numbers of the edges to a trivial cluster.
func (g *grower) into(to uint32) []uint32 {
	first, _ := slices.BinarySearchFunc(g.backward, to, func(i, to uint32) int {
		return cmp.Compare(g.edges[i].to, to)
	})
	end := first
	for end < len(g.backward) && g.edges[g.backward[end]].to == to {
		end++
	}
	return g.backward[first:end]
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
func (g *grower) roots(incoming []bool) []uint32 {
	g.foreign = make([]uint32, g.sets.Len())
	for p, out := range g.w.Links {
		for _, q := range out {
			if root := g.sets.Find(q); g.size[root] >= 2 && g.host(q) != g.host(uint32(p)) {
				g.foreign[root]++
			}
		}
	}
	return slices.SortedFunc(maps.Keys(g.members), func(a, b uint32) int {
		if incoming[a] != incoming[b] {
			if incoming[a] {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(g.size[b], g.size[a]), cmp.Compare(g.foreign[b], g.foreign[a]), cmp.Compare(a, b))
	})
}

// grow makes the cluster of a root. at holds, for every trivial cluster that joined, the page of each
// collection.
func (g *grower) grow(root uint32) Cluster {
	start := g.members[root]
	at := map[uint32][]uint32{root: start}
	g.joined[root] = true
	order := []uint32{root}
	join := func(rid uint32, pages []uint32) {
		at[rid] = pages
		g.joined[rid] = true
		order = append(order, rid)
	}
	for n := 0; n < len(order); n++ {
		from := order[n]
		for i, end := g.forward(from); i < end; i++ {
			e := g.edges[i]
			if g.joined[e.to] || (g.o.Chain == ChainPrefix && g.size[from] == 1 && !g.below(e, start)) {
				continue
			}
			join(e.to, g.follow(e, at[from]))
		}
		for _, i := range g.into(from) {
			e := g.edges[i]
			if g.joined[e.from] || !e.equal {
				continue
			}
			back := map[uint32]uint32{}
			for p, q := range g.w.matching(e.links) {
				back[q] = p
			}
			pages := make([]uint32, len(start))
			for c, q := range at[from] {
				pages[c] = back[q]
			}
			join(e.from, pages)
		}
	}
	return g.cluster(root, order, at)
}

// follow gives the page of each collection at the end of an edge.
func (g *grower) follow(e edge, pages []uint32) []uint32 {
	out := make([]uint32, len(pages))
	if e.equal {
		m := g.w.matching(e.links)
		for c, p := range pages {
			out[c] = m[p]
		}
		return out
	}
	choices := g.w.choices(e.links)
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
		Foreign:     int(g.foreign[root]),
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

// LinkedCopy is a copy of a collection.
type LinkedCopy struct {
	At           collections.Address // the deepest directory above its own pages
	Own, Virtual int                 // pages of its own; of other copies, which it links to in their place
}

// LinkedCluster is a cluster of collections, and its copies, those of the most pages first.
type LinkedCluster struct {
	Root    collections.Address // the first page of the trivial cluster that it was grown from
	Foreign int                 // links from other hosts to the pages of that
	Size    int                 // pages of the largest copy, virtual ones included
	Copies  []LinkedCopy
}

// Collections grows clusters along the links and describes those that have at least two copies of so many
// pages, the most copied ones first: what many keep should be kept first (Cho, Shivakumar, Garcia-Molina,
// section 5). Of equal ones those come first whose roots have the most links from other sites.
func (w Graph) Collections(sets *unionfind.Sets, o Growing, least int) []LinkedCluster {
	var out []LinkedCluster
	for _, grown := range Grow(w, sets, o) {
		c := LinkedCluster{Root: w.Pages[grown.Root], Foreign: grown.Foreign}
		for _, col := range grown.Collections {
			size := len(col.Own) + len(col.Virtual)
			if size < least || len(col.Own) == 0 {
				continue
			}
			c.Size = max(c.Size, size)
			c.Copies = append(c.Copies, LinkedCopy{w.above(col.Own), len(col.Own), len(col.Virtual)})
		}
		if len(c.Copies) < 2 {
			continue
		}
		slices.SortStableFunc(c.Copies, func(a, b LinkedCopy) int {
			return cmp.Or(cmp.Compare(b.Own, a.Own), cmp.Compare(a.At.Host, b.At.Host),
				cmp.Compare(a.At.Path, b.At.Path))
		})
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b LinkedCluster) int {
		return cmp.Or(cmp.Compare(len(b.Copies), len(a.Copies)), cmp.Compare(b.Foreign, a.Foreign),
			cmp.Compare(b.Size, a.Size))
	})
	return out
}

// above is the deepest directory above all of some pages that are on the host of the first of them.
func (w Graph) above(pages []uint32) collections.Address {
	first := w.Pages[pages[0]]
	dir := dirOf(first.Path)
	for _, p := range pages {
		for a := w.Pages[p]; a.Host == first.Host && dir != "" && !strings.HasPrefix(a.Path, dir); {
			dir = dirOf(strings.TrimSuffix(dir, "/"))
		}
	}
	return collections.Address{Host: first.Host, Path: dir}
}

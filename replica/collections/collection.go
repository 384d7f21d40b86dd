// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

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
func Grow(w LinkGraph, sets *unionfind.Sets, o Growing) []Cluster {
	var out []Cluster
	if err := growAll(w, sets, o, inMemory(), func(c Cluster) { out = append(out, c) }); err != nil {
		panic("replica/collections: links in memory: " + err.Error())
	}
	return out
}

// growAll is Grow of a web that may lie in files. It holds some 20 bytes a page and 28 an edge of those that
// clusters may grow along.
func growAll(
	w linkedPages, sets *unionfind.Sets, o Growing, room linkRoom, yield func(Cluster),
) (err error) {
	g := newGrower(w, sets, o, room)
	defer func() { err = errors.Join(err, g.links.close()) }()
	incoming, err := g.findEdges(room)
	if err != nil {
		return err
	}
	roots, err := g.roots(incoming)
	if err != nil {
		return err
	}
	for _, root := range roots {
		if !g.joined.has(int(root)) {
			yield(g.grow(root))
		}
		if err := cmp.Or(g.err, w.problem()); err != nil {
			return err
		}
		if err := room.tick(1); err != nil {
			return err
		}
	}
	return nil
}

type grower struct {
	w    linkedPages
	o    Growing
	sets *unionfind.Sets
	size []uint32 // of a trivial cluster, at its smallest page

	members  []uint32 // of trivial clusters of two pages and more, one after the other
	first    []uint32 // in members, at the smallest page
	repeats  bitmap   // trivial clusters that have two pages in one directory
	edges    []edge   // in ascending order
	backward []uint32 // numbers of edges, by where they lead
	links    pile     // of the edges
	joined   bitmap
	foreign  []uint32 // links from other hosts to a trivial cluster of two pages and more
	err      error    // of links
}

func newGrower(w linkedPages, sets *unionfind.Sets, o Growing, room linkRoom) *grower {
	n := sets.Len()
	g := &grower{
		w:       w,
		o:       o,
		sets:    sets,
		size:    make([]uint32, n),
		first:   make([]uint32, n),
		repeats: newBitmap(n),
		joined:  newBitmap(n),
		links:   newPile(room.spill, room.memory),
	}
	type place struct{ host, dir string }
	seen := map[place]bool{}
	for root, members := range sets.All(1) {
		g.size[root] = uint32(len(members))
		if len(members) < 2 {
			continue
		}
		g.first[root] = uint32(len(g.members))
		g.members = append(g.members, members...)
		if !o.SkipBoilerplate {
			continue
		}
		clear(seen)
		for _, p := range members { // boilerplate, which any hub page links to
			a := w.at(p)
			at := place{a.Host, dirOf(a.Path)}
			if seen[at] {
				g.repeats.add(int(root))
				break
			}
			seen[at] = true
		}
	}
	return g
}

// findEdges keeps the edges that clusters may grow along. It returns the trivial clusters that one points to.
func (g *grower) findEdges(room linkRoom) (incoming bitmap, err error) {
	incoming = newBitmap(g.sets.Len())
	keep := func(e edge, links [][2]uint32) error {
		if (g.size[e.from] < 2 && g.o.Chain == ChainNone) ||
			(!e.equal && (g.repeats.has(int(e.from)) || g.repeats.has(int(e.to)))) ||
			(e.equal && matching(g.w, links) == nil) {
			return nil
		}
		e.links = g.links.len()
		var b [8]byte
		for _, l := range links {
			binary.LittleEndian.PutUint32(b[:], l[0])
			binary.LittleEndian.PutUint32(b[4:], l[1])
			if err := g.links.add(b[:]); err != nil {
				return err
			}
		}
		g.edges = append(g.edges, e)
		incoming.add(int(e.to))
		return nil
	}
	if err := clusterEdges(g.w, g.sets, g.size, g.o.Extended, room, keep); err != nil {
		return nil, err
	}
	g.backward = make([]uint32, len(g.edges))
	for i := range g.backward {
		g.backward[i] = uint32(i)
	}
	slices.SortFunc(g.backward, func(i, j uint32) int {
		return cmp.Or(cmp.Compare(g.edges[i].to, g.edges[j].to), cmp.Compare(i, j))
	})
	return incoming, g.w.problem()
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

// linksOf reads the links of an edge.
func (g *grower) linksOf(i int) [][2]uint32 {
	e := &g.edges[i]
	raw := make([]byte, 8*int(e.n))
	if _, err := g.links.ReadAt(raw, e.links); err != nil && g.err == nil {
		g.err = err
	}
	out := make([][2]uint32, e.n)
	for k := range out {
		out[k] = [2]uint32{binary.LittleEndian.Uint32(raw[8*k:]), binary.LittleEndian.Uint32(raw[8*k+4:])}
	}
	return out
}

// below says whether an edge between single pages stays below the directory of the collection that the first
// page is one's own of.
func (g *grower) below(e edge, start []uint32) bool {
	p, q := g.w.at(e.from), g.w.at(e.to)
	return p.Host == q.Host && slices.ContainsFunc(start, func(r uint32) bool {
		return g.host(r) == q.Host && strings.HasPrefix(q.Path, dirOf(g.w.at(r).Path))
	})
}

// roots lists the trivial clusters to grow from: those without an incoming edge first, then the largest,
// those linked most from other hosts, and those of the smallest page.
func (g *grower) roots(incoming bitmap) ([]uint32, error) {
	g.foreign = make([]uint32, g.sets.Len())
	err := g.w.each(func(p uint32, out []uint32) error {
		var host string
		for i, q := range out {
			if i == 0 {
				host = g.host(p)
			}
			if root := g.sets.Find(q); g.size[root] >= 2 && g.host(q) != host {
				g.foreign[root]++
			}
		}
		return nil
	})
	var out []uint32
	for i, n := range g.size {
		if n >= 2 {
			out = append(out, uint32(i))
		}
	}
	slices.SortFunc(out, func(a, b uint32) int {
		if incoming.has(int(a)) != incoming.has(int(b)) {
			if incoming.has(int(a)) {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(g.size[b], g.size[a]), cmp.Compare(g.foreign[b], g.foreign[a]), cmp.Compare(a, b))
	})
	return out, cmp.Or(err, g.w.problem())
}

// grow makes the cluster of a root. at holds, for every trivial cluster that joined, the page of each
// collection.
func (g *grower) grow(root uint32) Cluster {
	start := g.members[g.first[root]:][:g.size[root]]
	at := map[uint32][]uint32{root: start}
	g.joined.add(int(root))
	order := []uint32{root}
	join := func(rid uint32, pages []uint32) {
		at[rid] = pages
		g.joined.add(int(rid))
		order = append(order, rid)
	}
	for n := 0; n < len(order); n++ {
		from := order[n]
		for i, end := g.forward(from); i < end && g.err == nil; i++ {
			e := g.edges[i]
			if g.joined.has(int(e.to)) || (g.o.Chain == ChainPrefix && g.size[from] == 1 && !g.below(e, start)) {
				continue
			}
			if pages := g.follow(i, at[from]); g.err == nil {
				join(e.to, pages)
			}
		}
		for _, i := range g.into(from) {
			e := g.edges[i]
			if g.joined.has(int(e.from)) || !e.equal {
				continue
			}
			back := map[uint32]uint32{}
			for p, q := range matching(g.w, g.linksOf(int(i))) {
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
func (g *grower) follow(i int, pages []uint32) []uint32 {
	out, links := make([]uint32, len(pages)), g.linksOf(i)
	switch {
	case g.err != nil:
	case g.edges[i].equal:
		m := matching(g.w, links)
		for c, p := range pages {
			out[c] = m[p]
		}
	default:
		choices := choices(g.w, links)
		for c, p := range pages {
			out[c] = choices[p][0]
		}
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

func (g *grower) host(p uint32) string { return g.w.at(p).Host }

// dirOf is a path's directory, with its slash at the end.
func dirOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"slices"
	"strings"
)

// Copy is one of the places of a collection.
type Copy struct {
	Address
	Pages  int     // below it
	Share  float64 // of the pages of the fullest copy, at most 1: under 0.9 it is a partial mirror
	Shared int     // pages that it has in common with the fullest copy, at least
}

// DirCluster is a collection and its places. The figures of a copy are for it and the first one: the two
// have that many pages in common, regardless of other copies.
type DirCluster struct {
	Copies []Copy    // the fullest first
	Pairs  []DirPair // the evidence: those of two copies
}

// Size is the number of pages of the fullest copy.
func (c *DirCluster) Size() int { return c.Copies[0].Pages }

// Clusters gathers the copies of collections, those of most copies first. A directory is a copy of the
// fullest one when the two are a pair, or when it follows from pairs with a third that they share as many
// pages: of three directories in a chain, of which the first and the last have nothing in common, each pair
// is a cluster of its own.
func Clusters(pairs []DirPair) []DirCluster {
	g := newCopyGraph(pairs)
	var out []DirCluster
	for _, root := range g.fullestFirst() {
		if g.isCovered(root) {
			continue
		}
		out = append(out, g.cluster(root, g.shared(root)))
	}
	slices.SortFunc(out, func(a, b DirCluster) int {
		return cmp.Or(cmp.Compare(len(b.Copies), len(a.Copies)), cmp.Compare(b.Size(), a.Size()),
			a.Copies[0].Address.compare(b.Copies[0].Address))
	})
	return out
}

// copyGraph is directories by number, and the pairs between them.
type copyGraph struct {
	dirs    []Copy
	number  map[Address]int
	pairs   []DirPair
	at      [][]int // numbers of the pairs of a directory
	covered []bool  // pairs that are in a cluster
	between map[[2]int]int
}

func newCopyGraph(pairs []DirPair) *copyGraph {
	g := &copyGraph{
		number:  map[Address]int{},
		pairs:   pairs,
		covered: make([]bool, len(pairs)),
		between: map[[2]int]int{},
	}
	id := func(a Address, pages int) int {
		n, ok := g.number[a]
		if !ok {
			n = len(g.dirs)
			g.number[a] = n
			g.dirs, g.at = append(g.dirs, Copy{Address: a, Pages: pages}), append(g.at, nil)
		}
		return n
	}
	for i, p := range pairs {
		a, b := id(p.A, p.OfA), id(p.B, p.OfB)
		g.at[a], g.at[b] = append(g.at[a], i), append(g.at[b], i)
		g.between[[2]int{a, b}] = i
	}
	return g
}

func (g *copyGraph) fullestFirst() []int {
	out := make([]int, len(g.dirs))
	for i := range out {
		out[i] = i
	}
	slices.SortFunc(out, g.compare)
	return out
}

// compare orders directories, the fullest first.
func (g *copyGraph) compare(i, j int) int {
	a, b := &g.dirs[i], &g.dirs[j]
	return cmp.Or(cmp.Compare(b.Pages, a.Pages), a.Address.compare(b.Address))
}

// isCovered reports whether all pairs of a directory are in a cluster.
func (g *copyGraph) isCovered(dir int) bool {
	return !slices.ContainsFunc(g.at[dir], func(pair int) bool { return !g.covered[pair] })
}

// other is the other directory of a pair.
func (g *copyGraph) other(pair, dir int) int {
	if a := g.number[g.pairs[pair].A]; a != dir {
		return a
	}
	return g.number[g.pairs[pair].B]
}

// shared returns how many pages directories have in common with one, at least: when a and b share p pages,
// and b and c share q, then a and c share p+q-b of b's pages or more. Those that share too few are left out,
// and those that are fuller: in their clusters they come first.
func (g *copyGraph) shared(root int) map[int]int {
	found := map[int]int{root: g.dirs[root].Pages}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		at := next[0]
		for _, pair := range g.at[at] {
			to := g.other(pair, at)
			n := found[at] + g.pairs[pair].Pages - g.dirs[at].Pages
			enough := at == root || g.isEnough(n, root, to)
			if enough && n > found[to] && g.compare(root, to) < 0 {
				found[to] = n
				next = append(next, to)
			}
		}
	}
	return found
}

// isEnough reports whether so many pages in common make copies of two directories.
func (g *copyGraph) isEnough(n, a, b int) bool {
	o := Votes{}.withDefaults()
	return n >= o.Pages && float64(n) >= o.Share*float64(min(g.dirs[a].Pages, g.dirs[b].Pages))
}

// cluster makes a cluster of a root and what shares pages with it, and marks its pairs.
func (g *copyGraph) cluster(root int, shared map[int]int) DirCluster {
	var c DirCluster
	for dir, n := range shared {
		cp := g.dirs[dir]
		cp.Shared = n
		cp.Share = min(1, float64(cp.Pages)/float64(g.dirs[root].Pages))
		c.Copies = append(c.Copies, cp)
		for _, pair := range g.at[dir] {
			if _, ok := shared[g.other(pair, dir)]; ok && g.pairs[pair].A == cp.Address {
				c.Pairs = append(c.Pairs, g.pairs[pair])
				g.covered[pair] = true
			}
		}
	}
	slices.SortFunc(c.Copies, func(a, b Copy) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), a.Address.compare(b.Address))
	})
	g.addWithin(&c)
	sortPairs(c.Pairs)
	return c
}

// mostWithin bounds the copies that are compared so, the fullest first.
const mostWithin = 40

// addWithin adds the figures of two copies by a pair of directories above them: only the outermost pairs
// are found.
func (g *copyGraph) addWithin(c *DirCluster) {
	some := c.Copies[:min(len(c.Copies), mostWithin)]
	for i, a := range some {
		for j, b := range some[i+1:] {
			p, ok := g.within(&a, &b)
			if !ok {
				continue
			}
			c.Pairs = append(c.Pairs, p)
			if i == 0 {
				cp := &c.Copies[1+j]
				cp.Shared = max(cp.Shared, p.Pages)
			}
		}
	}
}

// within returns what two directories have in common, at least, when they have the same place below the
// directories of a pair: all pages but those which that pair lacks.
func (g *copyGraph) within(a, b *Copy) (p DirPair, ok bool) {
	x, y := a.Address, b.Address
	for {
		up := strings.LastIndexByte(strings.TrimSuffix(x.Path, "/"), '/') + 1
		if name := x.Path[up:]; up == 0 || !strings.HasSuffix(y.Path, "/"+name) {
			return p, false
		}
		y.Path = y.Path[:len(y.Path)-len(x.Path)+up]
		x.Path = x.Path[:up]
		i, okX := g.number[x]
		k, okY := g.number[y]
		if !okX || !okY {
			continue
		}
		n, ok := g.between[[2]int{i, k}]
		if !ok {
			if n, ok = g.between[[2]int{k, i}]; !ok {
				continue
			}
		}
		p = g.pairs[n]
		p.Pages = min(a.Pages-(g.dirs[i].Pages-p.Pages), b.Pages-(g.dirs[k].Pages-p.Pages))
		p.A, p.B, p.OfA, p.OfB = a.Address, b.Address, a.Pages, b.Pages
		return p, p.Pages >= Votes{}.withDefaults().Pages
	}
}

// Lead puts another copy first, as the one that the others are compared with.
func (c *DirCluster) Lead(n int) {
	if n == 0 {
		return
	}
	before, lead := c.Copies[0], c.Copies[n]
	copy(c.Copies[1:], c.Copies[:n])
	for i := range c.Copies[1:] {
		cp := &c.Copies[i+1]
		cp.Shared = max(0, lead.Shared+cp.Shared-before.Pages)
		cp.Share = min(1, float64(cp.Pages)/float64(lead.Pages))
		for _, p := range c.Pairs {
			direct := (p.A == lead.Address && p.B == cp.Address) || (p.B == lead.Address && p.A == cp.Address)
			if direct {
				cp.Shared = max(cp.Shared, p.Pages)
			}
		}
	}
	c.Copies[0] = lead
	c.Copies[0].Share, c.Copies[0].Shared = 1, lead.Pages
}

// String writes a place as an address without its protocol.
func (a Address) String() string { return a.Host + "/" + strings.TrimPrefix(a.Path, "/") }

// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"slices"
	"strings"

	"mirrord/replica/hash"
	"mirrord/replica/unionfind"
)

// PageRef is a reference of a page: what it leads to, and how it is written.
type PageRef struct{ Target, Written uint64 }

// NewPageRef makes a PageRef of the address that a reference leads to, and of its own text. A query is part
// of the address, as pages of programs differ in it; the paper drops it. "/x/" and "/x/index.html" are one.
func NewPageRef(to Address, written []byte) PageRef {
	return PageRef{addressHash(to), hash.Token(written)}
}

func addressHash(a Address) uint64 {
	return hash.Mum(hash.Token(a.Host)^hash.TextPrime, hash.Token(strings.TrimSuffix(a.Path, "index.html")))
}

// LinkBuilder makes a LinkGraph of pages and their references, in the order of the pages' numbers. It holds
// an address and 16 bytes for each reference of a page. Not for concurrent use.
type LinkBuilder struct {
	pages []Address
	refs  []PageRef
	ends  []int // of the references of a page
}

// Add takes the next page. It keeps the references of which there are several once.
func (b *LinkBuilder) Add(a Address, refs []PageRef) {
	b.pages = append(b.pages, a)
	slices.SortFunc(refs, PageRef.compare)
	b.refs = append(b.refs, slices.Compact(refs)...)
	b.ends = append(b.ends, len(b.refs))
}

func (r PageRef) compare(s PageRef) int {
	return cmp.Or(cmp.Compare(r.Target, s.Target), cmp.Compare(r.Written, s.Written))
}

func (b *LinkBuilder) of(page int) []PageRef {
	from := 0
	if page > 0 {
		from = b.ends[page-1]
	}
	return b.refs[from:b.ends[page]]
}

// nearCounterparts is how many pages that reach something by the same reference are compared.
const nearCounterparts = 16

// Graph resolves the references. With dangling, one that leads to no page counts as a link to the page that a
// counterpart of its own page, one of the same trivial cluster, reaches by the same reference: a copy whose
// links lead nowhere shares these pages. It returns how many such there are.
func (b *LinkBuilder) Graph(sets *unionfind.Sets, dangling bool) (w LinkGraph, dangled int) {
	number := make(map[uint64]uint32, len(b.pages))
	for i, a := range b.pages {
		if h := addressHash(a); number[h] == 0 {
			number[h] = uint32(i) + 1
		}
	}
	w = LinkGraph{Pages: b.pages, Links: make([][]uint32, len(b.pages))}
	for i := range b.pages {
		for _, r := range b.of(i) {
			if q := number[r.Target]; q > 0 && q != uint32(i)+1 {
				w.Links[i] = append(w.Links[i], q-1)
			}
		}
	}
	if dangling {
		for _, members := range sets.All(2) {
			dangled += b.resolve(&w, number, members)
		}
	}
	for i := range w.Links {
		slices.Sort(w.Links[i])
		w.Links[i] = slices.Compact(w.Links[i])
	}
	return w, dangled
}

// resolve adds links for the dangling references of the pages of a trivial cluster.
func (b *LinkBuilder) resolve(w *LinkGraph, number map[uint64]uint32, members []uint32) (n int) {
	type reached struct{ page, target uint32 }
	by := map[uint64][]reached{} // by how the reference is written
	for _, p := range members {
		for _, r := range b.of(int(p)) {
			if q := number[r.Target]; q > 0 && len(by[r.Written]) < nearCounterparts {
				by[r.Written] = append(by[r.Written], reached{p, q - 1})
			}
		}
	}
	for _, p := range members {
		for _, r := range b.of(int(p)) {
			if number[r.Target] > 0 || len(by[r.Written]) == 0 {
				continue
			}
			home := w.Pages[p]
			closest := slices.MaxFunc(by[r.Written], func(x, y reached) int {
				return cmp.Or(cmp.Compare(w.near(home, x.page), w.near(home, y.page)), cmp.Compare(y.page, x.page))
			})
			if closest.target != p {
				w.Links[p] = append(w.Links[p], closest.target)
				n++
			}
		}
	}
	return n
}

// LinkedCopy is a copy of a collection that was found along links.
type LinkedCopy struct {
	Address     // the deepest directory above its own pages
	Own     int // pages of its own
	Virtual int // of other copies, which it links to in their place
}

// LinkedCluster is a collection that was found along links, and its copies.
type LinkedCluster struct {
	Root    Address // the first page of the trivial cluster that it was grown from
	Foreign int     // links from other hosts to the pages of that
	Size    int     // pages of the largest copy, virtual ones included
	Copies  []LinkedCopy
}

// Factor is the replication factor: how many copies there are.
func (c *LinkedCluster) Factor() int { return len(c.Copies) }

// Linked describes the clusters that have at least two copies of so many pages, what is copied most first:
// what many keep is what should be kept first (Cho, Shivakumar, Garcia-Molina, section 5). Of equal ones
// those come first whose roots have the most links from other sites.
func Linked(w LinkGraph, clusters []Cluster, least int) []LinkedCluster {
	var out []LinkedCluster
	for i := range clusters {
		c := LinkedCluster{Root: w.Pages[clusters[i].Root], Foreign: clusters[i].Foreign}
		for _, col := range clusters[i].Collections {
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
			return cmp.Or(cmp.Compare(b.Own, a.Own), a.Address.compare(b.Address))
		})
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b LinkedCluster) int {
		return cmp.Or(cmp.Compare(b.Factor(), a.Factor()), cmp.Compare(b.Foreign, a.Foreign),
			cmp.Compare(b.Size, a.Size))
	})
	return out
}

// above is the deepest directory above all of some pages that are on the host of the first of them.
func (w LinkGraph) above(pages []uint32) Address {
	host, dir := w.Pages[pages[0]].Host, dirOf(w.Pages[pages[0]].Path)
	for _, p := range pages {
		if w.Pages[p].Host != host {
			continue
		}
		for path := w.Pages[p].Path; dir != "" && !strings.HasPrefix(path, dir); {
			dir = dirOf(strings.TrimSuffix(dir, "/"))
		}
	}
	return Address{host, dir}
}

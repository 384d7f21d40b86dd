// SPDX-License-Identifier: Apache-2.0

package linked

import (
	"cmp"
	"slices"
	"strings"

	"mirrord/replica/collections"
	"mirrord/replica/hash"
	"mirrord/replica/unionfind"
)

// Ref is a reference of a page: its target, and how it is written.
type Ref struct{ Target, Written uint64 }

// NewRef makes a Ref of the address that a reference resolves to, and of its own text. A query is part of the
// address, as pages of programs differ in it; the paper drops it. "/x/" and "/x/index.html" are one.
func NewRef(to collections.Address, written []byte) Ref {
	return Ref{addressHash(to), hash.Token(written)}
}

func addressHash(a collections.Address) uint64 {
	return hash.Mum(hash.Token(a.Host)^hash.TextPrime, hash.Token(strings.TrimSuffix(a.Path, "index.html")))
}

// GraphBuilder makes a Graph of pages and their references, in the order of the pages' numbers.
type GraphBuilder struct {
	pages []collections.Address
	refs  [][]Ref // of each page, each once
}

// Add takes the next page.
func (b *GraphBuilder) Add(a collections.Address, refs []Ref) {
	refs = slices.SortedFunc(slices.Values(refs), func(r, s Ref) int {
		return cmp.Or(cmp.Compare(r.Target, s.Target), cmp.Compare(r.Written, s.Written))
	})
	b.pages = append(b.pages, a)
	b.refs = append(b.refs, slices.Clip(slices.Compact(refs)))
}

// Web resolves the references. One to no page counts as a link to the page that a counterpart of its own
// page, one of the same trivial cluster, reaches by the same reference: a copy whose links lead nowhere
// shares these pages. It returns how many these are.
func (b *GraphBuilder) Web(sets *unionfind.Sets) (w Graph, dangling int) {
	number := make(map[uint64]uint32, len(b.pages))
	for i, a := range slices.Backward(b.pages) { // the first page at an address counts
		number[addressHash(a)] = uint32(i)
	}
	w = Graph{Pages: b.pages, Links: make([][]uint32, len(b.pages))}
	for p, refs := range b.refs {
		for _, r := range refs {
			if q, ok := number[r.Target]; ok && q != uint32(p) {
				w.Links[p] = append(w.Links[p], q)
			}
		}
	}
	for _, members := range sets.All(2) {
		dangling += b.dangling(w, number, members)
	}
	for p := range w.Links {
		slices.Sort(w.Links[p])
		w.Links[p] = slices.Compact(w.Links[p])
	}
	return w, dangling
}

// nearCounterparts is how many pages that reach something by the same reference are compared.
const nearCounterparts = 16

// dangling adds links for the dangling references of the pages of a trivial cluster, and counts them.
func (b *GraphBuilder) dangling(w Graph, number map[uint64]uint32, members []uint32) (n int) {
	type reached struct{ page, target uint32 }
	by := map[uint64][]reached{} // by how the reference is written
	for _, p := range members {
		for _, r := range b.refs[p] {
			if q, ok := number[r.Target]; ok && len(by[r.Written]) < nearCounterparts {
				by[r.Written] = append(by[r.Written], reached{p, q})
			}
		}
	}
	for _, p := range members {
		for _, r := range b.refs[p] {
			if _, ok := number[r.Target]; ok || len(by[r.Written]) == 0 {
				continue
			}
			closest := slices.MaxFunc(by[r.Written], func(a, b reached) int {
				return cmp.Or(cmp.Compare(w.nearness(w.Pages[p], a.page), w.nearness(w.Pages[p], b.page)),
					cmp.Compare(b.page, a.page), cmp.Compare(b.target, a.target))
			})
			if closest.target != p {
				w.Links[p] = append(w.Links[p], closest.target)
				n++
			}
		}
	}
	return n
}

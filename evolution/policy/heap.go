// SPDX-License-Identifier: Apache-2.0

package policy

import "cmp"

// The heaps of groups, one of units and one of listings: the one worth most is first, of equals the one with
// the lower key.

// heaps of adaptive.
const (
	ofUnits = iota
	ofListings
	heaps
)

// heapOf is the heap in which a group is, when it is in one.
func (a *adaptive) heapOf(g *group) int {
	if g.kind == Listing {
		return ofListings
	}
	return ofUnits
}

// top finds the group that is worth most, in all heaps or in that of the listings.
func (a *adaptive) top(listings bool) (i uint32, ok bool) {
	for h := range a.heap {
		if len(a.heap[h]) == 0 || (listings && h != ofListings) {
			continue
		}
		if !ok || a.before(a.heap[h][0], i) {
			i, ok = a.heap[h][0], true
		}
	}
	return i, ok
}

func (a *adaptive) before(i, j uint32) bool {
	if x, y := a.gs[i].worth, a.gs[j].worth; x != y {
		return x > y
	}
	x, y := a.gs[i].dir, a.gs[j].dir
	if c := cmp.Compare(a.m.dirs[x].key, a.m.dirs[y].key); c != 0 {
		return c < 0
	}
	return i < j
}

func put(gs []group, h []uint32, at int, i uint32) { h[at], gs[i].place = i, int32(at) }

// revalue values all groups again.
func (a *adaptive) revalue() {
	a.stale, a.news = 0, 0
	a.settle()
	for d := range a.nodes {
		a.nodes[d].valued = a.nodes[d].act
	}
	for h := range a.heap {
		a.heap[h] = a.heap[h][:0]
	}
	for i := range a.gs {
		g := &a.gs[i]
		a.value(uint32(i))
		if g.place = -1; g.next < g.to && !a.withheld(g) {
			h := &a.heap[a.heapOf(g)]
			*h = append(*h, uint32(i))
			g.place = int32(len(*h) - 1)
		}
	}
	for _, h := range a.heap {
		for at := len(h)/2 - 1; at >= 0; at-- {
			a.sift(h, at)
		}
	}
}

// fix puts a group that was valued again into its place; one of which nothing is left leaves the heap.
func (a *adaptive) fix(i uint32) {
	g := &a.gs[i]
	at := int(g.place)
	if at < 0 {
		return
	}
	heap := &a.heap[a.heapOf(g)]
	h := *heap
	if g.next == g.to {
		end := len(h) - 1
		last := h[end]
		h = h[:end]
		*heap, g.place = h, -1
		if at == end {
			return
		}
		put(a.gs, h, at, last)
	}
	a.up(h, at)
	a.sift(h, int(a.gs[h[at]].place))
}

// push puts a group into its heap that is in none.
func (a *adaptive) push(i uint32) {
	g := &a.gs[i]
	if g.place >= 0 || g.next == g.to {
		return
	}
	h := &a.heap[a.heapOf(g)]
	*h = append(*h, i)
	put(a.gs, *h, len(*h)-1, i)
	a.up(*h, len(*h)-1)
}

func (a *adaptive) up(h []uint32, at int) {
	i := h[at]
	for at > 0 {
		up := (at - 1) / 2
		if !a.before(i, h[up]) {
			break
		}
		put(a.gs, h, at, h[up])
		at = up
	}
	put(a.gs, h, at, i)
}

func (a *adaptive) sift(h []uint32, at int) {
	i := h[at]
	for {
		c := 2*at + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && a.before(h[c+1], h[c]) {
			c++
		}
		if !a.before(h[c], i) {
			break
		}
		put(a.gs, h, at, h[c])
		at = c
	}
	put(a.gs, h, at, i)
}

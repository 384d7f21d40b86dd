// SPDX-License-Identifier: Apache-2.0

package policy

import "cmp"

// The heaps of groups, one of units and one of listings: the one worth most is first, of equals the one with
// the lower key.

// heaps of a ranking.
const (
	ofUnits = iota
	ofListings
	heaps
)

// ranking orders groups by worth.
type ranking struct {
	m      *Model
	groups []group
	heap   [heaps][]uint32
}

// heap is the one in which a group is, when it is in one.
func (g *group) heap() int {
	if g.kind == Listing {
		return ofListings
	}
	return ofUnits
}

// top finds the group that is worth most, in all heaps or in that of the listings.
func (r *ranking) top(listings bool) (i uint32, ok bool) {
	for h := range r.heap {
		if len(r.heap[h]) == 0 || (listings && h != ofListings) {
			continue
		}
		if !ok || r.before(r.heap[h][0], i) {
			i, ok = r.heap[h][0], true
		}
	}
	return i, ok
}

func (r *ranking) before(i, j uint32) bool {
	if x, y := r.groups[i].worth, r.groups[j].worth; x != y {
		return x > y
	}
	x, y := r.groups[i].dir, r.groups[j].dir
	if c := cmp.Compare(r.m.dirs[x].key, r.m.dirs[y].key); c != 0 {
		return c < 0
	}
	return i < j
}

func put(gs []group, h []uint32, at int, i uint32) { h[at], gs[i].place = i, int32(at) }

// rebuild ranks the groups of which something is left, but those that are withheld.
func (r *ranking) rebuild(withheld func(*group) bool) {
	for h := range r.heap {
		r.heap[h] = r.heap[h][:0]
	}
	for i := range r.groups {
		g := &r.groups[i]
		if g.place = -1; g.next < g.to && !withheld(g) {
			h := &r.heap[g.heap()]
			*h = append(*h, uint32(i))
			g.place = int32(len(*h) - 1)
		}
	}
	for _, h := range r.heap {
		for at := len(h)/2 - 1; at >= 0; at-- {
			r.sift(h, at)
		}
	}
}

// fix puts a group that was valued again into its place; one of which nothing is left leaves the heap.
func (r *ranking) fix(i uint32) {
	g := &r.groups[i]
	at := int(g.place)
	if at < 0 {
		return
	}
	heap := &r.heap[g.heap()]
	h := *heap
	if g.next == g.to {
		end := len(h) - 1
		last := h[end]
		h = h[:end]
		*heap, g.place = h, -1
		if at == end {
			return
		}
		put(r.groups, h, at, last)
	}
	r.up(h, at)
	r.sift(h, int(r.groups[h[at]].place))
}

// push puts a group into its heap that is in none.
func (r *ranking) push(i uint32) {
	g := &r.groups[i]
	if g.place >= 0 || g.next == g.to {
		return
	}
	h := &r.heap[g.heap()]
	*h = append(*h, i)
	put(r.groups, *h, len(*h)-1, i)
	r.up(*h, len(*h)-1)
}

func (r *ranking) up(h []uint32, at int) {
	i := h[at]
	for at > 0 {
		up := (at - 1) / 2
		if !r.before(i, h[up]) {
			break
		}
		put(r.groups, h, at, h[up])
		at = up
	}
	put(r.groups, h, at, i)
}

func (r *ranking) sift(h []uint32, at int) {
	i := h[at]
	for {
		c := 2*at + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && r.before(h[c+1], h[c]) {
			c++
		}
		if !r.before(h[c], i) {
			break
		}
		put(r.groups, h, at, h[c])
		at = c
	}
	put(r.groups, h, at, i)
}

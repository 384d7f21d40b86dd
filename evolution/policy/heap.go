// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"container/heap"
)

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
	heap   [heaps]groupHeap
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
		order := r.heap[h].order
		if len(order) == 0 || (listings && h != ofListings) {
			continue
		}
		if !ok || r.before(order[0], i) {
			i, ok = order[0], true
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

// rebuild ranks the groups of which something is left, but those that are withheld.
func (r *ranking) rebuild(withheld func(*group) bool) {
	for h := range r.heap {
		r.heap[h] = groupHeap{ranking: r, order: r.heap[h].order[:0]}
	}
	for i := range r.groups {
		g := &r.groups[i]
		if g.place = -1; g.next < g.to && !withheld(g) {
			r.heap[g.heap()].Push(uint32(i))
		}
	}
	for h := range r.heap {
		heap.Init(&r.heap[h])
	}
}

// fix puts a group that was valued again into its place; one of which nothing is left leaves the heap.
func (r *ranking) fix(i uint32) {
	g := &r.groups[i]
	switch h := &r.heap[g.heap()]; {
	case g.place < 0:
	case g.next == g.to:
		heap.Remove(h, int(g.place))
	default:
		heap.Fix(h, int(g.place))
	}
}

// push puts a group into its heap that is in none.
func (r *ranking) push(i uint32) {
	if g := &r.groups[i]; g.place < 0 && g.next < g.to {
		heap.Push(&r.heap[g.heap()], i)
	}
}

// groupHeap is one heap, for package container/heap. Groups know their places in it.
type groupHeap struct {
	*ranking
	order []uint32
}

// Len is how many groups are in it.
func (h *groupHeap) Len() int { return len(h.order) }

// Less reports whether a group comes before another one.
func (h *groupHeap) Less(at, other int) bool { return h.before(h.order[at], h.order[other]) }

// Swap exchanges two groups.
func (h *groupHeap) Swap(at, other int) {
	h.order[at], h.order[other] = h.order[other], h.order[at]
	h.groups[h.order[at]].place, h.groups[h.order[other]].place = int32(at), int32(other)
}

// Push adds a group at the end.
func (h *groupHeap) Push(i any) {
	h.groups[i.(uint32)].place = int32(len(h.order))
	h.order = append(h.order, i.(uint32))
}

// Pop takes the group at the end.
func (h *groupHeap) Pop() any {
	end := len(h.order) - 1
	i := h.order[end]
	h.order, h.groups[i].place = h.order[:end], -1
	return i
}

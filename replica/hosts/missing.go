// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"slices"

	"mirrord/replica/hash"
)

// A page from which a part was taken has as many words fewer at that place; where words were edited there are
// others in their place. To tell the two apart, the shingles of two pages are aligned in their order. What
// stands on the second page elsewhere has moved and is not missing.

// gap is a place where two lists differ: x[x0:x1] stands where the other has y[y0:y1].
type gap struct{ x0, x1, y0, y1 int }

// alignDepth bounds how often the rest between common elements is aligned again.
const alignDepth = 8

// differences returns the gaps between two lists, in order. Its time is that of sorting them a few times.
func differences(x, y []uint64) (gaps []gap) {
	var align func(g gap, depth int)
	align = func(g gap, depth int) {
		for g.x0 < g.x1 && g.y0 < g.y1 && x[g.x0] == y[g.y0] {
			g.x0, g.y0 = g.x0+1, g.y0+1
		}
		for g.x0 < g.x1 && g.y0 < g.y1 && x[g.x1-1] == y[g.y1-1] {
			g.x1, g.y1 = g.x1-1, g.y1-1
		}
		if g.x0 == g.x1 && g.y0 == g.y1 {
			return
		}
		var common []anchor
		if depth > 0 && g.x0 < g.x1 && g.y0 < g.y1 {
			common = rising(anchors(x[g.x0:g.x1], y[g.y0:g.y1]))
		}
		if len(common) == 0 {
			gaps = append(gaps, g)
			return
		}
		rest := g
		for _, a := range common {
			align(gap{rest.x0, g.x0 + a.x, rest.y0, g.y0 + a.y}, depth-1)
			rest.x0, rest.y0 = g.x0+a.x+1, g.y0+a.y+1
		}
		align(rest, depth-1)
	}
	align(gap{0, len(x), 0, len(y)}, alignDepth)
	return gaps
}

// anchor is an element that each of two lists has once, with its places.
type anchor struct{ x, y int }

// anchors returns them in the order of the first list.
func anchors(x, y []uint64) (out []anchor) {
	in, of := once(x), once(y)
	for i, j := 0, 0; i < len(in) && j < len(of); {
		switch c := cmp.Compare(x[in[i]], y[of[j]]); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			out = append(out, anchor{in[i], of[j]})
			i, j = i+1, j+1
		}
	}
	slices.SortFunc(out, func(a, b anchor) int { return cmp.Compare(a.x, b.x) })
	return out
}

// once returns the places of what a list has once, in the order of the elements.
func once(list []uint64) []int {
	at := make([]int, len(list))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int { return cmp.Compare(list[a], list[b]) })
	out := at[:0]
	for i := 0; i < len(at); {
		n := i + 1
		for n < len(at) && list[at[n]] == list[at[i]] {
			n++
		}
		if n == i+1 {
			out = append(out, at[i])
		}
		i = n
	}
	return out
}

// rising returns a longest part of the anchors whose places rise in the second list, too.
func rising(all []anchor) []anchor {
	var ends []int // of the best part of each length, its last anchor
	before := make([]int, len(all))
	for i, a := range all {
		n, _ := slices.BinarySearchFunc(ends, a.y, func(end, y int) int { return cmp.Compare(all[end].y, y) })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	out := make([]anchor, len(ends))
	for i, n := len(out)-1, len(ends)-1; i >= 0; i-- {
		if i == len(out)-1 {
			n = ends[n]
		}
		out[i] = all[n]
		n = before[n]
	}
	return out
}

// loss is what the second of two lists lacks of the first one, without what has moved.
type loss struct {
	most   int // at one place, less what stands there in its place
	all    int // at all places
	gained int // what the second one has beyond the first one
}

// lossOf finds what y lacks of x. Gaps with less than two shingles' words between them are one place: of what
// repeats itself, one may be aligned with another.
func lossOf(x, y []uint64, k int) (l loss) {
	var gaps []gap
	for _, g := range differences(x, y) {
		if n := len(gaps) - 1; n >= 0 && g.x0-gaps[n].x1 < 2*k {
			gaps[n].x1, gaps[n].y1 = g.x1, g.y1
			continue
		}
		gaps = append(gaps, g)
	}
	inX, inY := map[uint64]int{}, map[uint64]int{} // in the gaps
	for _, g := range gaps {
		for _, h := range x[g.x0:g.x1] {
			inX[h]++
		}
		for _, h := range y[g.y0:g.y1] {
			inY[h]++
		}
	}
	for _, g := range gaps {
		lost, gained := without(x[g.x0:g.x1], inY), without(y[g.y0:g.y1], inX)
		l.all, l.gained = l.all+lost, l.gained+gained
		l.most = max(l.most, lost-gained)
	}
	return l
}

// without counts what a list has beyond some elements, which it uses up.
func without(list []uint64, of map[uint64]int) (n int) {
	for _, h := range list {
		if of[h] > 0 {
			of[h]--
		} else {
			n++
		}
	}
	return n
}

// isPart reports whether a part of a page is missing at one place: see fewest.
func (l loss) isPart(of []uint64, k int) bool { return l.most > fewest(of, k) }

// fewest is the most that may be missing and be no part of a page: the words of two shingles, of a short page
// a tenth.
func fewest(of []uint64, k int) int { return min(2*k, max(1, len(of)/10)) }

// endsWithin reports whether y is the beginning of x, template or not. Its last words may be cut in two.
func endsWithin(x, y []uint64, k int) bool {
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return len(y)-n <= min(k, len(y)/2) && n > 0 && len(x)-len(y) > fewest(x, k)
}

// LacksPart reports whether another page lacks a part of this one, template or not: at any place, its end or
// its middle, with nothing in its place; or whether it has nothing but less. It is false for files
// other than text.
func (b PageBody) LacksPart(c PageBody) bool {
	if b.sum == c.sum || !b.text || !c.text {
		return false
	}
	l := lossOf(b.list, c.list, b.k)
	return l.isPart(b.list, b.k) || (l.all > 0 && l.gained == 0)
}

// own returns the shingles that are not shared, in their order.
func own(list []uint64, shared hash.Set) []uint64 {
	out := make([]uint64, 0, len(list))
	for _, h := range list {
		if !has(shared, h) {
			out = append(out, h)
		}
	}
	return out
}

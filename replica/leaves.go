package replica

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// How leaves count: those of least hash of each host are compared; fewer in common are chance; a pair's share is at least; and what the
// share adds to a score at most.
const (
	leafSample    = 256
	leastLeaves   = 4
	leastOverlap  = 0.05
	overlapWeight = 5
)

// maxCenters is how many of the biggest hosts that have something in common stand for all of them.
const maxCenters = 4

// maxFamily bounds the hosts of which every pair is compared. Of more, only the pairs found by features and votes are candidates.
const maxFamily = 1000

func (e evidence) overlaps() bool { return e.leaves >= leastLeaves && e.overlap >= leastOverlap }

func hostsOf(on []onHost) []uint32 {
	out := make([]uint32, len(on))
	for i, f := range on {
		out[i] = f.host
	}
	return out
}

// bySize returns the place of each host in the order of their sizes, the one with the most URLs first.
func bySize(hosts []considered) []uint32 {
	order := make([]uint32, len(hosts))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(hosts[b].n, hosts[a].n), cmp.Compare(a, b)) })
	place := make([]uint32, len(hosts))
	for i, host := range order {
		place[host] = uint32(i)
	}
	return place
}

// stars joins each of the hosts with those of them that have the most URLs, by their places: a number of edges in proportion to the hosts.
func stars(place, on []uint32, edge func(center, other uint32)) {
	var centers [maxCenters]uint32
	n := 0
	for _, host := range on {
		at := n
		for at > 0 && place[host] < place[centers[at-1]] {
			at--
		}
		if at == maxCenters {
			continue
		}
		n = min(n+1, maxCenters)
		copy(centers[at+1:n], centers[at:])
		centers[at] = host
	}
	for _, center := range centers[:n] {
		for _, other := range on {
			if place[other] > place[center] {
				edge(center, other)
			}
		}
	}
}

// shareLeaves adds to found the pairs whose leaves agree: those that votes suggest, and those that are connected by such pairs.
func (v *Inventory) shareLeaves(hosts []considered, place []uint32, found pairs) {
	v.finishLeaves()
	const none = math.MaxUint32
	index := slices.Repeat([]uint32{none}, len(v.list)) // by number of the host
	for i := range hosts {
		index[hosts[i].urls.number] = uint32(i)
	}
	samples := make([][]uint64, len(hosts))
	votes := tally{}
	var on []uint32
	for run := range runs(v.leaves) {
		on = on[:0]
		for _, l := range run {
			if i := index[l.host]; i != none {
				on = append(on, i)
				if len(samples[i]) < leafSample {
					samples[i] = append(samples[i], l.key)
				}
			}
		}
		stars(place, on, func(center, other uint32) { votes.add(uint64(min(center, other))<<32 | uint64(max(center, other))) })
	}
	family := NewSets(len(hosts))
	for i, n := range votes.counts {
		if k := votes.keys[i]; n >= leastLeaves {
			found.compare(samples, uint32(k>>32), uint32(k))
		}
	}
	for k, e := range found {
		if e.leaves == 0 {
			found.compare(samples, uint32(k>>32), uint32(k))
			e = found[k]
		}
		if e.overlaps() {
			family.Union(uint32(k>>32), uint32(k))
		}
	}
	for _, members := range family.All(3) {
		if len(members) <= maxFamily {
			found.compareAll(samples, members)
		}
	}
}

// compareAll compares every two of a family, whose candidates have been compared already.
func (p pairs) compareAll(samples [][]uint64, members []uint32) {
	bits := bitmaps(samples, members)
	for i, a := range members {
		for j, b := range members[i+1:] {
			e := evidence{}
			if bits == nil {
				e.leaves, e.overlap = overlapOf(samples[a], samples[b], Common(samples[a], samples[b]))
			} else {
				e.leaves, e.overlap = overlapOf(samples[a], samples[b], commonBits(bits[i], bits[i+1+j]))
			}
			if !e.overlaps() {
				continue
			}
			k := uint64(a)<<32 | uint64(b)
			if _, known := p[k]; !known {
				p[k] = e
			}
		}
	}
}

// maxBitmap is how many words a bitmap may have to be faster than merging lists.
const maxBitmap = 512

// bitmaps writes the sample of each member as a set of places in the list of all that they have; nil when that is too long to gain by it.
func bitmaps(samples [][]uint64, members []uint32) [][]uint64 {
	var all []uint64
	for _, m := range members {
		all = append(all, samples[m]...)
	}
	if len(members) < 8 {
		return nil
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > 64*maxBitmap {
		return nil
	}
	out := make([][]uint64, len(members))
	for i, m := range members {
		at := 0
		for _, x := range samples[m] {
			for all[at] < x {
				at++
			}
			for at>>6 >= len(out[i]) {
				out[i] = append(out[i], 0)
			}
			out[i][at>>6] |= 1 << (at & 63)
		}
	}
	return out
}

func commonBits(a, b []uint64) int {
	n := 0
	b = b[:min(len(a), len(b))]
	for i, x := range b {
		n += bits.OnesCount64(x & a[i])
	}
	return n
}

// compare fills in what two hosts' leaves have in common, and keeps the pair when that is enough or it is there already.
func (p pairs) compare(samples [][]uint64, a, b uint32) {
	if a > b {
		a, b = b, a
	}
	k := uint64(a)<<32 | uint64(b)
	e, known := p[k]
	e.leaves, e.overlap = overlapOf(samples[a], samples[b], Common(samples[a], samples[b]))
	if known || e.overlaps() {
		p[k] = e
	}
}

// overlapOf says of two samples of least hashes which share of the fewer is in both, as far as both reach, given how many are in both. What is in
// both is never beyond that.
func overlapOf(a, b []uint64, common int) (both int, share float64) {
	if len(a) == 0 || len(b) == 0 {
		return 0, 0
	}
	na, nb := len(a), len(b)
	switch lastA, lastB := a[na-1], b[nb-1]; {
	case na == leafSample && lastA < lastB:
		nb = upTo(b, lastA)
	case nb == leafSample && lastB < lastA:
		na = upTo(a, lastB)
	}
	if fewer := min(na, nb); fewer > 0 {
		share = float64(common) / float64(fewer)
	}
	return common, share
}

// upTo is how many of a sorted list are at most x.
func upTo(list []uint64, x uint64) int {
	i, found := slices.BinarySearch(list, x)
	if found {
		i++
	}
	return i
}

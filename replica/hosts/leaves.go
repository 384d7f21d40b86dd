// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"math"
	"slices"

	"mirrord/replica/hash"
	"mirrord/replica/unionfind"
)

// How leaves count: those of least hash of each host are compared; fewer in common are chance; a pair's share
// is at least; and what the share adds to a score at most.
const (
	leafSample    = 256
	leastLeaves   = 4
	leastOverlap  = 0.05
	overlapWeight = 5
)

// maxCenters is how many of the biggest hosts that have something in common stand for all of them.
const maxCenters = 4

// maxFamily bounds the hosts of which every pair is compared, maxListed those that have too much in common
// for bitmaps. Of more, only the pairs found by features and votes are candidates. maxPairs bounds the pairs
// that are found by comparing every two of a family, in all families; small families come first.
const (
	maxFamily = 1 << 13
	maxListed = 2000
	maxPairs  = 1 << 20
)

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
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(hosts[b].n, hosts[a].n), cmp.Compare(a, b))
	})
	place := make([]uint32, len(hosts))
	for i, host := range order {
		place[host] = uint32(i)
	}
	return place
}

// stars joins each of the hosts with those of them that have the most URLs, by their places: a number of
// edges in proportion to the hosts.
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

// noHost stands for hosts that are not considered.
const noHost = math.MaxUint32

// usualShapes returns the shapes of leaves that tell nothing and are on more than maxHosts hosts of those
// considered.
func (v *Inventory) usualShapes(index []uint32) map[uint32]bool {
	var shapes []onHost
	for _, l := range v.leaves {
		if l.extra != 0 && index[l.host] != noHost {
			shapes = append(shapes, onHost{key: hash.Mix(uint64(l.extra)), host: l.host, extra: l.extra})
		}
	}
	usual := map[uint32]bool{}
	for on := range runs(slices.Compact(sortOnHosts(shapes))) {
		if len(on) > maxHosts {
			usual[on[0].extra] = true
		}
	}
	return usual
}

// shareLeaves adds to found the pairs whose leaves agree: those that votes suggest, and those that are
// connected by such pairs.
func (v *Inventory) shareLeaves(hosts []considered, place []uint32, found pairs) {
	v.finishLeaves()
	index := slices.Repeat([]uint32{noHost}, len(v.list)) // by number of the host
	for i := range hosts {
		index[hosts[i].urls.number] = uint32(i)
	}
	usual := v.usualShapes(index)
	samples := make([][]uint64, len(hosts))
	sizes := make([]int, len(hosts)) // leaves
	votes := map[uint64]uint32{}
	var on []uint32
	for run := range runs(v.leaves) {
		on = on[:0]
		for _, l := range run {
			if i := index[l.host]; i != noHost {
				on = append(on, i)
			}
		}
		if s := run[0].extra; s != 0 && usual[s] {
			continue
		}
		for _, i := range on {
			sizes[i]++
			if len(samples[i]) < leafSample {
				samples[i] = append(samples[i], run[0].key)
			}
		}
		stars(place, on, func(center, other uint32) { votes[pairOf(center, other)]++ })
	}
	family := unionfind.New(len(hosts))
	for k, n := range votes {
		if n >= leastLeaves {
			a, b := uint32(k>>32), uint32(k)
			found.compare(samples, a, b)
			found.contain(a, b, int(n), float64(n)/float64(min(sizes[a], sizes[b])))
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
	var families [][]uint32
	for _, members := range family.All(3) {
		if len(members) <= maxFamily {
			families = append(families, members)
		}
	}
	slices.SortStableFunc(families, func(a, b []uint32) int { return cmp.Compare(len(a), len(b)) })
	room := maxPairs
	for _, members := range families {
		room -= found.compareAll(samples, members, room)
	}
}

// compareAll compares every two of a family, whose candidates have been compared already, and takes the pairs
// that agree, or the best when they are more than room. It returns how many it took.
func (p pairs) compareAll(samples [][]uint64, members []uint32, room int) int {
	each := func(f func(a, b uint32, e evidence)) {
		eachCommon(samples, members, func(i, j, common int) {
			if common < leastLeaves {
				return
			}
			e, a, b := evidence{}, members[i], members[j]
			if e.leaves, e.overlap = overlapOf(samples[a], samples[b], common); e.overlaps() {
				f(a, b, e)
			}
		})
	}
	least := 0.0
	if n := len(members); n*(n-1)/2 > room {
		var found [65]int // pairs by overlap
		each(func(_, _ uint32, e evidence) { found[int(e.overlap*64)]++ })
		at, sum := 65, 0
		for at > 0 && sum+found[at-1] <= room {
			at--
			sum += found[at]
		}
		least = float64(at) / 64
	}
	taken := 0
	each(func(a, b uint32, e evidence) {
		k := pairOf(a, b)
		if _, known := p[k]; !known && e.overlap >= least {
			p[k] = e
			taken++
		}
	})
	return taken
}

// compare fills in what two hosts' leaves have in common, and keeps the pair when that is enough or it is
// there already.
func (p pairs) compare(samples [][]uint64, a, b uint32) {
	k := pairOf(a, b)
	e, known := p[k]
	e.leaves, e.overlap = overlapOf(samples[a], samples[b], hash.Common(samples[a], samples[b]))
	if known || e.overlaps() {
		p[k] = e
	}
}

// contain takes the leaves that two hosts have in common of all that are kept, where these say more than the
// samples: a host may have a small part of what another has.
func (p pairs) contain(a, b uint32, leaves int, overlap float64) {
	k := pairOf(a, b)
	e, known := p[k]
	if overlap > e.overlap || e.leaves < leastLeaves {
		e.leaves, e.overlap = leaves, overlap
		if known || e.overlaps() {
			p[k] = e
		}
	}
}

// overlapOf says of two samples of least hashes which share of the fewer is in both, as far as both reach,
// given how many are in both. Common hashes are never beyond that.
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

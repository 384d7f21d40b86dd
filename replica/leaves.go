package replica

import (
	"cmp"
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

func hostsOf(on []hostFeature) []uint32 {
	out := make([]uint32, len(on))
	for i, f := range on {
		out[i] = f.host
	}
	return out
}

// stars joins each of the hosts with those of them that have the most URLs: a number of edges in proportion to the hosts.
func stars(hosts []considered, on []uint32, edge func(center, other uint32)) {
	on = slices.Clone(on)
	slices.SortFunc(on, func(a, b uint32) int {
		if c := cmp.Compare(hosts[b].n, hosts[a].n); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	for i, center := range on[:min(len(on), maxCenters)] {
		for _, other := range on[i+1:] {
			edge(center, other)
		}
	}
}

// shareLeaves adds to found the pairs whose leaves agree: those that votes suggest, and those that are connected by such pairs.
func (v *Inventory) shareLeaves(hosts []considered, found pairs) {
	v.finishLeaves()
	index := map[uint32]uint32{}
	for i := range hosts {
		index[hosts[i].urls.number] = uint32(i)
	}
	samples := make([][]uint64, len(hosts))
	votes := map[uint64]int{}
	var on []uint32
	for from := 0; from < len(v.leaves); {
		to := from
		for on = on[:0]; to < len(v.leaves) && v.leaves[to].hash == v.leaves[from].hash; to++ {
			if i, ok := index[v.leaves[to].host]; ok {
				on = append(on, i)
				if len(samples[i]) < leafSample {
					samples[i] = append(samples[i], v.leaves[from].hash)
				}
			}
		}
		from = to
		stars(hosts, on, func(center, other uint32) { votes[uint64(min(center, other))<<32|uint64(max(center, other))]++ })
	}
	family := NewSets(len(hosts))
	for k, n := range votes {
		if n >= leastLeaves {
			found.compare(samples, uint32(k>>32), uint32(k))
		}
	}
	for k := range found {
		found.compare(samples, uint32(k>>32), uint32(k))
		if e := found[k]; e.overlaps() {
			family.Union(uint32(k>>32), uint32(k))
		}
	}
	for _, members := range family.All(3) {
		if len(members) > maxFamily {
			continue
		}
		for i, a := range members {
			for _, b := range members[i+1:] {
				found.compare(samples, a, b)
			}
		}
	}
}

// compare fills in what two hosts' leaves have in common, and keeps the pair when that is enough or it is there already.
func (p pairs) compare(samples [][]uint64, a, b uint32) {
	if a > b {
		a, b = b, a
	}
	k := uint64(a)<<32 | uint64(b)
	e, known := p[k]
	e.leaves, e.overlap = overlapOf(samples[a], samples[b])
	if known || e.overlaps() {
		p[k] = e
	}
}

// overlapOf compares two samples of least hashes as far as both reach: how many are in both, and which share that is of the fewer.
func overlapOf(a, b []uint64) (both int, share float64) {
	if len(a) == 0 || len(b) == 0 {
		return 0, 0
	}
	if len(a) == leafSample && a[len(a)-1] < b[len(b)-1] {
		b = b[:upTo(b, a[len(a)-1])]
	}
	if len(b) == leafSample && len(a) > 0 && b[len(b)-1] < a[len(a)-1] {
		a = a[:upTo(a, b[len(b)-1])]
	}
	both = Common(a, b)
	if fewer := min(len(a), len(b)); fewer > 0 {
		share = float64(both) / float64(fewer)
	}
	return both, share
}

// upTo is how many of a sorted list are at most x.
func upTo(list []uint64, x uint64) int {
	i, found := slices.BinarySearch(list, x)
	if found {
		i++
	}
	return i
}

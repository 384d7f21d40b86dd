// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/zeebo/xxh3"
)

// Peer is a node that takes sites.
type Peer struct {
	Name   string
	Weight int // how much it takes, beside others; at least 1 counts
}

// Load is a host with the number of its sites.
type Load struct {
	Host  string
	Sites int
	Home  string // the only node that can have it; "": any
}

// slack is how much more than its share a node may have. With less more hosts move when a node comes or goes.
const slack = 1.05

// pointsPerWeight is how often a node stands on the ring. With fewer the shares differ, and full nodes are
// passed more often.
const pointsPerWeight = 40

type point struct {
	at     uint64
	member int
}

// Assign gives each host to a member: consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam,
// 2017). Who computes it from the same hosts and members has the same result. Hosts whose home is no member
// are nobody's.
func Assign(hosts []Load, members []Peer) map[string]string {
	out := make(map[string]string, len(hosts))
	if len(members) == 0 {
		return out
	}
	members = slices.SortedFunc(slices.Values(members), func(a, b Peer) int {
		return cmp.Compare(a.Name, b.Name)
	})
	weights, sites := 0, 0
	ring := make([]point, 0, len(members)*pointsPerWeight)
	byName := map[string]int{}
	for i, m := range members {
		weight := max(m.Weight, 1)
		weights += weight
		byName[m.Name] = i
		for n := range weight * pointsPerWeight {
			ring = append(ring, point{xxh3.HashString(m.Name + "\x00" + strconv.Itoa(n)), i})
		}
	}
	slices.SortFunc(ring, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.member, b.member))
	})
	load := make([]int, len(members))
	var rest []Load
	for _, h := range hosts {
		sites += max(h.Sites, 1)
		if h.Home == "" {
			rest = append(rest, h)
		} else if i, ok := byName[h.Home]; ok {
			out[h.Host], load[i] = h.Home, load[i]+max(h.Sites, 1)
		}
	}
	most := make([]int, len(members))
	for i, m := range members {
		share := slack * float64(sites) * float64(max(m.Weight, 1)) / float64(weights)
		most[i] = int(share) + 1
	}
	// the heaviest first, because they fit nowhere once all nodes are nearly full
	slices.SortFunc(rest, func(a, b Load) int {
		return cmp.Or(cmp.Compare(b.Sites, a.Sites), cmp.Compare(a.Host, b.Host))
	})
	for _, h := range rest {
		to := place(ring, load, most, h)
		out[h.Host], load[to] = members[to].Name, load[to]+max(h.Sites, 1)
	}
	return out
}

// place is the first member from the host's point on with room for it, else the one with the least.
func place(ring []point, load, most []int, h Load) int {
	hash := xxh3.HashString(h.Host)
	byPoint := func(p point, at uint64) int { return cmp.Compare(p.at, at) }
	first, _ := slices.BinarySearchFunc(ring, hash, byPoint)
	for n := range len(ring) {
		m := ring[(first+n)%len(ring)].member
		if load[m]+max(h.Sites, 1) <= most[m] {
			return m
		}
	}
	least := 0
	for i := range load {
		if load[i] < load[least] {
			least = i
		}
	}
	return least
}

// Watched returns the members that a node watches, so that the end of each one is seen by two: those that
// follow it in the circle of names.
func Watched(me string, members []string) []string {
	names := slices.Sorted(maps.Keys(setOf(members)))
	i, found := slices.BinarySearch(names, me)
	if found {
		names = slices.Delete(names, i, i+1)
	}
	if len(names) == 0 {
		return nil
	}
	out := []string{names[i%len(names)]}
	if len(names) > 1 {
		out = append(out, names[(i+1)%len(names)])
	}
	return out
}

func setOf(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}

// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"cmp"
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

// member is a Peer that gets hosts.
type member struct {
	Peer
	most  int // sites that it may have
	load  int // sites that it has
	hosts []string
}

func (m *member) take(h Load) {
	m.load += h.Sites
	m.hosts = append(m.hosts, h.Host)
}

// point is one of the places of a member on the ring.
type point struct {
	at     uint64
	member *member
}

// Share gives each host to a node, and returns the hosts by node: consistent hashing with bounded loads
// (Mirrokni, Thorup, Zadimoghaddam, 2017). The hosts choose one after the other, those with the most sites
// first: each takes the first node from its place on the ring on that has room. The result depends on the
// hosts and nodes only. Hosts whose home is no node have none.
func Share(hosts []Load, peers []Peer) map[string][]string {
	members := make(map[string]*member, len(peers))
	var ring []point
	weights, sites := 0, 0
	for _, p := range peers {
		p.Weight = max(p.Weight, 1)
		m := &member{Peer: p}
		members[p.Name] = m
		weights += p.Weight
		for n := range p.Weight * pointsPerWeight {
			ring = append(ring, point{xxh3.HashString(p.Name + "\x00" + strconv.Itoa(n)), m})
		}
	}
	slices.SortFunc(ring, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.member.Name, b.member.Name))
	})
	var choose []Load
	for _, h := range hosts {
		h.Sites = max(h.Sites, 1)
		sites += h.Sites
		if m := members[h.Home]; h.Home == "" {
			choose = append(choose, h)
		} else if m != nil {
			m.take(h)
		}
	}
	for _, m := range members {
		m.most = int(slack*float64(sites)*float64(m.Weight)/float64(weights)) + 1
	}
	// the heaviest first, because they fit nowhere once all nodes are nearly full
	slices.SortFunc(choose, func(a, b Load) int {
		return cmp.Or(cmp.Compare(b.Sites, a.Sites), cmp.Compare(a.Host, b.Host))
	})
	if len(ring) > 0 {
		for _, h := range choose {
			chosen(ring, h).take(h)
		}
	}
	of := make(map[string][]string, len(members))
	for name, m := range members {
		of[name] = m.hosts
	}
	return of
}

// chosen is the first member from the host's place on the ring on that is not full; of full ones that with
// the fewest sites.
func chosen(ring []point, h Load) *member {
	first, _ := slices.BinarySearchFunc(ring, xxh3.HashString(h.Host), func(p point, at uint64) int {
		return cmp.Compare(p.at, at)
	})
	least := ring[0].member
	for n := range ring {
		m := ring[(first+n)%len(ring)].member
		if m.load+h.Sites <= m.most {
			return m
		}
		if m.load < least.load || (m.load == least.load && m.Name < least.Name) {
			least = m
		}
	}
	return least
}

// Watched returns the members that a node watches, so that the end of each one is seen by two: those that
// follow it in the circle of names.
func Watched(me string, members []string) []string {
	names := slices.Compact(slices.Sorted(slices.Values(members)))
	i, found := slices.BinarySearch(names, me)
	if found {
		names = slices.Delete(names, i, i+1)
	}
	return slices.Concat(names[i:], names[:i])[:min(2, len(names))]
}

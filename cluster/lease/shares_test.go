// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/zeebo/xxh3"

	"mirrord/cluster/lease"
)

// assign returns who has which host.
func assign(hosts []lease.Load, members []lease.Peer) map[string]string {
	out := map[string]string{}
	for node, of := range lease.Share(hosts, members) {
		for _, host := range of {
			out[host] = node
		}
	}
	return out
}

func owners(s *simShares, members []lease.Peer) map[string]string {
	out := map[string]string{}
	for _, m := range members {
		for _, host := range s.Of(m.Name) {
			out[host] = m.Name
		}
	}
	return out
}

// Members that come, go and change their weights give the shares of the obvious way, also by difference, and
// the moves that those report are the moves.
func TestSharesByDifference(t *testing.T) {
	for seed := range uint64(35) {
		rng := rand.New(rand.NewPCG(seed, 1))
		nodes := 2 + rng.IntN(40)
		hosts, most := hosts(rng.IntN(600)), 1+rng.IntN(4)
		for i := range hosts {
			hosts[i].Sites = 1 + rng.IntN(most)
			if seed%5 == 0 && rng.IntN(4) == 0 {
				hosts[i].Home = fmt.Sprintf("n%03d", rng.IntN(nodes+2))
			}
		}
		if seed%7 == 0 && len(hosts) > 0 {
			hosts[0].Sites = 1000 // it fits nowhere
		}
		all := members(nodes)
		s, there, before := newShares(hosts), map[int]bool{}, map[string]string{}
		for step := range 25 {
			for range 1 + rng.IntN(2) {
				i := rng.IntN(nodes)
				if there[i] = !there[i]; rng.IntN(3) == 0 {
					all[i].Weight = rng.IntN(5)
				}
			}
			var now []lease.Peer
			for i, m := range all {
				if there[i] {
					now = append(now, m)
				}
			}
			moved := s.Set(now)
			got, want := owners(s, now), slow(hosts, now)
			if !maps.Equal(got, want) || !maps.Equal(want, assign(hosts, now)) {
				t.Fatalf("seed %d, step %d: %d hosts on %d nodes: other shares",
					seed, step, len(hosts), len(now))
			}
			for _, h := range hosts {
				to, is := moved[h.Host]
				if h.Home == "" && (is != (before[h.Host] != got[h.Host]) || (is && to != got[h.Host])) {
					t.Fatalf("seed %d, step %d: %s from %q to %q, told %q", seed, step, h.Host,
						before[h.Host], got[h.Host], to)
				}
			}
			before = got
		}
	}
}

type mark struct {
	at     uint64
	member int
}

// slow shares out as all versions do.
func slow(hosts []lease.Load, members []lease.Peer) map[string]string {
	out := make(map[string]string, len(hosts))
	if len(members) == 0 {
		return out
	}
	members = slices.SortedFunc(slices.Values(members), func(a, b lease.Peer) int {
		return cmp.Compare(a.Name, b.Name)
	})
	weights, sites := 0, 0
	ring := make([]mark, 0, len(members)*40)
	byName := map[string]int{}
	for i, m := range members {
		weight := max(m.Weight, 1)
		weights += weight
		byName[m.Name] = i
		for n := range weight * 40 {
			ring = append(ring, mark{xxh3.HashString(m.Name + "\x00" + strconv.Itoa(n)), i})
		}
	}
	slices.SortFunc(ring, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.member, b.member))
	})
	load := make([]int, len(members))
	var rest []lease.Load
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
		share := 1.05 * float64(sites) * float64(max(m.Weight, 1)) / float64(weights)
		most[i] = int(share) + 1
	}
	// the heaviest first, because they fit nowhere once all nodes are nearly full
	slices.SortFunc(rest, func(a, b lease.Load) int {
		return cmp.Or(cmp.Compare(b.Sites, a.Sites), cmp.Compare(a.Host, b.Host))
	})
	for _, h := range rest {
		to := place(ring, load, most, h)
		out[h.Host], load[to] = members[to].Name, load[to]+max(h.Sites, 1)
	}
	return out
}

// place is the first member from the host's point on that is not full, else the one with the least.
func place(ring []mark, load, most []int, h lease.Load) int {
	hash := xxh3.HashString(h.Host)
	byPoint := func(p mark, at uint64) int { return cmp.Compare(p.at, at) }
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

// BenchmarkShares has 1 000 nodes of four runs each share 100 000 hosts.
func BenchmarkShares(b *testing.B) {
	all, hosts := members(1000), hosts(100_000)
	for i := range all {
		all[i].Weight = 4
	}
	for b.Loop() {
		lease.Share(hosts, all)
	}
}

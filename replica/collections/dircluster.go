// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"slices"
	"strings"

	"mirrord/replica/unionfind"
)

// Copy is one of the places of a collection.
type Copy struct {
	Address
	Pages int     // below it
	Share float64 // of the pages of the largest copy, at most 1: under 0.9 it is a partial mirror
}

// DirCluster is a collection and where it lies.
type DirCluster struct {
	Copies []Copy    // the largest first
	Pairs  []DirPair // the evidence
}

// Cardinality is the number of copies, Size the number of pages of the largest.
func (c *DirCluster) Cardinality() int { return len(c.Copies) }

// Size is the number of pages of the largest copy.
func (c *DirCluster) Size() int { return c.Copies[0].Pages }

// Clusters joins directories that hold the same, those of most copies first.
func Clusters(pairs []DirPair) []DirCluster {
	number := map[Address]uint32{}
	var dirs []Copy
	id := func(a Address, pages int) uint32 {
		n, ok := number[a]
		if !ok {
			n = uint32(len(dirs))
			number[a] = n
			dirs = append(dirs, Copy{Address: a, Pages: pages})
		}
		return n
	}
	for _, p := range pairs {
		id(p.A, p.OfA)
		id(p.B, p.OfB)
	}
	sets := unionfind.New(len(dirs))
	for _, p := range pairs {
		sets.Union(number[p.A], number[p.B])
	}
	at := map[uint32]int{}
	var out []DirCluster
	for root, members := range sets.All(2) {
		at[root] = len(out)
		c := DirCluster{}
		for _, m := range members {
			c.Copies = append(c.Copies, dirs[m])
		}
		slices.SortFunc(c.Copies, func(a, b Copy) int {
			return cmp.Or(cmp.Compare(b.Pages, a.Pages), a.Address.compare(b.Address))
		})
		for i := range c.Copies {
			c.Copies[i].Share = float64(c.Copies[i].Pages) / float64(c.Copies[0].Pages)
		}
		out = append(out, c)
	}
	for _, p := range pairs {
		c := &out[at[sets.Find(number[p.A])]]
		c.Pairs = append(c.Pairs, p)
	}
	slices.SortFunc(out, func(a, b DirCluster) int {
		return cmp.Or(cmp.Compare(len(b.Copies), len(a.Copies)), cmp.Compare(b.Size(), a.Size()),
			a.Copies[0].Address.compare(b.Copies[0].Address))
	})
	return out
}

// String writes a place as an address without its protocol.
func (a Address) String() string { return a.Host + "/" + strings.TrimPrefix(a.Path, "/") }

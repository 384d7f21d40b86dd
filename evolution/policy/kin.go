// SPDX-License-Identifier: Apache-2.0

package policy

import mathbits "math/bits"

// Kin are groups of one kind, in different directories, that changed in the same runs: the pages of a site
// that has a directory for each, or of a reference in many directories that is generated as a whole. One
// request tells of all of them, as within a group.

const (
	// The expectation of kin counts as much as this many outcomes. It is more than within a group, since it is
	// less certain that they belong together.
	kinWeight = 0.5
	// Units that changed in fewer of the last 64 runs have no kin: after one change all that a rebuild of the
	// site touched would be kin.
	leastKin = 2
)

// kin are the sets of groups. The first one is empty.
type kin []kindred

// kindred is a set of groups and what was told of it.
type kindred struct {
	groups   int32
	units    int32
	pending  int32 // handed out, not told
	outcomes int32
	hits     int32
}

// newKin finds the kin of all groups.
func newKin(a *adaptive) kin {
	k := make(kin, 1)
	of := map[uint64]uint32{}
	for i := range a.gs {
		g := &a.gs[i]
		u := a.order[g.next]
		changes := mathbits.OnesCount64(a.moves(u))
		if g.kind == Listing || g.listed || changes < leastKin {
			continue
		}
		key := uint64(a.edits(u).past)<<8 | uint64(g.kind)
		at, ok := of[key]
		if !ok {
			at = uint32(len(k))
			of[key] = at
			k = append(k, kindred{})
		}
		g.kin = at
		k[at].groups++
		k[at].units += int32(g.to - g.next)
	}
	return k
}

// chance is the chance of a unit of a group of which nothing was told, after what was told of its kin.
func (k kin) chance(g *group, p float64) float64 {
	x := &k[g.kin]
	if x.outcomes == 0 {
		return p
	}
	// As with names, the square of the share of hits: one among many is one by itself.
	share := float64(x.hits) / float64(x.outcomes+1)
	return min(surest, p*kinWeight/(kinWeight+float64(x.outcomes))+share*share)
}

// behind is how many units a first request for a group would tell of, besides its own.
func (k kin) behind(g *group) float64 {
	own := int32(g.to-g.next) - 1
	if x := &k[g.kin]; x.outcomes == 0 && x.pending == 0 {
		own = max(own, x.units-1)
	}
	return float64(own)
}

// hand takes note that a unit of a group was handed out, or with -1 that it was told of.
func (k kin) hand(g *group, n int32) {
	if g.kin != 0 {
		k[g.kin].pending += n
	}
}

// tell takes an outcome. It reports whether the others have become worth much more.
func (k kin) tell(g *group, hit bool) bool {
	x := &k[g.kin]
	if g.kin == 0 || x.groups == 1 {
		return false
	}
	if x.outcomes++; hit {
		x.hits++
	}
	return hit && x.hits&(x.hits-1) == 0
}

// SPDX-License-Identifier: Apache-2.0

package policy

import mathbits "math/bits"

// How far a first change tells of others. Units that never changed are one group in each directory and kind.
// Units made by one template change as a whole; but on some sites a few of them change in every week, each
// for a reason of its own, and a run that takes the first for a sign requests a thousand in vain. Which it
// is, is learned: of the units that changed for the first time in a run, what part of those that had not
// changed before were they?

const (
	// Before anything is known this part of a group is expected to change with the first one.
	usualClump = 1 / (1 + weight)
	// Runs in which some of a kind changed in a directory for the first time after which its record counts
	// as much as the usual values of the site; the same for the site.
	clumpShrink = 3
)

// clump is, of the units that change for the first time, the mean part of their neighbours that do so in the
// same run.
type clump struct{ part, changes, runs float64 }

// add takes note of the first changes of the last 64 runs, newest first, among units of which so many have
// never changed.
func (c *clump) add(first *[64]int32, never int) {
	n := float64(never)
	for _, k := range first {
		if k > 0 {
			n += float64(k)
			c.part += float64(k) * float64(k) / n
			c.changes += float64(k)
			c.runs++
		}
	}
}

// mean is that part, shrunk to the usual part.
func (c *clump) mean(usual float64) float64 {
	if c.changes == 0 {
		return usual
	}
	return (c.runs*c.part/c.changes + clumpShrink*usual) / (c.runs + clumpShrink)
}

// clumps sets what the first change counts as in each group: all, but in those that never changed.
func clumps(a *adaptive) {
	m := a.Model
	var first [kinds][64]int32
	var never [kinds]int
	of := make([][kinds]clump, m.Dirs())
	var site clump
	for d := range m.Dirs() {
		if a.first[d] == a.first[d+1] {
			continue
		}
		first, never = [kinds][64]int32{}, [kinds]int{}
		for i := a.first[d]; i < a.first[d+1]; i++ {
			g := &a.gs[i]
			for _, u := range a.order[g.next:g.to] {
				if moves := m.at(m.moves(u), u); moves != 0 {
					first[g.kind][mathbits.Len64(moves)-1]++
				} else {
					never[g.kind]++
				}
			}
		}
		for k := range kinds {
			of[d][k].add(&first[k], never[k])
			site.add(&first[k], never[k])
		}
	}
	usual := site.mean(usualClump)
	for i := range a.gs {
		g := &a.gs[i]
		g.clump = 1
		if g.class == constant {
			g.clump = float32(min(1, of[g.dir][g.kind].mean(usual)/usualClump))
		}
	}
}

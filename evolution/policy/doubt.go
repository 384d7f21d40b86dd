// SPDX-License-Identifier: Apache-2.0

package policy

// A sitemap or listing that shows no change of a unit is believed as far as it proved right: a sitemap may
// show two of three changes of a site. Then a change of such a unit is less likely, but still possible: by
// Bayes' rule, where the likelihood of showing nothing is the share of the changes that the source hides.

// Doubter is a plan that lowers what it expects of units for which a source shows no change.
type Doubter interface {
	// Doubt takes the units for which a source shows no change, and the share of all changes that this source
	// hides. It is called before the outcomes of the units are known.
	Doubt(units []ID, hidden float64)
}

// Doubt takes the units for which a source shows no change. In each group the other units come first: a group
// is worth what its first unit is.
func (a *adaptive) Doubt(units []ID, hidden float64) {
	if a.shown == nil {
		a.shown = make(shown, len(a.state))
	}
	groups := map[uint32]bool{}
	for _, u := range units {
		if !a.In(u) || int(u) >= len(a.state) || a.state[u] != 0 {
			continue
		}
		a.shown[u] = float32(min(1, max(0, 1-hidden)))
		groups[a.groupOf(u)] = true
	}
	for i := range groups {
		g := &a.gs[i]
		left := a.order[g.next:g.to]
		var rest []ID
		kept := left[:0]
		for _, u := range left {
			if a.shown[u] > 0 {
				rest = append(rest, u)
			} else {
				kept = append(kept, u)
			}
		}
		copy(left[len(kept):], rest)
		for at := g.next; at < g.to; at++ {
			a.pos[a.order[at]] = at
		}
	}
	a.stale += 1 << 20 // all is worth another sum
}

// shown is by unit the share of the changes that a source shows which shows none of this unit; 0 without such
// a source. Nil: no unit has one.
type shown []float32

// left is the chance of a change after a source has shown none.
func (s shown) left(u ID, p float64) float64 {
	if s == nil || s[u] == 0 {
		return p
	}
	hidden := 1 - float64(s[u])
	return p * hidden / max(1-p+p*hidden, 1e-9)
}

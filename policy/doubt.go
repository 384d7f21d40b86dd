// SPDX-License-Identifier: Apache-2.0

package policy

// A source that says of a unit that it did not change is believed as far as it proved right: of the changes
// of a site a sitemap may show two of three. Then what is expected of a unit of which it says nothing new is
// less, but not nothing: by Bayes' rule, with the share of the changes that it hides for the likelihood of
// its silence.

// Doubter is a plan that takes silence as evidence.
type Doubter interface {
	// Doubt takes what a source is silent about that hides this share of all changes. It is called before the
	// units are told of.
	Doubt(units []ID, hidden float64)
}

// Doubt takes what a source is silent about. In each group the other units come first: what is expected of
// the first one that is left stands for the group.
func (a *adaptive) Doubt(units []ID, hidden float64) {
	if a.shown == nil {
		a.shown = make(shown, len(a.state))
	}
	groups := map[uint32]bool{}
	for _, u := range units {
		if !a.m.In(u) || int(u) >= len(a.state) || a.state[u] != 0 {
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

// shown are by unit what part of its changes a source shows that shows none now; nil: no source is silent.
type shown []float32

// left is what is left of a chance after what sources did not say.
func (s shown) left(u ID, p float64) float64 {
	if s == nil || s[u] == 0 {
		return p
	}
	hidden := 1 - float64(s[u])
	return p * hidden / max(1-p+p*hidden, 1e-9)
}

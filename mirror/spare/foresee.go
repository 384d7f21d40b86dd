// SPDX-License-Identifier: Apache-2.0

package spare

import "mirrord/policy"

// foreseeBatch is how much of a plan is taken at a time when nothing is requested.
const foreseeBatch = 1 << 14

// Foresee goes through the plan as if nothing had changed, and returns what it would request, with the
// reasons of the moment. owed says which URLs a run requests anyway: entry points and sources of evidence.
// The plan is at its end afterwards. No worker may run.
func (p *Planner) Foresee(owed func(id uint32) bool) map[uint32]policy.Reason {
	covered := p.coveredByDir()
	tell := func(id uint32) {
		p.plan.Tell(policy.Outcome{Unit: policy.ID(id)})
		if !p.DecidesListings() || !p.o.Listings.Has(id) {
			return
		}
		d := p.model.Tree.Of(p.o.Site.Table.URL(id))
		for _, u := range covered[d] {
			p.plan.Tell(policy.Outcome{Unit: u})
		}
		delete(covered, d)
	}
	for id := range p.o.Site.Table.Len() {
		if owed(id) {
			tell(id)
		}
	}
	asked := map[uint32]policy.Reason{}
	drain := func(next func(int) []policy.Ask, size int) {
		for batch := next(size); len(batch) > 0; batch = next(size) {
			for _, a := range batch {
				asked[uint32(a.Unit)] = a.Why
				tell(uint32(a.Unit))
			}
		}
	}
	if p.DecidesListings() {
		drain(p.plan.NextListings, p.low)
	}
	drain(p.plan.Next, foreseeBatch)
	return asked
}

// coveredByDir returns what the listing of each directory shows, when the plan decides on listings.
func (p *Planner) coveredByDir() map[policy.Dir][]policy.ID {
	out := map[policy.Dir][]policy.ID{}
	if !p.DecidesListings() {
		return out
	}
	t := p.o.Site.Table
	for id := range t.Len() {
		if p.o.Covered.Has(id) {
			d := p.model.Tree.Of(t.URL(id))
			out[d] = append(out[d], policy.ID(id))
		}
	}
	return out
}

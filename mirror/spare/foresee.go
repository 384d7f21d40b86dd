// SPDX-License-Identifier: Apache-2.0

package spare

import (
	"mirrord/mirror/ledger"
	"mirrord/policy"
	"mirrord/site"
)

// Forecast is what a run requests if nothing has changed, by number.
type Forecast struct {
	EntryPoints map[uint32]bool
	Sources     map[uint32]bool          // sources of evidence that no plan decides about
	Planned     map[uint32]policy.Reason // handed out by the plan, with the reasons of the moment
}

// Foresee runs a plan to its end. p is nil when everything is requested. No worker may run.
func Foresee(p *Planner, s *Sources, t ledger.Settled, seeds []site.URL) Forecast {
	f := Forecast{EntryPoints: map[uint32]bool{}, Sources: map[uint32]bool{}}
	for _, id := range s.First(p, seeds) {
		f.Sources[id] = true
	}
	for _, u := range seeds {
		if id, ok := t.Find([]byte(u.String())); ok {
			f.EntryPoints[id] = true
		}
	}
	if p != nil {
		f.Planned = p.foresee(func(id uint32) bool { return f.EntryPoints[id] || f.Sources[id] })
	}
	return f
}

// foreseeBatch is how much of a plan is taken at a time when nothing is requested.
const foreseeBatch = 1 << 14

// foresee goes through the plan as if nothing had changed. owed says which URLs a run requests anyway.
func (p *Planner) foresee(owed func(id uint32) bool) map[uint32]policy.Reason {
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

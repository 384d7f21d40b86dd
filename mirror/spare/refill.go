// SPDX-License-Identifier: Apache-2.0

package spare

import (
	"mirrord/policy"
	"mirrord/site"
)

// Under a policy that decides on listings, a directory listing is requested when that pays. It shows all
// files of its directory, so it is worth what they are together (policy.Model.Vouch). When it does not pay,
// neither it nor its files are requested. Always requested are the listings that are entry points or the root
// of the site, those that failed when they were last requested, and all while listings are not believed on
// this site.
//
// What listings say makes others pay, so the sources of evidence are requested in stages until no listing
// pays any more: one stage before all else, and more when what was found then raises what is expected
// elsewhere.

// Batch is what a planner hands out at a time.
type Batch struct {
	IDs      []uint32
	Listings bool // it is for the stage of listings, before all else
}

// Open lets Refill hand out whatever pays.
func (p *Planner) Open() { p.enter(phaseOpen) }

// OpenListings lets Refill hand out listings only.
func (p *Planner) OpenListings() { p.enter(phaseListings) }

// Close lets Refill hand out nothing.
func (p *Planner) Close() { p.enter(phaseClosed) }

func (p *Planner) enter(x planPhase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.dry = x, false
}

// Refill returns the next batch while the frontier runs low; an empty one means that it does not, or that the
// plan has nothing more now. short says whether fewer than low URLs are queued, or none of one of several
// origins. Call it until it returns nothing whenever the work on a URL ends, before the frontier learns of
// that end: then no worker stops while the plan has more.
func (p *Planner) Refill(short func(low int, origins []string) bool) (b Batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b.IDs) == 0 && p.phase != phaseClosed && !p.dry && short(p.low, p.origins) {
		if b.Listings = p.phase == phaseListings; b.Listings {
			b.IDs = p.nextListings()
		} else {
			b.IDs = p.next()
		}
	}
	return b
}

// next takes a batch of hints, or of the plan. A listing that comes with it waits for the next stage of
// listings.
func (p *Planner) next() (ids []uint32) {
	if ids = p.hinted.take(p.low); len(ids) > 0 {
		return ids
	}
	asks := p.plan.Next(p.low)
	for _, a := range asks {
		p.asked[min(a.Why.Why, policy.Cheap-1)]++
		if id := uint32(a.Unit); p.DecidesListings() && p.o.Listings.Has(id) {
			p.wanted = append(p.wanted, id)
		} else {
			ids = append(ids, id)
		}
	}
	p.dry = len(asks) == 0
	return ids
}

// nextListings takes the next listings that pay.
func (p *Planner) nextListings() (ids []uint32) {
	if ids, p.wanted = p.wanted, nil; len(ids) > 0 {
		return ids
	}
	for _, a := range p.plan.NextListings(p.low) {
		ids = append(ids, uint32(a.Unit))
		p.asked[min(a.Why.Why, policy.Cheap-1)]++
	}
	p.dry = len(ids) == 0
	return ids
}

// Want adds a listing to the stage that is under way.
func (p *Planner) Want(id uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted, p.dry = append(p.wanted, id), false
}

// TakeWanted takes the listings that wait.
func (p *Planner) TakeWanted() (ids []uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids, p.wanted = p.wanted, nil
	return ids
}

// DecidesOn reports whether the plan decides whether a source of evidence is requested. seeds are the entry
// points. No worker may run.
func (p *Planner) DecidesOn(id uint32, seeds []site.URL) bool {
	if !p.DecidesListings() || !p.o.Listings.Has(id) || !p.governs(id) {
		return false
	}
	t := p.o.Site.Table
	if t.State(id).Outcome() == site.Failed || p.model.Tree.Of(t.URL(id)) == policy.Root {
		return false
	}
	for _, u := range seeds {
		if s, ok := t.Find([]byte(u.String())); ok {
			if f, _ := t.Final(s); s == id || f == id {
				return false
			}
		}
	}
	return true
}

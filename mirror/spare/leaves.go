// SPDX-License-Identifier: Apache-2.0

package spare

import (
	"mirrord/mirror/ledger"
	"mirrord/policy"
	"mirrord/site"
)

// retryDead is for how many runs, at most, a planned run does not retry a dead link that only unchanged
// documents name: for as many as it has been dead, so that what comes back soon is found soon.
const retryDead = 8

// Leaves reports whether a run does not request a known URL because an unchanged document names it: the plan
// decides, or a later run. broken says that it has failed for several runs.
func (p *Planner) Leaves(id uint32, s ledger.State, broken bool) bool {
	switch {
	case p == nil || !s.Known():
		return false
	case s.Governed():
		return true
	case broken:
		return (int(id)+p.o.Run)%retryDead != 0
	}
	switch s.Outcome() {
	case site.Gone, site.Failed, site.Redirected, site.Disallowed:
		looked := p.model.Looked(id)
		return looked > 0 && p.o.Run-looked < min(looked-p.model.Died(id), retryDead)
	}
	return false
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

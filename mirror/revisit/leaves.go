// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"math"

	"mirrord/evolution/policy"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// retryBroken is in every how many runs a planned run requests a URL that has failed for several runs.
const retryBroken = 8

// Leaves reports whether a run does not request a known URL because a document names it that named it before:
// the plan decides, or a later run. broken says that it has failed for several runs. A dead link that it is
// time to request has its turn later in the run.
func (p *Planner) Leaves(id uint32, s urls.State, broken bool) bool {
	switch {
	case p == nil || !s.Known():
		return false
	case s.Governed():
		return true
	case broken:
		return (int(id)+p.Run)%retryBroken != 0
	}
	switch s.Outcome() {
	case site.Gone, site.Failed, site.Redirected, site.Disallowed:
		urgency := p.dead.urgency(id)
		if math.IsInf(urgency, 1) {
			return false
		}
		if urgency >= 1 {
			p.deadDue.add(id, urgency)
		}
		return true
	}
	return false
}

// takeDead takes the dead links that the run may request now. The caller holds the lock.
func (p *Planner) takeDead() []uint32 {
	return p.deadDue.take(p.Run, p.made, p.model.ByKey)
}

// DecidesOn reports whether the plan decides whether a source of evidence is requested. seeds are the entry
// points. No worker may run.
func (p *Planner) DecidesOn(id uint32, seeds []site.URL) bool {
	if !p.DecidesListings() || !p.Listings.Has(id) || !p.governs(id) {
		return false
	}
	t := p.Site.Table
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

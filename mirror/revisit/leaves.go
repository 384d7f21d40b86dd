// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"mirrord/evolution/policy"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// Leaves reports whether a run does not request a known URL because a document names it that named it before:
// the plan decides, or a later run. A dead link whose turn has come is requested later in the run.
func (p *Planner) Leaves(id uint32, s urls.State) bool {
	if p == nil || !s.Known() {
		return false
	}
	return s.Governed() || (!p.model.isBack(id) && p.Dead.named(id))
}

// takeDead takes the dead links that the run may request now. The caller holds the lock.
func (p *Planner) takeDead() []uint32 {
	return p.Dead.take(p.Run, p.made, p.model.ByKey)
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
		if s, ok := t.FindURL(u); ok {
			if f, _ := t.Final(s); s == id || f == id {
				return false
			}
		}
	}
	return true
}

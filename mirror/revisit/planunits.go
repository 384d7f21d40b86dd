// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"mirrord/evolution/policy"
	"mirrord/job"
	"mirrord/mirror/urls"
)

// dueIn returns the units whose turn it is by the priorities of the job, and how many they are.
func dueIn(o *PlanOptions, m *SiteModel) (due urls.IDSet, n int) {
	if !o.First.Any() {
		return due, 0
	}
	t := o.Site.Table
	for id, s := range t.All() {
		if !s.Given() || !s.Governed() {
			continue
		}
		every := o.First.Of(t.URL(id))
		if every > 0 && o.Run-m.Looked(id) >= every {
			due.Put(id, true)
			n++
		}
	}
	return due, n
}

// Due reports whether a URL is requested regardless of the policy, because the job gives it priority.
func (p *Planner) Due(id uint32) bool { return p != nil && p.due.Has(id) }

// lowWater is how many URLs wait in the frontier at least while a plan has more: twice as many as may be
// requested at a time, so that no worker waits for the plan, and not many more, because those that wait
// were chosen without the outcomes under way.
func lowWater(j *job.Job) int { return max(4, int(min(2*j.Polite.Connections, 128))) }

// Model is what the plan was made from.
func (p *Planner) Model() *SiteModel { return p.model }

// Rules are the rules that the plan follows, nil when its policy has none.
func (p *Planner) Rules() *MinedRules { return p.rules }

// DecidesListings reports whether the plan decides which listings are requested.
func (p *Planner) DecidesListings() bool {
	return p != nil && p.policy().Listings && p.Job.Evidence.Listings && p.Trusted
}

// Key is a number of a URL that does not depend on the order in which URLs were found, as far as there is a
// plan.
func (p *Planner) Key(id uint32) uint32 {
	if !p.governs(id) {
		return id
	}
	return p.model.Key(policy.ID(id))
}

// governs reports whether a number is a unit of the plan.
func (p *Planner) governs(id uint32) bool { return p != nil && int(id) < p.model.Units() }

// Skips reports whether a rule of the plan skips a URL. A listing or feed in a skipped directory is not
// requested either.
func (p *Planner) Skips(id uint32) bool { return p.governs(id) && p.Reason(id).Why == policy.Rule }

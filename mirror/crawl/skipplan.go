// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"mirrord/mirror/render"
	"mirrord/mirror/revisit"
)

// newSkipPlan returns what decides which requests are not needed, before the records are loaded.
func (r *Retrieval) newSkipPlan() *revisit.SkipPlan {
	return revisit.NewSkipPlan(revisit.SkipPlanOptions{
		Job:      r.Job,
		Policies: r.Options.Policies,
		Run:      r.Run.Number,
		Started:  r.Started,
		Now:      r.Now,
		Table:    r.Table,
		Records:  r.Site.Records,
		Facts:    r.Site.Notes,
		First:    r.Rules.First,
	})
}

// endSkipPlan takes what earlier runs found unreliable, when the records are loaded.
func (r *loaded) endSkipPlan() error {
	damaged, err := r.skipPlan.Recall()
	if damaged != nil {
		r.Log.Warn("what earlier runs found unreliable cannot be decoded; starting without", "err", damaged)
	}
	return err
}

// makePlan plans the run.
func (r *loaded) makePlan() error {
	terms := revisit.PlanTerms{
		Published: r.Live != nil,
		NewRules:  r.Rescan,
		Followed:  r.chain.Upstream.Follows(),
	}
	_, err := r.skipPlan.MakePlan(terms, r.knownSite)
	if err != nil || r.skipPlan.Plan == nil {
		return err
	}
	for id, s := range r.Table.Settled().All() {
		if s.Answered() { // before the run was interrupted
			r.skipPlan.Plan.Tell(id, s.Seen())
		}
	}
	r.Run.Planned = true
	return nil
}

// knownSite is what models, histories and rules of the site are made from.
func (r *Retrieval) knownSite() revisit.KnownSite {
	r.Layout.Primary = render.Primary(r.Site.Trees, r.Live, r.Table.Settled(), r.Rules.Seeds)
	return revisit.KnownSite{
		Name:     r.Site.Name,
		Primary:  r.Layout.Primary,
		Table:    r.Table.Settled(),
		Observed: r.Site.Records,
	}
}

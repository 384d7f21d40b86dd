// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/render"
	"mirrord/mirror/spare"
)

// startAdvice begins what decides which requests are not needed, before the records are loaded.
func (r *run) startAdvice() {
	r.advice = spare.NewAdvice(spare.AdviceOptions{
		Job:      r.job,
		Policies: r.o.Policies,
		Run:      r.state.Number,
		Started:  r.started,
		Now:      r.now,
		Table:    r.table,
		Records:  r.site.Records,
		Facts:    r.site.Notes,
	})
}

// endAdvice takes what earlier runs found unreliable, when the records are loaded.
func (r *run) endAdvice() error {
	damaged, err := r.advice.Recall()
	if damaged != nil {
		r.log.Warn("what earlier runs found unreliable cannot be decoded; starting without", "err", damaged)
	}
	return err
}

// makePlan plans the run.
func (r *run) makePlan() error {
	_, err := r.advice.MakePlan(spare.PlanTerms{Published: r.live != nil, NewRules: r.rescan}, r.knownSite)
	if err != nil || r.advice.Plan == nil {
		return err
	}
	for id, s := range r.table.Settled().All() {
		if s.Answered() { // before the run was interrupted
			r.advice.Plan.Tell(id, s.Seen())
		}
	}
	r.state.Planned = true
	return nil
}

// knownSite is what models, histories and rules of the site are made from.
func (r *run) knownSite() spare.KnownSite {
	r.layout.Primary = render.Primary(r.site, r.live, r.table.Settled(), r.rules.Seeds)
	return spare.KnownSite{
		Name:     r.site.Name,
		Primary:  r.layout.Primary,
		Table:    r.table.Settled(),
		Observed: r.site.Records,
	}
}

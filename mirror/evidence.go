// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/spare"
)

// Which URLs need not be requested is decided by package spare. This file carries out what it decides: it
// requests sources of evidence and audits, reads stored bodies of sources, and applies what is decided
// without a request.

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
		r.log.Warn("what earlier runs found unreliable cannot be decoded; starting without it", "err", damaged)
	}
	return err
}

// skipKnown requests the sources of evidence and audits, and takes out of the run what need not be requested.
func (r *run) skipKnown(stage func()) error {
	if r.rescan || r.live == nil || !(r.advice.Sources.Any() || r.advice.Validators.Any()) {
		return nil
	}
	r.advice.Evidence.Begin()
	for i := range r.advice.Sources.Answered {
		if err := r.read.hearStored(&r.advice.Sources.Answered[i]); err != nil {
			return err
		}
	}
	for _, id := range r.advice.Sources.First(r.advice.Plan, r.rules.Seeds) {
		r.motor.Entrance.Known(id, crawl.PrioSeed)
	}
	stage()
	if r.advice.Plan.DecidesListings() { // with what the sources say that are requested in any case
		r.listingStage(stage)
	}
	r.advice.Evidence.AddFresh()
	if r.advice.Plan == nil { // else the plan says what is requested, see refill
		for _, id := range r.advice.Validators.PickAudits(r.table, r.advice.Evidence.Unchanged()) {
			r.motor.Entrance.Known(id, crawl.PrioSeed)
		}
	}
	return r.skipUnchanged(stage)
}

// skipUnchanged audits the evidence, and takes out of the run what need not be requested by what the sources
// said. It ends the stage of the sources.
func (r *run) skipUnchanged(stage func()) error {
	var audits spare.Audits
	for k := range ledger.EvidenceKinds {
		audits[k] = r.advice.Evidence.PickAudits(k)
		for _, id := range audits[k] {
			r.motor.Entrance.Known(id, crawl.PrioSeed)
		}
	}
	stage()
	if err := r.distrustValidators(); err != nil {
		return err
	}
	defer r.advice.Evidence.End() // what is skipped must not be requested because another URL links to it
	if r.stopped() {
		return nil
	}
	covered, caught, trust, err := r.advice.Evidence.Decide(audits)
	if err != nil {
		return err
	}
	for _, c := range caught {
		r.notes.Add(c.Note, c.URL)
	}
	if trust != nil {
		if err := r.site.Notes.SetFact(spare.TrustFact, trust); err != nil {
			return err
		}
	}
	for _, c := range covered {
		if err := r.skipOne(c); err != nil {
			return err
		}
	}
	return nil
}

// skipOne records a resource as unchanged without a request. Its links come from the store.
func (r *run) skipOne(c spare.Covered) error {
	u := r.table.URL(c.ID)
	if r.motor.Origins.Forbids(u) {
		return nil
	}
	if _, first := r.table.Queue(c.ID); !first {
		return nil
	}
	rec, ok, err := r.site.Records.Get(u)
	if err != nil || !ok {
		return err
	}
	targets, err := r.site.Records.TargetsOf(c.ID)
	if err != nil {
		return err
	}
	r.admission.Stored(targets)
	r.apply(spare.UnchangedBy(rec, c.Kind, r.now()))
	return nil
}

// distrustValidators stores the directories in which audits have found validators to be unreliable.
func (r *run) distrustValidators() error {
	without, err := r.advice.Validators.Distrust(&r.notes)
	if err != nil || without == nil {
		return err
	}
	return r.site.Notes.SetFact(spare.ValidatorsFact, without)
}

// listingStage requests first the listings that other listings say have changed, then those that pay; any
// says whether there were some.
func (r *run) listingStage(stage func()) (any bool) {
	p := r.advice.Plan
	for ids := p.TakeWanted(); len(ids) > 0; ids = p.TakeWanted() {
		for _, id := range ids {
			r.motor.Entrance.Known(id, crawl.PrioSeed)
		}
		any = true
		stage()
	}
	p.OpenListings()
	defer p.Close()
	r.refill()
	any = r.motor.Front.State(r.now()).Queued > 0 || any
	stage()
	return any
}

// moreListings requests the listings that have come to pay, and what they show, until none pays.
func (r *run) moreListings(stage func()) error {
	p := r.advice.Plan
	for p.DecidesListings() && !r.stopped() {
		r.advice.Evidence.Begin()
		any := r.listingStage(stage)
		if err := r.skipUnchanged(stage); err != nil || (!any && !r.motor.Entrance.AnyDelayed()) {
			return err
		}
		r.motor.Entrance.EndWait()
		p.Open()
		r.refill()
		stage()
	}
	return nil
}

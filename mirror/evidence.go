// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"io"
	"net/http"

	"mirrord/listing"
	"mirrord/mirror/crawl"
	"mirrord/mirror/intake"
	"mirrord/mirror/ledger"
	"mirrord/mirror/spare"
	"mirrord/store"
)

// Which URLs need not be requested is decided by package spare. This file carries out what it decides: it
// requests sources of evidence and audits, reads stored bodies of sources, and applies what is decided
// without a request.

// startAdvice begins what decides which requests are not needed, before the records are loaded.
func (r *run) startAdvice() {
	r.sources = new(spare.Sources)
	r.validators = spare.NewValidators(r.state.Number)
}

// loadAdvice takes a record.
func (r *run) loadAdvice(rec *store.Resource) {
	r.sources.Load(rec, r.job.Evidence, r.state.Number, r.started)
	r.validators.Load(rec)
}

// endAdvice takes what earlier runs found unreliable, when the records are loaded.
func (r *run) endAdvice() error {
	r.validators.Loaded()
	trust, err := r.site.Notes.Fact(spare.TrustFact)
	if err != nil {
		return err
	}
	without, err := r.site.Notes.Fact(spare.ValidatorsFact)
	if err != nil {
		return err
	}
	if err := r.validators.Read(without); err != nil {
		r.log.Warn("the list of directories with unreliable validators cannot be decoded; starting with an empty one",
			"err", err)
	}
	r.evidence, err = spare.NewEvidence(spare.EvidenceOptions{
		Job:     r.job.Evidence,
		Run:     r.state.Number,
		Table:   r.table,
		Records: r.site.Records,
		Sources: r.sources,
		Now:     r.now,
	}, trust)
	if err != nil {
		r.log.Warn("the record of unreliable evidence cannot be decoded; starting with an empty one",
			"err", err)
	}
	return nil
}

// hearStored takes the stored body of a source that has not changed as evidence.
func (r *run) hearStored(rec *store.Resource) error {
	switch {
	case rec.Listing:
		p := <-r.procs
		defer func() { r.procs <- p }()
		fr, err := r.site.Frames.ReadFrame(p.r, rec.At)
		if err != nil {
			return nil // verify reports it; without evidence everything is requested
		}
		if l, ok := listing.Parse(fr.Body, rec.URL); ok {
			return r.evidence.HearListing(l, rec.URL)
		}
	case ledger.IsSitemap(rec):
		return r.hearStoredSitemap(rec)
	}
	return nil
}

func (r *run) hearStoredSitemap(rec *store.Resource) error {
	f, err := r.o.State.Bodies.Open(rec.Digest, 0, intake.MaxSitemap)
	if err != nil {
		return nil // verify reports it
	}
	defer f.Close()
	body, err := io.ReadAll(f)
	if err != nil {
		return &store.DiskError{Op: "read sitemap", Err: err}
	}
	list := r.readSitemap(rec.URL, body)
	if !list.Index {
		return r.evidence.HearSitemap(list, rec.URL)
	}
	for u := range intake.Locations(rec.URL, list) {
		r.admission.Sitemap(u)
	}
	return nil
}

// skipKnown requests the sources of evidence and audits, and takes out of the run what need not be requested.
func (r *run) skipKnown(stage func()) error {
	if r.rescan || r.live == nil || !(r.sources.Any() || r.validators.Any()) {
		return nil
	}
	r.evidence.Follow(r.planner)
	r.evidence.Begin()
	for i := range r.sources.Answered {
		if err := r.hearStored(&r.sources.Answered[i]); err != nil {
			return err
		}
	}
	for _, id := range r.sources.First(r.planner, r.rules.Seeds) {
		r.entrance.Known(id, crawl.PrioSeed)
	}
	stage()
	if r.planner.DecidesListings() { // with what the sources say that are requested in any case
		r.listingStage(stage)
	}
	r.evidence.AddFresh()
	if r.planner == nil { // else the plan says what is requested, see refill
		for _, id := range r.validators.PickAudits(r.table, r.evidence.Unchanged()) {
			r.entrance.Known(id, crawl.PrioSeed)
		}
	}
	return r.skipUnchanged(stage)
}

// skipUnchanged audits the evidence, and takes out of the run what need not be requested by what the sources
// said. It ends the stage of the sources.
func (r *run) skipUnchanged(stage func()) error {
	var audits spare.Audits
	for k := range ledger.EvidenceKinds {
		audits[k] = r.evidence.PickAudits(k)
		for _, id := range audits[k] {
			r.entrance.Known(id, crawl.PrioSeed)
		}
	}
	stage()
	if err := r.distrustValidators(); err != nil {
		return err
	}
	defer r.evidence.End() // what is skipped must not be requested because another URL links to it
	if r.stopped() {
		return nil
	}
	covered, caught, trust, err := r.evidence.Decide(audits)
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
	if r.origins.Forbids(u) {
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
	without, err := r.validators.Distrust(&r.notes)
	if err != nil || without == nil {
		return err
	}
	return r.site.Notes.SetFact(spare.ValidatorsFact, without)
}

// expires returns until when the site says that what it answered now stays as it is, in Unix seconds; 0 when
// it said nothing, or the job does not use it.
func (r *run) expires(h http.Header) int64 {
	if !r.job.Evidence.Expiry {
		return 0
	}
	return spare.Expires(h, r.now())
}

// listingStage requests first the listings that other listings say have changed, then those that pay; any
// says whether there were some.
func (r *run) listingStage(stage func()) (any bool) {
	p := r.planner
	for ids := p.TakeWanted(); len(ids) > 0; ids = p.TakeWanted() {
		for _, id := range ids {
			r.entrance.Known(id, crawl.PrioSeed)
		}
		any = true
		stage()
	}
	p.OpenListings()
	defer p.Close()
	r.refill()
	any = r.front.State(r.now()).Queued > 0 || any
	stage()
	return any
}

// moreListings requests the listings that have come to pay, and what they show, until none pays.
func (r *run) moreListings(stage func()) error {
	p := r.planner
	for p.DecidesListings() && !r.stopped() {
		r.evidence.Begin()
		any := r.listingStage(stage)
		if err := r.skipUnchanged(stage); err != nil || (!any && !r.entrance.AnyDelayed()) {
			return err
		}
		r.entrance.EndWait()
		p.Open()
		r.refill()
		stage()
	}
	return nil
}

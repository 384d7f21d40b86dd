// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/crawl"
	"mirrord/mirror/exchange"
	"mirrord/mirror/keep"
	"mirrord/mirror/ledger"
	"mirrord/mirror/result"
	"mirrord/mirror/source"
	"mirrord/site"
	"mirrord/store"
)

// retrieve is phase one. The error says why it ended before nothing was left to ask.
func (r *run) retrieve(parent context.Context) error {
	if err := r.load(); err != nil {
		r.lost = err
		return err
	}
	r.settleBase()
	if err := r.shapes.LearnEntries(r.Table.Settled(), r.Rules.Seeds, r.Site.Records.Get); err != nil {
		r.lost = err
		return err
	}
	r.admission = r.newAdmission()
	r.keeper = r.newKeeper()
	defer r.keeper.Close()
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	r.stop = stop
	if r.Job.Limits.MaxTime > 0 {
		defer time.AfterFunc(r.Job.Limits.MaxTime, func() {
			stop(
				result.LimitError{What: fmt.Sprintf("limits.max_time = %v is over; run again to go on",
					r.Job.Limits.MaxTime)})
		}).Stop()
	}
	r.commits = ledger.NewCommitter(ledger.CommitOptions{
		Table:   r.Table,
		Journal: r.Site.Records,
		Large:   source.PartBytes,
		Room:    func() error { return diskRoom(r.Site.Dir(), r.Job.Limits.MinFree) },
		Stop:    stop,
	})
	r.commits.Start()

	defer r.chain.Reuse.Close()
	note, err := r.chain.Reuse.Prepare(ctx)
	if note != "" {
		r.Notes.Cap(note)
	}
	if err != nil {
		r.stop(err)
	}
	s := r.newStages()
	workers := &crawl.Workers{
		Front:       r.motor.Front,
		Connections: int(r.Job.Polite.Connections),
		Now:         r.Now,
		Release:     r.motor.Gate.Release,
		Ask:         r.ask,
		After:       s.refill,
		Stop:        stop,
	}
	s.stage = func() { workers.Stage(ctx) }
	if err := r.makePlan(); err != nil {
		r.stop(err)
	}
	r.exchange = r.newExchange()
	s.hear = r.exchange.HearStored
	if !r.Rescan && r.Live != nil {
		if err := s.skipKnown(); err != nil {
			r.stop(err)
		}
	}
	r.motor.Entrance.EndWait()
	for _, u := range r.Rules.Seeds {
		r.motor.Entrance.New(u, ledger.Named, crawl.PrioSeed)
	}
	if r.advice.Plan == nil {
		if err := r.motor.Entrance.All(r.dropRefused); err != nil {
			r.stop(err)
		}
	} else {
		r.motor.Entrance.Owed(r.Traits.Broken, r.Provenance.Owed)
		r.advice.Plan.Open()
	}
	if r.Resumed {
		if err := r.exchange.ResumeLinks(); err != nil {
			r.stop(err)
		}
	}
	s.refill()
	s.stage()
	if err := s.moreListings(); err != nil {
		r.stop(err)
	}
	if r.skips, err = s.skipRest(ctx); err != nil {
		r.stop(err)
	}
	if err := r.openCircles(s.stage); err != nil {
		r.stop(err)
	}
	err = r.commits.Close()
	r.lost = err
	if err == nil && !r.stopped() {
		r.probeOrigins(ctx)
	}
	r.betweenPhases()
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// newStages returns what carries out the advice of the run. stage and hear are for the caller to set.
func (r *run) newStages() *stages {
	return &stages{
		advice:  r.advice,
		seeds:   r.Rules.Seeds,
		table:   r.Table,
		records: r.Site.Records,
		facts:   r.Site.Notes,
		notes:   &r.Notes,
		now:     r.Now,
		log:     r.Log,
		motor:   r.motor,
		follow:  r.admission.Stored,
		apply:   r.apply,
	}
}

// newAdmission returns what decides which URLs enter the frontier.
func (r *run) newAdmission() *crawl.Admission {
	return crawl.NewAdmission(crawl.AdmissionOptions{
		Rules:    r.Rules,
		Table:    r.Table,
		Traits:   &r.Traits,
		Variants: r.variants,
		Origins:  r.motor.Origins,
		Entrance: r.motor.Entrance,
		Front:    r.motor.Front,
		Counts:   &r.Counts,
		Notes:    &r.Notes,
		MaxDepth: r.Job.Limits.MaxDepth,
		Run:      r.Run.Number,
		Rescan:   r.Rescan,
		First:    func() bool { return r.advice.Evidence.First() },
		Planned:  func() bool { return r.advice.Plan != nil },
		Leaves: func(id uint32, s ledger.State) bool {
			return r.advice.Plan.Leaves(id, s, r.Traits.Broken(id))
		},
	})
}

// dropRefused takes a URL out of the mirror that the old rules admitted and the new ones refuse, and reports
// whether it is one.
func (r *run) dropRefused(id uint32, u site.URL, s ledger.State) (refused bool, err error) {
	if !r.Rescan || s.Outcome() == site.OutOfScope || r.Traits.Sitemap(id) {
		return false, nil
	}
	ok, reason := r.Rules.Allow(u, crawl.PurposeOf(s))
	if ok {
		return false, nil
	}
	rec, err := r.exchange.Record(id, u)
	if err != nil {
		return false, err
	}
	rec.Outcome, rec.Reason = site.OutOfScope, reason
	as := ledger.Account{Room: ledger.Leave(&rec, r.Version)}
	r.apply(&ledger.Finding{Done: store.Done{Resource: rec}, As: as})
	return true, nil
}

// ask does the work of one URL and reports whether the turn of its host was used.
func (r *run) ask(ctx context.Context, id uint32, release func(fetch.Observation)) (used bool, err error) {
	rec, err := r.exchange.Record(id, r.Table.URL(id))
	if err != nil {
		return false, err
	}
	f, used, err := r.exchange.Look(ctx, &rec, release)
	switch {
	case errors.Is(err, fetch.ErrCanceled), err != nil && ctx.Err() != nil:
		return used, nil
	case err != nil:
		return used, err
	}
	r.conclude(id, rec.URL, f)
	return used, nil
}

// betweenPhases gives the memory of retrieval back, so that a run needs the larger of its phases and not
// their sum.
func (r *run) betweenPhases() {
	r.exchange, r.admission, r.keeper = nil, nil, nil
	r.variants.Drop()
	r.motor.Front.Drop()
	debug.FreeOSMemory()
}

// newExchange returns what finds out what a URL comes to. The plan is made.
func (r *run) newExchange() *exchange.Exchange {
	return exchange.New(exchange.Options{
		Job:        r.Job,
		Rules:      r.Rules,
		Layout:     r.Layout,
		Run:        r.Recording(),
		Rescan:     r.Rescan,
		Log:        r.Log,
		Now:        r.Now,
		Robots:     r.Options.Robots,
		Chain:      &r.chain,
		Records:    r.Site.Records,
		Frames:     r.Site.Frames,
		Bodies:     r.Options.State.Bodies,
		Keeper:     r.keeper,
		Table:      r.Table,
		Traits:     &r.Traits,
		Provenance: &r.Provenance,
		Counts:     &r.Counts,
		Notes:      &r.Notes,
		Admission:  r.admission,
		Motor:      r.motor,
		Advice:     r.advice,
		Shapes:     &r.shapes,
	})
}

// newKeeper returns what stores the bodies of the run. A site that lives as long as its one run knows no
// digests.
func (r *run) newKeeper() *keep.Keeper {
	o := keep.Options{
		Frames: r.Site.Frames,
		Bodies: r.Options.State.Bodies,
		Get:    r.Site.Records.Get,
		URL:    r.Table.URL,
		InSet:  r.Table.InSet,
		Run:    r.Run.Number,
		Log:    r.Log,
		Failed: func(err error) {
			const what = "pages that say the same are not looked for any more"
			r.Log.Warn(what, "err", err)
			r.Notes.Add(what+": "+err.Error(), r.Rules.Seeds[0])
		},
	}
	if !r.Site.Volatile() {
		o.Digests = r.Site.Digests
	}
	return keep.New(o)
}

// conclude carries out what one turn of a URL came to.
func (r *run) conclude(id uint32, u site.URL, f exchange.Found) {
	r.Traits.Spend(id, f.Spent|f.Turn.Why)
	if f.Turn.Why != 0 {
		r.motor.Entrance.Again(id, u.Origin(), f.Turn.At)
	}
	if f.Finding != nil {
		r.apply(f.Finding)
	}
}

// diskRoom says why nothing more may be stored: less than the job's limit is left on the disk of dir.
func diskRoom(dir string, least job.Size) error {
	if least <= 0 {
		return nil
	}
	free, err := store.FreeBytes(dir)
	if err != nil || free >= int64(least) {
		return nil
	}
	return result.LimitError{What: "less than limits.min_free = " + least.String() +
		" is left on the disk of the state directory; free some space and run again to go on"}
}

// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/crawl"
	"mirrord/mirror/intake"
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
	r.read = r.newReading()
	r.asks = r.newAsking()
	s.hear = r.read.hearStored
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
		if err := r.read.resumeLinks(); err != nil {
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
	rec, err := r.read.record(id, u)
	if err != nil {
		return false, err
	}
	rec.Outcome, rec.Reason = site.OutOfScope, reason
	as := ledger.Account{Room: leave(&rec, r.Version)}
	r.apply(&ledger.Finding{Done: store.Done{Resource: rec}, As: as})
	return true, nil
}

// ask does the work of one URL and reports whether the turn of its host was used.
func (r *run) ask(ctx context.Context, id uint32, release func(fetch.Observation)) (used bool, err error) {
	rec, err := r.read.record(id, r.Table.URL(id))
	if err != nil {
		return false, err
	}
	f, used, err := r.asks.look(ctx, &rec, release)
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
	r.read, r.asks, r.admission, r.keeper = nil, nil, nil, nil
	r.variants.Drop()
	r.motor.Front.Drop()
	debug.FreeOSMemory()
}

// newAsking returns what asks for URLs.
func (r *run) newAsking() *asking {
	return &asking{
		job:        r.Job,
		rules:      r.Rules,
		log:        r.Log,
		now:        r.Now,
		robots:     r.Options.Robots,
		chain:      &r.chain,
		read:       r.read,
		table:      r.Table,
		traits:     &r.Traits,
		provenance: &r.Provenance,
		stats:      &r.Counts,
		notes:      &r.Notes,
		admission:  r.admission,
		motor:      r.motor,
		advice:     r.advice,
	}
}

// newReading returns what reads answers. The plan is made.
func (r *run) newReading() *reading {
	return &reading{
		job:        r.Job,
		rules:      r.Rules,
		layout:     r.Layout,
		run:        r.Recording(),
		rescan:     r.Rescan,
		now:        r.Now,
		site:       r.Site,
		bodies:     r.Options.State.Bodies,
		keeper:     r.keeper,
		procs:      r.newProcessors(),
		table:      r.Table,
		traits:     &r.Traits,
		provenance: &r.Provenance,
		stats:      &r.Counts,
		notes:      &r.Notes,
		admission:  r.admission,
		motor:      r.motor,
		advice:     r.advice,
		shapes:     &r.shapes,
	}
}

// newProcessors returns as many processors as there are CPUs.
func (r *run) newProcessors() chan *processor {
	o := intake.Options{
		Rules:        r.Rules,
		MaxLinks:     int(r.Job.Limits.MaxLinks),
		Scripts:      r.Job.Scripts,
		ObeyRobots:   r.Job.ObeyRobots,
		ObeyNofollow: r.Job.ObeyNofollow,
		Tired:        r.admission.Tired,
	}
	n := runtime.GOMAXPROCS(0)
	procs := make(chan *processor, n)
	for range n {
		procs <- &processor{
			read: intake.NewReader(o),
			w:    r.Site.Frames.NewFrameWriter(),
			r:    store.NewFrameReader(),
		}
	}
	return procs
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
func (r *run) conclude(id uint32, u site.URL, f found) {
	r.Traits.Spend(id, f.spent|f.turn.Why)
	if f.turn.Why != 0 {
		r.motor.Entrance.Again(id, u.Origin(), f.turn.At)
	}
	if f.finding != nil {
		r.apply(f.finding)
	}
}

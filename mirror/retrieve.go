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
	if err := r.shapes.LearnEntries(r.table.Settled(), r.rules.Seeds, r.site.Records.Get); err != nil {
		r.lost = err
		return err
	}
	r.admission = r.newAdmission()
	r.keeper = r.newKeeper()
	defer r.keeper.Close()
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	r.stop = stop
	if r.job.Limits.MaxTime > 0 {
		defer time.AfterFunc(r.job.Limits.MaxTime, func() {
			stop(
				result.LimitError{What: fmt.Sprintf("limits.max_time = %v is over; run again to go on",
					r.job.Limits.MaxTime)})
		}).Stop()
	}
	r.commits = ledger.NewCommitter(ledger.CommitOptions{
		Table:   r.table,
		Journal: r.site.Records,
		Large:   source.PartBytes,
		Room:    func() error { return diskRoom(r.site.Dir(), r.job.Limits.MinFree) },
		Stop:    stop,
	})
	r.commits.Start()

	defer r.chain.Reuse.Close()
	note, err := r.chain.Reuse.Prepare(ctx)
	if note != "" {
		r.notes.Cap(note)
	}
	if err != nil {
		r.stop(err)
	}
	s := r.newStages()
	workers := &crawl.Workers{
		Front:       r.motor.Front,
		Connections: int(r.job.Polite.Connections),
		Now:         r.now,
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
	if !r.rescan && r.live != nil {
		if err := s.skipKnown(); err != nil {
			r.stop(err)
		}
	}
	r.motor.Entrance.EndWait()
	for _, u := range r.rules.Seeds {
		r.motor.Entrance.New(u, ledger.Named, crawl.PrioSeed)
	}
	if r.advice.Plan == nil {
		if err := r.motor.Entrance.All(r.dropRefused); err != nil {
			r.stop(err)
		}
	} else {
		r.motor.Entrance.Owed(r.traits.Broken, r.provenance.Owed)
		r.advice.Plan.Open()
	}
	if r.resumed {
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
		seeds:   r.rules.Seeds,
		table:   r.table,
		records: r.site.Records,
		facts:   r.site.Notes,
		notes:   &r.notes,
		now:     r.now,
		log:     r.log,
		motor:   r.motor,
		follow:  r.admission.Stored,
		apply:   r.apply,
	}
}

// newAdmission returns what decides which URLs enter the frontier.
func (r *run) newAdmission() *crawl.Admission {
	return crawl.NewAdmission(crawl.AdmissionOptions{
		Rules:    r.rules,
		Table:    r.table,
		Traits:   &r.traits,
		Variants: r.variants,
		Origins:  r.motor.Origins,
		Entrance: r.motor.Entrance,
		Front:    r.motor.Front,
		Counts:   &r.stats,
		Notes:    &r.notes,
		MaxDepth: r.job.Limits.MaxDepth,
		Run:      r.state.Number,
		Rescan:   r.rescan,
		First:    func() bool { return r.advice.Evidence.First() },
		Planned:  func() bool { return r.advice.Plan != nil },
		Leaves: func(id uint32, s ledger.State) bool {
			return r.advice.Plan.Leaves(id, s, r.traits.Broken(id))
		},
	})
}

// dropRefused takes a URL out of the mirror that the old rules admitted and the new ones refuse, and reports
// whether it is one.
func (r *run) dropRefused(id uint32, u site.URL, s ledger.State) (refused bool, err error) {
	if !r.rescan || s.Outcome() == site.OutOfScope || r.traits.Sitemap(id) {
		return false, nil
	}
	ok, reason := r.rules.Allow(u, crawl.PurposeOf(s))
	if ok {
		return false, nil
	}
	rec, err := r.read.record(id, u)
	if err != nil {
		return false, err
	}
	rec.Outcome, rec.Reason = site.OutOfScope, reason
	as := ledger.Account{Room: leave(&rec, r.version)}
	r.apply(&ledger.Finding{Done: store.Done{Resource: rec}, As: as})
	return true, nil
}

// ask does the work of one URL and reports whether the turn of its host was used.
func (r *run) ask(ctx context.Context, id uint32, release func(fetch.Observation)) (used bool, err error) {
	rec, err := r.read.record(id, r.table.URL(id))
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
		job:        r.job,
		rules:      r.rules,
		log:        r.log,
		now:        r.now,
		robots:     r.o.Robots,
		chain:      &r.chain,
		read:       r.read,
		table:      r.table,
		traits:     &r.traits,
		provenance: &r.provenance,
		stats:      &r.stats,
		notes:      &r.notes,
		admission:  r.admission,
		motor:      r.motor,
		advice:     r.advice,
	}
}

// newReading returns what reads answers. The plan is made.
func (r *run) newReading() *reading {
	return &reading{
		job:        r.job,
		rules:      r.rules,
		layout:     r.layout,
		run:        r.recording(),
		rescan:     r.rescan,
		now:        r.now,
		site:       r.site,
		bodies:     r.o.State.Bodies,
		keeper:     r.keeper,
		procs:      r.newProcessors(),
		table:      r.table,
		traits:     &r.traits,
		provenance: &r.provenance,
		stats:      &r.stats,
		notes:      &r.notes,
		admission:  r.admission,
		motor:      r.motor,
		advice:     r.advice,
		shapes:     &r.shapes,
	}
}

// newProcessors returns as many processors as there are CPUs.
func (r *run) newProcessors() chan *processor {
	o := intake.Options{
		Rules:        r.rules,
		MaxLinks:     int(r.job.Limits.MaxLinks),
		Scripts:      r.job.Scripts,
		ObeyRobots:   r.job.ObeyRobots,
		ObeyNofollow: r.job.ObeyNofollow,
		Tired:        r.admission.Tired,
	}
	n := runtime.GOMAXPROCS(0)
	procs := make(chan *processor, n)
	for range n {
		procs <- &processor{
			read: intake.NewReader(o),
			w:    r.site.Frames.NewFrameWriter(),
			r:    store.NewFrameReader(),
		}
	}
	return procs
}

// newKeeper returns what stores the bodies of the run. A site that lives as long as its one run knows no
// digests.
func (r *run) newKeeper() *keep.Keeper {
	o := keep.Options{
		Frames: r.site.Frames,
		Bodies: r.o.State.Bodies,
		Get:    r.site.Records.Get,
		URL:    r.table.URL,
		InSet:  r.table.InSet,
		Run:    r.state.Number,
		Log:    r.log,
		Failed: func(err error) {
			const what = "pages that say the same are not looked for any more"
			r.log.Warn(what, "err", err)
			r.notes.Add(what+": "+err.Error(), r.rules.Seeds[0])
		},
	}
	if !r.site.Volatile() {
		o.Digests = r.site.Digests
	}
	return keep.New(o)
}

// conclude carries out what one turn of a URL came to.
func (r *run) conclude(id uint32, u site.URL, f found) {
	r.traits.Spend(id, f.spent|f.turn.Why)
	if f.turn.Why != 0 {
		r.motor.Entrance.Again(id, u.Origin(), f.turn.At)
	}
	if f.finding != nil {
		r.apply(f.finding)
	}
}

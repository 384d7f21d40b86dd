// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"runtime"
	"time"

	"mirrord/job"
	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/intake"
	"mirrord/mirror/judge"
	"mirrord/mirror/keep"
	"mirrord/mirror/ledger"
	"mirrord/mirror/spare"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// reading turns what an answer brought into a finding: it has the body read, lets what it leads to enter the
// frontier, and has it stored. It is safe for concurrent use, for one URL at a time.
type reading struct {
	job    *job.Job
	rules  *admit.URLRules
	layout phm.Layout
	run    ledger.Run
	rescan bool // the rules changed: what is stored is read again
	now    func() time.Time

	site   *store.Site
	bodies store.Bodies
	keeper *keep.Keeper
	procs  chan *processor
	large  inMemory

	table      *ledger.Table
	traits     *ledger.Traits
	provenance *ledger.Provenance
	stats      *ledger.Counts
	notes      *ledger.Notes
	admission  *crawl.Admission
	motor      *crawl.Motor
	advice     *spare.Advice
	shapes     *judge.Shapes
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

// processor is what one worker needs to read and encode a document. There are as many as CPUs, because each
// has buffers.
type processor struct {
	read  *intake.Reader
	w     *store.FrameWriter
	r     *store.FrameReader
	links []byte
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

// forget gives up the memory of the last document.
func (p *processor) forget() {
	p.read.Forget()
	p.links = nil
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

// record returns what is stored of a URL, or a new record.
func (r *reading) record(id uint32, u site.URL) (store.Resource, error) {
	s := r.table.State(id)
	if s.Known() {
		rec, ok, err := r.site.Records.Get(u)
		if err != nil {
			return rec, err
		}
		if ok {
			return rec, nil
		}
	}
	return store.Resource{
		ID:       id,
		URL:      u,
		Referrer: s.Referrer(),
		Depth:    s.Depth(),
		Requis:   s.Requisite(),
	}, nil
}

// isGuess reports whether only strings in scripts name a URL.
func (r *reading) isGuess(id uint32) bool { return r.table.State(id).Guessed() }

// misled reports whether a guess of an image or the like was answered with a page: many a site has one for
// every path.
func (r *reading) misled(rec *store.Resource, mime string) bool {
	return !rec.InSet && intake.Misleads(rec.URL, mime) && r.isGuess(rec.ID)
}

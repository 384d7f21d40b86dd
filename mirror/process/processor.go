// SPDX-License-Identifier: Apache-2.0

package process

import (
	"log/slog"
	"time"

	"mirrord/job"
	"mirrord/mirror/frontier"
	"mirrord/mirror/scope"
	"mirrord/mirror/verdict"

	"mirrord/mirror/publish"
	"mirrord/mirror/revisit"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// Options are what exchanges of one run are made with. All fields but Through are needed. The plan is
// made.
type Options struct {
	Job    *job.Job
	Rules  *scope.URLRules
	Layout phm.Layout
	Run    urls.Run
	Rescan bool // the rules changed: what is stored is read again
	Log    *slog.Logger
	Now    func() time.Time
	// Confirm is the least time between two answers 404, see run.Options.
	Confirm time.Duration

	Robots source.Robots
	Chain  *source.Chain

	Records *store.Records
	Frames  *store.Frames
	Bodies  store.Bodies
	Keeper  *Saver
	Through *publish.Through // nil: documents are stored as they come

	Table      *urls.Table
	Traits     *urls.Traits
	Provenance *urls.Provenance
	Waits      *urls.Waits
	Origins    *urls.SilentOrigins
	Counts     *urls.Counts
	Notes      *urls.Notes
	Admission  *frontier.Admission
	Motor      *frontier.Dispatcher
	Advice     *revisit.SkipPlan
	Shapes     *verdict.Shapes
}

// Processor finds out what one URL comes to: without a request, from the origin, or from a replica. It is
// safe
// for concurrent use, for one URL at a time.
type Processor struct {
	job    *job.Job
	rules  *scope.URLRules
	log    *slog.Logger
	now    func() time.Time
	least  time.Duration // Options.Confirm
	robots source.Robots
	chain  *source.Chain
	read   *reading

	table      *urls.Table
	traits     *urls.Traits
	provenance *urls.Provenance
	waits      *urls.Waits
	origins    *urls.SilentOrigins
	counts     *urls.Counts
	notes      *urls.Notes
	admission  *frontier.Admission
	motor      *frontier.Dispatcher
	advice     *revisit.SkipPlan
}

// New returns what exchanges the URLs of one run.
func New(o Options) *Processor {
	return &Processor{
		job:        o.Job,
		rules:      o.Rules,
		log:        o.Log,
		now:        o.Now,
		least:      o.Confirm,
		robots:     o.Robots,
		chain:      o.Chain,
		read:       newReading(&o),
		table:      o.Table,
		traits:     o.Traits,
		provenance: o.Provenance,
		waits:      o.Waits,
		origins:    o.Origins,
		counts:     o.Counts,
		notes:      o.Notes,
		admission:  o.Admission,
		motor:      o.Motor,
		advice:     o.Advice,
	}
}

// Found is what one turn of a URL came to. Without an outcome and without another turn the URL is left for
// the next run.
type Found struct {
	Finding *urls.Finding // the outcome; nil for none
	Turn    urls.Turn     // another request of this run
	Spent   urls.Again    // for these reasons there is no other turn any more
}

// outcome wraps a finding that ends what this run has to do with a URL.
func outcome(f *urls.Finding, err error) (Found, error) { return Found{Finding: f}, err }

// Record returns what is stored of a URL, or a new record.
func (x *Processor) Record(id uint32, u site.URL) (store.Resource, error) {
	return x.read.record(id, u)
}

// HearStored takes the stored body of a source that has not changed as evidence.
func (x *Processor) HearStored(rec *store.Resource) error { return x.read.hearStored(rec) }

// ResumeLinks puts into the frontier what the documents that were answered before an interruption link to.
func (x *Processor) ResumeLinks() error { return x.read.resumeLinks() }

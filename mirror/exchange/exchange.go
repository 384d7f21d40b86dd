// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"log/slog"
	"time"

	"mirrord/job"
	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/judge"
	"mirrord/mirror/keep"
	"mirrord/mirror/ledger"
	"mirrord/mirror/publish"
	"mirrord/mirror/source"
	"mirrord/mirror/spare"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// Options are what exchanges of one run are made with. All fields but Through are needed. The plan is
// made.
type Options struct {
	Job    *job.Job
	Rules  *admit.URLRules
	Layout phm.Layout
	Run    ledger.Run
	Rescan bool // the rules changed: what is stored is read again
	Log    *slog.Logger
	Now    func() time.Time
	// Confirm is the least time between two answers 404, see session.Options.
	Confirm time.Duration

	Robots source.Robots
	Chain  *source.Chain

	Records *store.Records
	Frames  *store.Frames
	Bodies  store.Bodies
	Keeper  *keep.Keeper
	Through *publish.Through // nil: documents are stored as they come

	Table      *ledger.Table
	Traits     *ledger.Traits
	Provenance *ledger.Provenance
	Waits      *ledger.Waits
	Origins    *ledger.SilentOrigins
	Counts     *ledger.Counts
	Notes      *ledger.Notes
	Admission  *crawl.Admission
	Motor      *crawl.Motor
	Advice     *spare.Advice
	Shapes     *judge.Shapes
}

// Exchange finds out what one URL comes to: without a request, from the origin, or from a replica. It is safe
// for concurrent use, for one URL at a time.
type Exchange struct {
	job    *job.Job
	rules  *admit.URLRules
	log    *slog.Logger
	now    func() time.Time
	least  time.Duration // Options.Confirm
	robots source.Robots
	chain  *source.Chain
	read   *reading

	table      *ledger.Table
	traits     *ledger.Traits
	provenance *ledger.Provenance
	waits      *ledger.Waits
	origins    *ledger.SilentOrigins
	counts     *ledger.Counts
	notes      *ledger.Notes
	admission  *crawl.Admission
	motor      *crawl.Motor
	advice     *spare.Advice
}

// New returns what exchanges the URLs of one run.
func New(o Options) *Exchange {
	return &Exchange{
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
	Finding *ledger.Finding // the outcome; nil for none
	Turn    ledger.Turn     // another request of this run
	Spent   ledger.Again    // for these reasons there is no other turn any more
}

// outcome wraps a finding that ends what this run has to do with a URL.
func outcome(f *ledger.Finding, err error) (Found, error) { return Found{Finding: f}, err }

// Record returns what is stored of a URL, or a new record.
func (x *Exchange) Record(id uint32, u site.URL) (store.Resource, error) { return x.read.record(id, u) }

// HearStored takes the stored body of a source that has not changed as evidence.
func (x *Exchange) HearStored(rec *store.Resource) error { return x.read.hearStored(rec) }

// ResumeLinks puts into the frontier what the documents that were answered before an interruption link to.
func (x *Exchange) ResumeLinks() error { return x.read.resumeLinks() }

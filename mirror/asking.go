// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"log/slog"
	"time"

	"mirrord/job"
	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/source"
	"mirrord/mirror/spare"
)

// asking finds out what one URL comes to: without a request, from the origin, or from a replica. It is safe
// for concurrent use, for one URL at a time.
type asking struct {
	job    *job.Job
	rules  *admit.URLRules
	log    *slog.Logger
	now    func() time.Time
	robots Robots
	chain  *source.Chain
	read   *reading

	table      *ledger.Table
	traits     *ledger.Traits
	provenance *ledger.Provenance
	stats      *ledger.Counts
	notes      *ledger.Notes
	admission  *crawl.Admission
	motor      *crawl.Motor
	advice     *spare.Advice
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

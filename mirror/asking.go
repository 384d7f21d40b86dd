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

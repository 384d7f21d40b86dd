// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"log/slog"
	"time"

	"mirrord/job"
	"mirrord/mirror/admit"
	"mirrord/mirror/ledger"
	"mirrord/phm"
	"mirrord/store"
)

// base is what the phases of a run share. The table, traits, provenance, counts and notes are safe for
// concurrent use; all else changes while no worker runs.
type base struct {
	o       Options
	job     *job.Job
	site    *store.Site
	log     *slog.Logger
	now     func() time.Time
	started time.Time
	rules   *admit.URLRules

	version     int // that this run works for
	live        *store.Version
	layout      phm.Layout
	state       *store.Run
	resumed     bool   // state is of an earlier process
	fingerprint string // of the rules
	rescan      bool   // the rules changed: what is stored is scanned again

	table      *ledger.Table
	traits     ledger.Traits
	provenance ledger.Provenance
	stats      ledger.Counts
	notes      ledger.Notes
}

// recording says which run the table is kept for.
func (b *base) recording() ledger.Run { return ledger.Run{Number: b.state.Number, Version: b.version} }

// findLive finds out which version is published, and which one the run works for.
func (b *base) findLive() error {
	vs, err := b.site.Versions.List()
	if err != nil {
		return err
	}
	b.version = 1
	if len(vs) > 0 {
		b.live = &vs[len(vs)-1]
		b.version = b.live.Number + 1
	}
	return nil
}

// mixedRules marks a site in which some documents were scanned under other rules.
const mixedRules = "mixed"

// begin finds out whether an unfinished run is resumed, and makes a new one otherwise.
func (b *base) begin() error {
	state, err := b.site.Notes.Run()
	if err != nil {
		return err
	}
	b.fingerprint = admit.Fingerprint(b.job)
	stored, err := b.site.Notes.Fingerprint()
	if err != nil {
		return err
	}
	if stored != b.fingerprint && stored != mixedRules {
		now := b.fingerprint
		if stored != "" {
			now = mixedRules
		}
		if err := b.site.Notes.SetFingerprint(now); err != nil {
			return err
		}
		stored = now
	}
	b.rescan = stored == mixedRules
	if state != nil && state.Fingerprint == b.fingerprint {
		b.state, b.resumed = state, true
		b.log.Info("resume", "run", state.Number, "started", time.Unix(state.Started, 0))
		return nil
	}
	b.state = &store.Run{Started: b.started.Unix(), Fingerprint: b.fingerprint}
	return b.site.Notes.BeginRun(b.state)
}

// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"log/slog"
	"sync"

	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/mirror/spare"
	"mirrord/policy"
	"mirrord/site"
)

// makePlan plans the run.
func (r *run) makePlan() error {
	_, err := r.advice.MakePlan(spare.PlanTerms{Published: r.live != nil, NewRules: r.rescan}, r.knownSite)
	if err != nil || r.advice.Plan == nil {
		return err
	}
	for id, s := range r.table.Settled().All() {
		if s.Answered() { // before the run was interrupted
			r.advice.Plan.Tell(id, s.Seen())
		}
	}
	r.state.Planned = true
	return nil
}

// knownSite is what models, histories and rules of the site are made from.
func (r *run) knownSite() spare.KnownSite {
	r.layout.Primary = render.Primary(r.site, r.live, r.table.Settled(), r.rules.Seeds)
	return spare.KnownSite{
		Name:     r.site.Name,
		Primary:  r.layout.Primary,
		Table:    r.table.Settled(),
		Observed: r.site.Records,
	}
}

// planned reports whether the run follows a plan, also when its retrieval was the work of an earlier process.
func (r *run) planned() bool { return r.advice.Plan != nil || r.state.Planned }

// askAllNext makes the next run request everything: what this one found may be wrong, and the records have
// it.
func (r *run) askAllNext() error {
	if r.o.NoFetch {
		return nil
	}
	return r.site.Notes.SetFact(spare.FullFact, []byte("1"))
}

// askedAll ends the obligation of FullFact.
func (r *run) askedAll() error {
	if r.o.NoFetch {
		return nil
	}
	if v, err := r.site.Notes.Fact(spare.FullFact); err != nil || len(v) == 0 {
		return err
	}
	return r.site.Notes.SetFact(spare.FullFact, nil)
}

// filling lets one worker at a time refill the frontier, so that what one puts there is not missing for
// another.
type filling struct{ mu sync.Mutex }

// refill puts the next batches of the plan into the frontier when it runs low. It is called whenever the work
// on a URL ends, and before the frontier learns of that end, so that no worker stops while the plan has more.
func (r *run) refill() {
	if r.advice.Plan == nil {
		return
	}
	r.filling.mu.Lock()
	defer r.filling.mu.Unlock()
	for b := r.advice.Plan.Refill(r.motor.Front.Short); len(b.IDs) > 0; b = r.advice.Plan.Refill(r.motor.Front.Short) {
		for _, id := range b.IDs {
			if b.Listings {
				r.motor.Entrance.Known(id, crawl.PrioSeed)
				continue
			}
			r.advice.Validators.Plan(id)
			r.motor.Entrance.Known(id, crawl.PrioKnown)
		}
	}
}

// leaves reports whether a planned run does not request a known URL because an unchanged document names it.
// It is called while the table waits.
func (r *run) leaves(id uint32, s ledger.State) bool {
	return r.advice.Plan.Leaves(id, s, r.traits.Broken(id))
}

// skipRest ends a planned run: what the plan did not hand out is skipped, which is neither observed nor
// postponed. What robots rules have come to forbid is not skipped; it leaves without a request, in a stage of
// its own.
func (r *run) skipRest(ctx context.Context, stage func()) {
	p := r.advice.Plan
	if p == nil {
		return
	}
	if err := r.distrustValidators(); err != nil {
		r.stop(err)
	}
	if r.stopped() {
		return
	}
	forbidden := false
	for id := range p.Skipped() {
		if u, s := r.table.Get(id); !s.Queued() && r.motor.Origins.Forbids(u) {
			r.motor.Entrance.Known(id, crawl.PrioKnown)
			forbidden = true
		}
	}
	if forbidden {
		stage()
	}
	r.skips = map[policy.Why]int64{}
	verbose := r.log.Enabled(ctx, slog.LevelDebug)
	for id, why := range p.Skipped() {
		u, s := r.table.Get(id)
		if s.Queued() {
			continue
		}
		r.table.See(id, ledger.Skipped)
		r.skips[why.Why]++
		if verbose {
			r.log.Debug("skipped", "url", u.String(), "outcome", site.Skipped, "why", why.String())
		}
	}
}

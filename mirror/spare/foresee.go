// SPDX-License-Identifier: Apache-2.0

package spare

import (
	"slices"

	"mirrord/mirror/admit"
	"mirrord/mirror/ledger"
	"mirrord/policy"
	"mirrord/site"
)

// Forecast is what a run requests if nothing has changed, by number.
type Forecast struct {
	EntryPoints map[uint32]bool
	Priority    map[uint32]bool          // by the priorities of the job
	Sources     map[uint32]bool          // sources of evidence that no plan decides about
	Audits      map[uint32]bool          // of evidence
	Planned     map[uint32]policy.Reason // handed out by the plan, with the reasons of the moment
	Covered     ledger.IDSet             // evidence shows that they need not be requested
	Asked       ledger.IDSet             // all that is requested: the four above, and what the run owes
}

// ForeseeOptions are what a run is foreseen from. Table is needed.
type ForeseeOptions struct {
	Plan     *Planner  // nil: everything is requested
	Sources  *Sources  // nil: none
	Evidence *Evidence // nil: it is not used in this run
	Table    ledger.Settled
	Seeds    []site.URL
	Broken   func(id uint32) bool // the URL failed for several runs; nil: none did
	// Refused reports whether the rules of the job leave a URL out of the run; nil: none.
	Refused func(id uint32, s ledger.State) bool
}

// Foresee goes through a run as if each request were answered 304, or as it was before: in the stages and
// batches of a run with one request at a time. The plan is used up. No worker may run.
func Foresee(o ForeseeOptions) Forecast {
	if o.Sources == nil {
		o.Sources = new(Sources)
	}
	if o.Broken == nil {
		o.Broken = func(uint32) bool { return false }
	}
	if o.Refused == nil {
		o.Refused = func(uint32, ledger.State) bool { return false }
	}
	f := forecaster{
		ForeseeOptions: o,
		Forecast: Forecast{
			EntryPoints: map[uint32]bool{},
			Priority:    map[uint32]bool{},
			Sources:     map[uint32]bool{},
			Audits:      map[uint32]bool{},
			Planned:     map[uint32]policy.Reason{},
		},
	}
	f.listed = f.coveredByDir()
	f.sources()
	f.owed()
	if o.Plan == nil {
		f.all()
	} else {
		f.planned()
	}
	f.dead()
	return f.Forecast
}

// forecaster goes through a run.
type forecaster struct {
	ForeseeOptions
	Forecast

	listed map[string][]uint32            // by directory: what its listing shows
	shown  [ledger.EvidenceKinds][]uint32 // by sources that were requested since the last audits
	audits Evidence                       // counts the audits
}

// coveredByDir returns what the listing of each directory shows.
func (f *forecaster) coveredByDir() map[string][]uint32 {
	out := map[string][]uint32{}
	if f.Evidence == nil || len(f.ForeseeOptions.Sources.Covered) == 0 {
		return out
	}
	for id, s := range f.Table.All() {
		if s.Given() && f.ForeseeOptions.Sources.Covered.Has(id) {
			dir := directory(f.Table.URL(id))
			out[dir] = append(out[dir], id)
		}
	}
	return out
}

// ask requests a URL. It reports whether that is new.
func (f *forecaster) ask(id uint32) bool {
	if f.Asked.Has(id) || f.Forecast.Covered.Has(id) {
		return false
	}
	f.Asked.Put(id, true)
	return true
}

// answer is the answer to a request: nothing has changed.
func (f *forecaster) answer(id uint32) {
	if f.Plan.governs(id) {
		f.Plan.plan.Tell(policy.Outcome{Unit: policy.ID(id)})
	}
	if f.ForeseeOptions.Sources.Listings.Has(id) {
		dir := directory(f.Table.URL(id))
		f.shown[ledger.ByListing] = append(f.shown[ledger.ByListing], f.listed[dir]...)
		delete(f.listed, dir)
	}
}

// sources is the stage of the sources of evidence, before all else.
func (f *forecaster) sources() {
	sitemaps := false
	for _, id := range f.ForeseeOptions.Sources.First(f.Plan, f.Seeds) {
		f.Forecast.Sources[id] = true
		sitemaps = sitemaps || !f.ForeseeOptions.Sources.Listings.Has(id)
		if f.ask(id) {
			f.answer(id)
		}
	}
	if f.Evidence == nil {
		return
	}
	if f.Plan.DecidesListings() {
		f.drain(f.Plan.plan.NextListings)
	}
	if sitemaps {
		f.shown[ledger.BySitemap] = slices.Collect(f.ForeseeOptions.Sources.mapped.All())
	}
	f.shown[ledger.ByExpiry] = slices.Clone(f.ForeseeOptions.Sources.fresh)
	f.settle()
}

// settle ends a stage of sources: what they show is covered, and some of it is audited.
func (f *forecaster) settle() {
	f.audits.o.Run = f.Evidence.o.Run
	for k := range ledger.EvidenceKinds {
		ids := f.shown[k]
		f.shown[k] = nil
		if !f.Evidence.Believes(k) {
			continue
		}
		slices.Sort(ids)
		ids = slices.DeleteFunc(slices.Compact(ids), func(id uint32) bool {
			s := f.Table.State(id)
			return f.Asked.Has(id) || f.Forecast.Covered.Has(id) || !s.InSet() || s.Outcome() == site.Failed
		})
		for _, id := range f.audits.audits(k, ids) {
			if f.ask(id) {
				f.Audits[id] = true
				f.answer(id)
			}
		}
		for _, id := range ids {
			if f.Asked.Has(id) {
				continue
			}
			f.Forecast.Covered.Put(id, true)
			if f.Plan.governs(id) {
				f.Plan.plan.Tell(policy.Outcome{Unit: policy.ID(id)})
			}
		}
	}
}

// owed requests what a run requests whatever its plan says: entry points, and what failed.
func (f *forecaster) owed() {
	for _, u := range f.Seeds {
		if id, ok := f.Table.Find([]byte(u.String())); ok {
			f.EntryPoints[id] = true
			if f.ask(id) {
				f.answer(id)
			}
		}
	}
	for id, s := range f.Table.All() {
		switch {
		case !s.Given():
		case f.Plan.Due(id):
			if f.ask(id) {
				f.Priority[id] = true
				f.answer(id)
			}
		case s.Outcome() == site.Pending, s.Outcome() == site.Failed && (f.Plan == nil || !f.Broken(id)):
			if f.ask(id) {
				f.answer(id)
			}
		}
	}
}

// all requests everything: there is no plan.
func (f *forecaster) all() {
	for id, s := range f.Table.All() {
		if s.Given() && s.Governed() && !f.Refused(id, s) {
			f.ask(id)
		}
	}
}

// planned requests what the plan hands out. The listings among it have stages of their own.
func (f *forecaster) planned() {
	for more := true; more; {
		more = f.drain(f.Plan.plan.Next)
		if f.Evidence != nil && f.Plan.DecidesListings() {
			more = f.drain(f.Plan.plan.NextListings) || more
			f.settle()
		}
	}
}

// drain requests what next hands out, with as many answers outstanding as in a run, and reports whether it
// was any.
func (f *forecaster) drain(next func(int) []policy.Ask) (some bool) {
	var queue []uint32
	for {
		for len(queue) < f.Plan.low+f.Plan.low/2 { // what waits, and what is in flight
			batch := next(f.Plan.low)
			if len(batch) == 0 {
				break
			}
			for _, a := range batch {
				if id := uint32(a.Unit); f.ask(id) {
					f.Planned[id] = a.Why
					queue = append(queue, id)
				} else {
					f.answer(id)
				}
			}
		}
		if len(queue) == 0 {
			return some
		}
		some = true
		f.answer(queue[0])
		queue = queue[1:]
	}
}

// dead requests what is not in the mirror and named by a document that is known to be unchanged.
func (f *forecaster) dead() {
	for id, s := range f.Table.All() {
		if !s.Given() || s.Governed() || s.Referrer() == 0 || f.Asked.Has(id) {
			continue
		}
		if admit.IsFavicon(f.Table.URL(id)) { // a guess counts as nothing while it leads nowhere
			continue
		}
		named := f.Asked.Has(s.Referrer()-1) || f.Forecast.Covered.Has(s.Referrer()-1)
		asks := false
		switch s.Outcome() {
		case site.Gone, site.Failed:
			asks = true
		case site.OutOfScope:
			asks = !f.Refused(id, s)
		}
		if named && asks && !f.Plan.Leaves(id, s, f.Broken(id)) {
			f.Asked.Put(id, true)
		}
	}
}

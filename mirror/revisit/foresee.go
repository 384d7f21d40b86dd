// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"slices"

	"mirrord/evolution/policy"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// Forecast is what a run requests if nothing has changed, by number.
type Forecast struct {
	EntryPoints map[uint32]bool
	Priority    map[uint32]bool          // by the priorities of the job
	Sources     map[uint32]bool          // sources of evidence that no plan decides about
	Audits      map[uint32]bool          // of evidence
	Planned     map[uint32]policy.Reason // handed out by the plan, with the reasons of the moment
	Covered     urls.IDSet               // evidence shows that they need not be requested
	Asked       urls.IDSet               // all that is requested: the four above, and what the run owes
}

// ForeseeOptions are what a run is foreseen from. All fields but Plan and Evidence are needed.
type ForeseeOptions struct {
	Plan     *Planner // nil: everything is requested
	Sources  *Sources
	Evidence *Evidence // nil: it is not used in this run
	Table    urls.Settled
	Seeds    []site.URL
	Broken   func(id uint32) bool // the URL failed for several runs
	// Names reports whether a stored document still names a URL that it was the first to name.
	Names func(doc, id uint32) bool
	// Refused reports whether the rules of the job leave a URL out of the run.
	Refused func(id uint32, s urls.State) bool
}

// Foresee goes through a run as if each request were answered 304, or as it was before: in the stages and
// batches of the run itself, of the planner that it has. The plan is used up. No worker may run.
func Foresee(o ForeseeOptions) Forecast {
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

	listed map[string][]uint32          // by directory: what its listing shows
	shown  [urls.EvidenceKinds][]uint32 // by sources that were requested since the last audits
	audits Evidence                     // counts the audits
	queue  []uint32                     // requested and not answered yet
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
	f.Plan.Tell(id, urls.Asked)
	if f.ForeseeOptions.Sources.Listings.Has(id) {
		dir := directory(f.Table.URL(id))
		f.shown[urls.ByListing] = append(f.shown[urls.ByListing], f.listed[dir]...)
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
		f.listings()
	}
	if sitemaps {
		f.shown[urls.BySitemap] = slices.Collect(f.ForeseeOptions.Sources.mapped.All())
	}
	f.shown[urls.ByExpiry] = slices.Clone(f.ForeseeOptions.Sources.fresh)
	f.shown[urls.ByEdits] = f.Evidence.told(&f.ForeseeOptions.Sources.edits, f.Table)
	f.settle()
}

// settle ends a stage of sources: what they show is covered, and some of it is audited.
func (f *forecaster) settle() {
	f.audits.Run, f.audits.Plan = f.Evidence.Run, f.Plan
	for k := range urls.EvidenceKinds {
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
		if hidden := f.Evidence.doubts(k); hidden > 0 {
			f.Plan.Doubt(ids, hidden)
			continue
		}
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
			f.Plan.Tell(id, urls.Spared)
		}
	}
}

// owed requests what a run requests regardless of its plan: entry points, and what failed.
func (f *forecaster) owed() {
	put := func(id uint32) bool {
		if !f.ask(id) {
			return false
		}
		f.queue = append(f.queue, id)
		return true
	}
	for _, u := range f.Seeds {
		if id, ok := f.Table.FindURL(u); ok {
			f.EntryPoints[id] = true
			put(id)
		}
	}
	for id, s := range f.Table.All() {
		switch {
		case !s.Given():
		case f.Plan.Due(id):
			if put(id) {
				f.Priority[id] = true
			}
		case s.Outcome() == site.Pending, s.Outcome() == site.Failed && (f.Plan == nil || !f.Broken(id)):
			put(id)
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
	f.Plan.Await(slices.Clone(f.queue))
	for more := true; more; {
		f.Plan.Enter(PlanOpen)
		f.stage()
		if more = f.Evidence != nil && f.Plan.DecidesListings(); more {
			more = f.listings()
			f.settle()
		}
	}
}

// listings requests the listings that the plan handed out with the rest, then those that pay, and reports
// whether there were any.
func (f *forecaster) listings() (some bool) {
	for ids := f.Plan.TakeWanted(); len(ids) > 0; ids = f.Plan.TakeWanted() {
		for _, id := range ids {
			if f.ask(id) {
				f.Planned[id] = f.Plan.Reason(id)
				f.queue = append(f.queue, id)
			}
		}
		f.stage()
		some = true
	}
	f.Plan.Enter(PlanListings)
	defer f.Plan.Enter(PlanClosed)
	return f.stage() || some
}

// stage requests the queue and what the plan hands out, and reports whether it was any.
func (f *forecaster) stage() (some bool) {
	// the waiting, and those in flight
	short := func(low int, _ []string) bool { return len(f.queue) < low+low/2 }
	for {
		for b := f.Plan.Refill(short); len(b.Asks) > 0; b = f.Plan.Refill(short) {
			for _, a := range b.Asks {
				if id := uint32(a.Unit); f.ask(id) { // else it is in the queue
					f.Planned[id] = a.Why
					f.queue = append(f.queue, id)
				}
			}
		}
		if len(f.queue) == 0 {
			return some
		}
		some = true
		f.answer(f.queue[0])
		f.queue = f.queue[1:]
	}
}

// dead requests URLs outside of the mirror that a document of it names which is known to be unchanged.
func (f *forecaster) dead() {
	for id, s := range f.Table.All() {
		if !s.Given() || s.Governed() || s.Referrer() == 0 || f.Asked.Has(id) {
			continue
		}
		if scope.IsFavicon(f.Table.URL(id)) { // a guess counts as nothing while it leads nowhere
			continue
		}
		from := s.Referrer() - 1
		named := f.Table.State(from).Governed() && (f.Asked.Has(from) || f.Forecast.Covered.Has(from))
		asks := false
		switch s.Outcome() {
		case site.Gone, site.Failed:
			asks = true
		case site.OutOfScope:
			asks = !f.Refused(id, s)
		}
		if named && asks && f.Names(from, id) && !f.Plan.Leaves(id, s) {
			f.Asked.Put(id, true)
		}
	}
	if f.Plan != nil {
		for _, id := range f.Plan.takeDead() {
			f.Asked.Put(id, true)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"mirrord/job"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/spare"
	"mirrord/policy"
	"mirrord/site"
)

// planner lets the job's policy decide which of the known URLs a run asks. Evidence comes first: what it tells is told to the plan. Then the plan
// hands out batches of the URLs that pay most into the frontier, as it runs low, and is told what came of them, until it ends by itself. What
// it spares is not observed.
//
// The plan has no say in what is new: that is asked as documents name it, wherever it lies. Nor in what a run owes: entry points, sitemaps, URLs that failed
// when they were last asked, and those of which a listing or a sitemap says something else than before.
type planner struct {
	model   *spare.SiteModel
	rules   *spare.MinedRules // of near
	low     int               // the frontier is filled when it has fewer URLs
	origins []string          // of the units, when there are several

	listings bool // the plan decides which listings are asked

	mu     sync.Mutex
	plan   policy.Plan
	phase  planPhase
	dry    bool     // there was no batch in this phase, and nothing was told since
	wanted []uint32 // listings that are asked in the next stage of listings
	found  map[uint32]int
	asked  [policy.Cheap]int64 // by policy.Why
	hinted hints
}

// planPhase says what the plan may hand out now.
type planPhase uint8

const (
	phaseClosed   planPhase = iota // nothing
	phaseListings                  // listings
	phaseOpen                      // whatever pays
)

// hints are URLs of which a source of evidence says something else than when they were last found to be as they are.
type hints struct {
	ids       []uint32
	open      map[uint32]bool // handed out, and nothing was told yet
	told, hit int
}

// A source whose hints come to little, because it says something new in every run, is not followed further: after so many, when fewer than one
// of so many changed.
const (
	hintsTried = 32
	hintsShare = 8
)

// take returns at most n hints that are worth following.
func (h *hints) take(n int) (out []uint32) {
	if h.told >= hintsTried && h.hit*hintsShare < h.told {
		h.ids = nil
	}
	n = min(n, len(h.ids))
	out, h.ids = h.ids[:n], h.ids[n:]
	for _, id := range out {
		h.open[id] = true
	}
	return out
}

// fullFact marks a site that the next run has to ask for as a whole, because its records are not what the history says.
const fullFact = "ask-all"

// makePlan plans the run. A run of which nothing is to be spared has no plan: the policy is full, nothing was observed so far, the rules of the
// job changed.
func (r *run) makePlan() error {
	if r.rescan || r.live == nil || r.o.asksAll(r.job) {
		return nil
	}
	if all, err := r.site.Fact(fullFact); err != nil || len(all) > 0 {
		return err
	}
	p, err := r.newPlanner()
	if err != nil || p == nil {
		return err
	}
	for id, s := range r.table.Settled().All() {
		if s.Answered() { // before the run was interrupted
			p.plan.Tell(policy.Outcome{Unit: policy.ID(id), Result: resultOf(s.Seen())})
		}
	}
	slices.Sort(r.validated)
	r.planner, r.state.Planned = p, true
	return nil
}

// asksAll reports whether the policy of a job spares nothing, so that a run needs no plan.
func (o *Options) asksAll(j *job.Job) bool {
	return o.policyOf(j).Everything && (j.Limits.MaxRequests == 0)
}

// policyOf is what the registry says of a job's policy. Nothing is known of a policy that is not registered; making a plan then fails.
func (o *Options) policyOf(j *job.Job) policy.Definition {
	p, _ := o.Policies.Find(j.Policy)
	return p
}

// bestFirst is the policy by which a run that has too little to judge by asks for everything within a budget, what pays most first.
const bestFirst = policy.Adaptive

// newPlanner makes the plan of a run from the history; nil when there is none.
func (r *run) newPlanner() (*planner, error) {
	r.choosePrimary()
	known := r.knownSite()
	how := spare.ModelOptions{Run: r.state.Number}
	if r.o.policyOf(r.job).Listings {
		how.Listings = r.listings
	}
	m, err := known.Model(how)
	if err != nil || m.Runs() == 0 {
		return nil, err
	}
	asks, price := r.job.Policy, r.job.Adaptive.Price
	if m.Whole < r.job.FullRuns && !r.o.policyOf(r.job).Everything { // too little to judge by: everything, within the requests that the job allows, the best first
		if r.job.Limits.MaxRequests == 0 {
			return nil, nil
		}
		asks, price = bestFirst, 0
	}
	p := &planner{model: m, low: lowWater(r.job), found: map[uint32]int{}, hinted: hints{open: map[uint32]bool{}}}
	o := policy.Options{
		Policy:  asks,
		Now:     r.started.Unix(),
		Price:   price,
		Budget:  int(r.job.Limits.MaxRequests),
		MaxSkip: int(r.job.Limits.MaxSkip),
	}
	if o.Price == 0 {
		o.Price = -1
	}
	if d, _ := r.o.Policies.Find(asks); d.Rules {
		if p.rules, err = known.Rules(m.Tree, r.job.Near); err != nil {
			return nil, err
		}
		o.Skips, o.Audits = p.rules.Skips, int(r.job.Near.Audits)
	}
	if err := r.vouch(p); err != nil {
		return nil, err
	}
	if p.plan, err = r.o.Policies.Plan(m.Model, o); err != nil {
		return nil, fmt.Errorf("job %s: %w", r.site.Name, err)
	}
	seen := map[string]bool{}
	t := r.table.Settled()
	for id, s := range t.All() {
		if s.Governed() && s.Given() {
			if o := t.URL(id).Origin(); !seen[o] {
				seen[o] = true
				p.origins = append(p.origins, o)
			}
		}
	}
	return p, nil
}

// knownSite is what models, histories and rules of the site are made from.
func (r *run) knownSite() spare.KnownSite {
	return spare.KnownSite{
		Name:     r.site.Name,
		Primary:  r.layout.Primary,
		Table:    r.table.Settled(),
		Observed: r.site,
	}
}

// planned reports whether the run asks what a plan wants, also when its retrieval was the work of an earlier process.
func (r *run) planned() bool { return r.planner != nil || r.state.Planned }

// askAllNext makes the next run ask for everything: what this one found may be wrong, and the records have it.
func (r *run) askAllNext() error {
	if r.o.NoFetch {
		return nil
	}
	return r.site.SetFact(fullFact, []byte("1"))
}

// askedAll ends the obligation of fullFact.
func (r *run) askedAll() error {
	if r.o.NoFetch {
		return nil
	}
	if v, err := r.site.Fact(fullFact); err != nil || len(v) == 0 {
		return err
	}
	return r.site.SetFact(fullFact, nil)
}

// lowWater is how many URLs wait in the frontier at least while a plan has more: twice as many as may be asked at a time, so that nobody waits for
// the plan, and not many more, because whatever waits was decided without what is being found out.
func lowWater(j *job.Job) int { return max(4, int(min(2*j.Polite.Connections, 128))) }

// resultOf is what a plan is told of a URL of which seen was found out in this run.
func resultOf(seen ledger.Seen) policy.Result {
	switch {
	case seen&ledger.Left != 0:
		return policy.Gone
	case seen&(ledger.Changed|ledger.Entered) != 0:
		return policy.Changed
	case seen&(ledger.Asked|ledger.Spared) != 0:
		return policy.Unchanged
	}
	return policy.Failed
}

// spares reports whether a rule of the plan skips a URL. A listing or feed in a skipped directory is not asked either.
func (r *run) spares(id uint32) bool {
	return r.planner != nil && int(id) < r.planner.model.Units() && r.planner.plan.Reason(policy.ID(id)).Why == policy.Rule
}

// enter lets the frontier be filled with what a phase has.
func (p *planner) enter(x planPhase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.dry = x, false
}

// tell tells the plan what became of a URL.
func (p *planner) tell(id uint32, seen ledger.Seen) {
	if int(id) >= p.model.Units() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	res := resultOf(seen)
	if p.hinted.open[id] {
		delete(p.hinted.open, id)
		p.hinted.told++
		if res == policy.Changed || res == policy.Gone {
			p.hinted.hit++
		}
	}
	p.plan.Tell(policy.Outcome{Unit: policy.ID(id), Result: res, New: p.found[id]})
	delete(p.found, id)
	p.dry = false
}

// names takes note of how many URLs a document named that nobody knew.
func (p *planner) names(id uint32, add []queueing) {
	n := 0
	for i := range add {
		if int(add[i].id) >= p.model.Units() {
			n++
		}
	}
	if n > 0 && int(id) < p.model.Units() {
		p.mu.Lock()
		p.found[id] = n
		p.mu.Unlock()
	}
}

// hint takes note that a source says something new of a URL.
func (p *planner) hint(id uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hinted.ids = append(p.hinted.ids, id)
}

// refill puts the next batches into the frontier when it runs low. It is called whenever the work on a URL ends and before that is told to the
// frontier, so that nobody goes home while the plan has more.
func (r *run) refill() {
	p := r.planner
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.phase != phaseClosed && !p.dry && r.front.Short(p.low, p.origins) {
		if p.phase == phaseListings {
			for _, id := range p.nextListings() {
				r.enqueueOne(id, crawl.PrioSeed)
			}
			continue
		}
		for _, id := range p.next(r.listings) {
			r.auditPlanned(id)
			r.enqueueOne(id, crawl.PrioKnown)
		}
	}
}

// next takes a batch of the plan, or of hints. A listing that comes with it waits for the next stage of listings.
func (p *planner) next(listings spare.IDSet) (ids []uint32) {
	if ids = p.hinted.take(p.low); len(ids) > 0 {
		return ids
	}
	asks := p.plan.Next(p.low)
	for _, a := range asks {
		p.asked[min(a.Why.Why, policy.Cheap-1)]++
		if id := uint32(a.Unit); p.listings && listings.Has(id) {
			p.wanted = append(p.wanted, id)
		} else {
			ids = append(ids, id)
		}
	}
	p.dry = len(asks) == 0
	return ids
}

// enqueueOne puts a known URL into the frontier, once.
func (r *run) enqueueOne(id uint32, p crawl.Priority) {
	if u, first := r.table.Queue(id); first {
		r.front.Add(u.Origin(), id, p)
	}
}

// enqueueOwed puts into the frontier what a planned run asks for whatever the plan says: what an unfinished run has not asked yet, and what failed and
// may do better now.
func (r *run) enqueueOwed() {
	var failed []uint32
	for id, s := range r.table.Settled().All() {
		switch {
		case !s.Given() || s.Queued():
		case s.Outcome() == site.Pending && s.Requisite():
			r.enqueueOne(id, crawl.PrioRequisite)
		case s.Outcome() == site.Pending:
			r.enqueueOne(id, crawl.PrioNew)
		case s.Outcome() == site.Failed && !r.broken[id]:
			failed = append(failed, id)
		case r.owesForeign(id):
			r.enqueueOne(id, crawl.PrioKnown)
		}
	}
	for _, id := range failed {
		r.enqueueOne(id, crawl.PrioKnown)
	}
}

// tryDead is for how many runs, at most, a link that leads to nothing in the mirror is left alone by a planned run, unless a document that changed
// names it: for as many as it has been dead, so that what comes back soon is found soon.
const tryDead = 8

// leaves reports whether a planned run leaves a known URL, which an unchanged document names, to the plan or to another run. It is called while
// the table waits.
func (r *run) leaves(id uint32, s ledger.State) bool {
	p := r.planner
	if p == nil || !s.Known() {
		return false
	}
	if s.Governed() {
		return true
	}
	if r.broken[id] {
		return (int(id)+r.state.Number)%tryDead != 0
	}
	switch s.Outcome() {
	case site.Gone, site.Failed, site.Redirected, site.Disallowed:
	default:
		return false
	}
	looked := p.model.Looked(id)
	return looked > 0 && r.state.Number-looked < min(looked-p.model.Died(id), tryDead)
}

// skipRest ends a planned run: what the plan spares is taken note of, as neither observed nor left to ask. What robots rules have come to forbid is
// not spared; it leaves without a request, in a stage of its own.
func (r *run) skipRest(ctx context.Context, stage func()) {
	p := r.planner
	if p == nil {
		return
	}
	if err := r.distrustLiars(); err != nil {
		r.stop(err)
	}
	if r.stopped() {
		return
	}
	forbidden := false
	for id := range p.plan.Spared() {
		if u, s := r.table.Get(uint32(id)); !s.Queued() && r.origins.Forbids(u) {
			r.enqueueOne(uint32(id), crawl.PrioKnown)
			forbidden = true
		}
	}
	if forbidden {
		stage()
	}
	r.skips = map[policy.Why]int64{}
	verbose := r.log.Enabled(ctx, slog.LevelDebug)
	for id, why := range p.plan.Spared() {
		u, s := r.table.Get(uint32(id))
		if s.Queued() {
			continue
		}
		r.table.See(uint32(id), ledger.Skipped)
		r.skips[why.Why]++
		if verbose {
			r.log.Debug("skipped", "url", u.String(), "outcome", site.Skipped, "why", why.String())
		}
	}
}

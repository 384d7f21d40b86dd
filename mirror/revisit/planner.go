// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"fmt"
	"iter"
	"slices"
	"sync"

	"mirrord/evolution/policy"
	"mirrord/mirror/urls"
)

// Planner lets the job's policy decide which of the known URLs a run requests. It hands out batches of the
// URLs that pay most while the frontier runs low, takes the outcomes, and ends by itself. What it does not
// hand out is skipped and not observed.
//
// A plan does not decide about new URLs: these are requested when documents name them, wherever they lie. Nor
// does it decide about what a run owes: entry points, sitemaps and URLs that failed when they were last
// requested.
//
// A nil Planner is the plan of a run that requests everything. Safe for concurrent use, except where a method
// says that no worker may run.
type Planner struct {
	PlanOptions
	model   *SiteModel
	rules   *MinedRules // nil for a policy without rules
	low     int         // the frontier is filled when it has fewer URLs
	batch   int         // URLs of a batch. Two in order are as many as wait in the frontier
	origins []string    // of the units
	due     urls.IDSet  // requested in all cases, because the job gives them priority

	mu     sync.Mutex
	plan   policy.Plan
	phase  PlanPhase
	dry    bool     // this phase had no more batches, and no outcome came since
	wanted []uint32 // listings for the next stage of listings
	order  inOrder
	loose  bool   // outcomes are passed as they come
	held   bool   // a batch would have been handed out, but outcomes are missing
	stuck  uint32 // the oldest of them, plus one, at the last call of Nudge
	found  map[uint32]int
	met    urls.IDSet          // handed out, or told of
	said   map[uint32][]uint32 // by document: of what it says something new; until its outcome is passed
	asked  [policy.Cheap]int64 // by policy.Why
	made   int                 // requests of known URLs
	hinted hints
	told   toldTimes
}

// PlanPhase says what Refill may hand out now.
type PlanPhase uint8

// The phases of a plan.
const (
	PlanClosed   PlanPhase = iota // nothing
	PlanListings                  // listings
	PlanOpen                      // all that pays
)

// bestFirst is the policy by which a run that has too little to judge by requests everything within a budget,
// what pays most first.
const bestFirst = policy.Adaptive

// NewPlanner makes the plan of a run. Without a plan the run requests everything, and why says the reason. No
// worker may run.
func NewPlanner(o PlanOptions) (p *Planner, why string, err error) {
	if why := o.WhyFull(); why != "" {
		return nil, why, nil
	}
	how := ModelOptions{
		Run:      o.Run,
		Exact:    o.policy().Rules,
		Looks:    o.policy().Weighs && o.Job.LearnFor() > 0,
		Interval: o.Job.UsualInterval(),
		Told:     newTold(o.Told),
	}
	if o.policy().Listings {
		how.Listings = o.Listings
	}
	m, err := o.Site.Model(how)
	if err != nil {
		return nil, "", err
	}
	if len(o.Job.Only) > 0 {
		return newPlanner(o, m, policy.Only(m.Model)), "", nil
	}
	with, why := o.planned(m)
	if why != "" {
		return nil, why, nil
	}
	p = newPlanner(o, m, nil)
	var n int
	if p.due, n = dueIn(&o, m); with.Budget > 0 {
		with.Budget = max(1, with.Budget-n)
	}
	if d, _ := o.Policies.Find(with.Policy); d.Rules {
		if p.rules, err = o.Site.Rules(m.Tree, o.Job.Near, false); err != nil {
			return nil, "", err
		}
		with.Skips, with.Audits = p.rules.Skips, ruleAudits
	}
	if p.DecidesListings() {
		for id := range uint32(m.Units()) {
			if o.Covered.Has(id) {
				m.Vouch(policy.ID(id))
			}
		}
	}
	if p.plan, err = o.Policies.Plan(m.Model, with); err != nil {
		return nil, "", fmt.Errorf("job %s: %w", o.Site.Name, err)
	}
	return p, "", nil
}

// newPlanner returns a planner of a plan, which may be given later.
func newPlanner(o PlanOptions, m *SiteModel, plan policy.Plan) *Planner {
	p := &Planner{
		PlanOptions: o,
		model:       m,
		low:         lowWater(o.Job),
		origins:     m.origins,
		plan:        plan,
		found:       map[uint32]int{},
		said:        map[uint32][]uint32{},
		hinted:      newHints(o.Hints),
		told:        newTold(o.Told),
	}
	p.order.by = m.ByKey
	p.batch = p.low / 2
	if p.loose = len(p.origins) > 1; p.loose {
		p.batch = p.low
	}
	return p
}

// Reason says why a URL was handed out or, when it was not, why it is skipped.
func (p *Planner) Reason(id uint32) policy.Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.plan.Reason(policy.ID(id))
}

// Skipped yields the URLs that were neither handed out nor observed, and why. No worker may run.
func (p *Planner) Skipped() iter.Seq2[uint32, policy.Reason] {
	p.pass(p.order.rest())
	return func(yield func(uint32, policy.Reason) bool) {
		for id, why := range p.plan.Spared() {
			if !yield(uint32(id), why) {
				return
			}
		}
	}
}

// HandedOut counts what was handed out by reason. No worker may run.
func (p *Planner) HandedOut() map[string]int64 {
	out := map[string]int64{}
	for why, n := range p.asked {
		if n > 0 {
			out[policy.Why(why).String()] = n
		}
	}
	return out
}

// resultOf is the result that a plan takes of a URL of which seen was found out in this run.
func resultOf(seen urls.Seen) policy.Result {
	switch {
	case seen&urls.Joined != 0:
		return policy.Unchanged
	case seen&urls.Left != 0:
		return policy.Gone
	case seen&(urls.Changed|urls.Entered) != 0:
		return policy.Changed
	case seen&(urls.Asked|urls.Spared) != 0:
		return policy.Unchanged
	}
	return policy.Failed
}

// Tell takes what was found out about a URL.
func (p *Planner) Tell(id uint32, seen urls.Seen) {
	if !p.governs(id) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.met.Put(id, true)
	if seen&urls.Asked != 0 {
		p.made++
	}
	o := policy.Outcome{Unit: policy.ID(id), Result: resultOf(seen), New: p.found[id]}
	if delete(p.found, id); p.loose {
		p.pass([]policy.Outcome{o})
	} else {
		p.order.add(o)
	}
	p.dry = false
}

// pass tells the plan outcomes.
func (p *Planner) pass(all []policy.Outcome) {
	for _, o := range all {
		changed := o.Result == policy.Changed || o.Result == policy.Gone
		if changed {
			if from, told := p.hinted.open[uint32(o.Unit)]; told {
				p.told.note(&p.PlanOptions, p.model.Model, o.Unit, policy.ID(from))
			}
		}
		o.Told = p.hinted.tell(uint32(o.Unit), changed)
		p.plan.Tell(o)
		doc := uint32(o.Unit)
		for _, id := range p.said[doc] {
			p.hinted.list = append(p.hinted.list, hint{id, doc})
		}
		delete(p.said, doc)
	}
}

// Named takes the URLs that a document named and that enter the frontier. It counts those that are new.
func (p *Planner) Named(doc uint32, ids iter.Seq[uint32]) {
	if !p.governs(doc) {
		return
	}
	n := 0
	for id := range ids {
		if !p.governs(id) {
			n++
		}
	}
	if n > 0 {
		p.mu.Lock()
		p.found[doc] = n
		p.mu.Unlock()
	}
}

// Hint takes note that a kind of evidence says something new of a URL.
func (p *Planner) Hint(id uint32, k urls.EvidenceKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hinted.list = append(p.hinted.list, hint{id, fromKind(k)})
}

// Weighs reports whether the plan weighs what sources do not show.
func (p *Planner) Weighs() bool {
	if p == nil {
		return false
	}
	_, weighs := p.plan.(policy.Doubter)
	return weighs
}

// Doubt takes URLs of which a source shows nothing new that hides this share of all changes.
func (p *Planner) Doubt(ids []uint32, hidden float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d, weighs := p.plan.(policy.Doubter); weighs {
		units := make([]policy.ID, len(ids))
		for i, id := range ids {
			units[i] = policy.ID(id)
		}
		d.Doubt(units, hidden)
		p.dry = false
	}
}

// Says takes note of what a document that has changed says something new of. It counts when the outcome of
// the document reaches the plan.
func (p *Planner) Says(doc uint32, ids []uint32) {
	if len(ids) > 0 && p.governs(doc) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.said[doc] = ids
	}
}

// Trusts reports whether what a document said of others proved right so far.
func (p *Planner) Trusts(doc uint32) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hinted.trusts(doc)
}

// ToKeep is to be stored as HintsFact and ToldFact at the end of the run. No worker may run.
func (p *Planner) ToKeep() (hints, told []byte, err error) {
	hints, err = p.hinted.fact()
	if err != nil {
		return nil, nil, err
	}
	told, err = p.told.fact()
	return hints, told, err
}

// Under a policy that decides on listings, a directory listing is requested when that pays. It shows all
// files of its directory, so it is worth what they are together (policy.Model.Vouch). When it does not pay,
// neither it nor its files are requested. Always requested are the listings that are entry points or the root
// of the site, those that failed when they were last requested, and all while listings are not believed on
// this site.
//
// What listings say makes others pay, so the sources of evidence are requested in stages until no more
// listing pays: one stage before all else, and more when what was found then raises expectations
// elsewhere.

// Batch is what a planner hands out at a time.
type Batch struct {
	Asks     []policy.Ask // units are URL numbers
	Listings bool         // it is for the stage of listings, before all else
}

// Enter begins a phase. The first one is PlanClosed.
func (p *Planner) Enter(x PlanPhase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.dry = x, false
}

// Await notes URLs that a run requests although the plan did not hand them out: what it owes. The plan goes
// on with their outcomes as if it had handed them out before all else.
func (p *Planner) Await(ids []uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.loose {
		ids = slices.DeleteFunc(ids, func(id uint32) bool { return !p.governs(id) })
		slices.SortFunc(ids, func(a, b uint32) int { return p.model.ByKey(policy.ID(a), policy.ID(b)) })
		p.order.push(ids)
	}
}

// Refill returns the next batch while the frontier runs low; an empty one means that it does not, that the
// plan has nothing more now, or that outcomes are missing without which it cannot say. short says whether
// fewer than low URLs are queued, or none of one of several origins. Whenever the work on a URL ends, before
// the frontier learns of that end, call it until it returns nothing: then no worker stops while the plan has
// more.
//
// For a site of one origin the batches depend on the answers alone, not on when they come (see inOrder), so
// that Foresee can say which they are. Where there are several, no host waits for the answers of another one.
func (p *Planner) Refill(short func(low int, origins []string) bool) (b Batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
	for len(b.Asks) == 0 && p.phase != PlanClosed && !p.dry && short(p.low, p.origins) {
		if _, p.held = p.order.missing(); p.held {
			break
		}
		p.pass(p.order.pass())
		b.Listings = p.phase == PlanListings
		some := false
		if b.Listings {
			b.Asks = p.nextListings()
			some = len(b.Asks) > 0
		} else {
			b.Asks, some = p.next()
		}
		if !p.loose {
			p.order.push(unitsOf(b.Asks))
		}
		p.dry = !some && p.order.isEmpty()
	}
	return b
}

func unitsOf(asks []policy.Ask) (ids []uint32) {
	for _, a := range asks {
		ids = append(ids, uint32(a.Unit))
	}
	return ids
}

// Nudge is called from time to time. When the plan is held up by an outcome that was missing at the last
// call, too, it continues without, and Nudge reports that: call Refill then. One slow answer must not hold
// up a run.
func (p *Planner) Nudge() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.stuck
	p.stuck = 0
	if id, missing := p.order.missing(); missing && p.held {
		p.stuck = id + 1
	}
	if p.stuck == 0 || p.stuck != was {
		return false
	}
	p.order.giveUp()
	return true
}

// next takes a batch of hints, or of the plan, and reports whether there was any. A listing that comes with
// it waits for the next stage of listings.
func (p *Planner) next() (out []policy.Ask, some bool) {
	for _, h := range p.hinted.take(p.batch, p.price(), &p.met) {
		out = append(out, policy.Ask{Unit: policy.ID(h.id), Why: policy.Reason{
			Why:      policy.Said,
			Expected: float32(p.hinted.chance(h.from)),
			Price:    float32(p.price()),
		}})
		p.asked[policy.Said]++
	}
	if len(out) > 0 {
		return out, true
	}
	asks := p.plan.Next(p.batch)
	if len(asks) == 0 {
		for _, id := range p.takeDead() {
			out = append(out, policy.Ask{Unit: policy.ID(id)})
		}
		return out, len(out) > 0
	}
	for _, a := range asks {
		p.met.Put(uint32(a.Unit), true)
		p.asked[min(a.Why.Why, policy.Cheap-1)]++
		if id := uint32(a.Unit); p.DecidesListings() && p.Listings.Has(id) {
			p.wanted = append(p.wanted, id)
		} else {
			out = append(out, a)
		}
	}
	return out, len(asks) > 0
}

// nextListings takes the next listings that pay.
func (p *Planner) nextListings() (out []policy.Ask) {
	for _, id := range p.wanted {
		out = append(out, policy.Ask{Unit: policy.ID(id)})
	}
	if p.wanted = nil; len(out) > 0 {
		return out
	}
	out = p.plan.NextListings(p.batch)
	for _, a := range out {
		p.asked[min(a.Why.Why, policy.Cheap-1)]++
	}
	return out
}

// Want adds a listing to the stage that is under way.
func (p *Planner) Want(id uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted, p.dry = append(p.wanted, id), false
}

// TakeWanted takes the listings that wait.
func (p *Planner) TakeWanted() (ids []uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids, p.wanted = p.wanted, nil
	return ids
}

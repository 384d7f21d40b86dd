// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"iter"
	"math"
	mathbits "math/bits"
	"slices"
)

// adaptive asks for what pays. What it believes of a unit is a chain of chances:
//
//	the site changed since the last run · each directory on the way, given that the one above it did · the
//	    unit, given that its directory did
//
// each learned from the runs so far and shrunk to the usual values beside it. Outcomes of the run pass up
// and down the chain (belief.go); what hit in a group of units that changed together is expected of the
// rest of it (group.go), and of units of the same name elsewhere (names.go).
type adaptive struct {
	*Model
	Options

	chain chain

	// Groups: order holds the units, group by group; first is the first group of each directory, and one more.
	order []ID
	pos   []uint32 // by unit: its place in order
	gs    []group
	first []uint32
	ranks ranking

	quiet silence
	alone *alone
	names names
	kin   kin
	lists waiting

	overdues
	weighing

	size  float64    // part of the price, see sizeFactors
	usual float64    // of it, that of the changes
	known float64    // looks at a page, as a part of young, at most 1
	state []handling // by unit
	asked int
	found int // changes and new URLs
	stale int // outcomes since all groups were valued
	news  int // of them, changes: only these make anything worth more
}

// overdues are units that are requested whether they pay or not.
type overdues struct {
	due   []ID // not observed for too long: before all others
	early []ID // that soon will be: after what pays
}

// weighing is what makes a unit worth less than its chance to have changed, and the price.
type weighing struct {
	factors factors
	shown   shown
	goal    goal
}

// handling is what the plan did with a unit: bits, and above them why.
type handling uint8

const (
	handed handling = 1 << iota // was handed out
	told                        // was told of
	whyAt  = iota               // the reason begins here
)

// The price rises with what a run has found: by as much again with each so many changes. The first changes of
// a run say that the site is alive; in a run that finds thousands, a request that finds one in a thousand is
// better spent on another day. A listing shows what came and went, of which there is more in such a run: it
// does not become dearer, and is worth more with the square root.
const plenty, listRise = 50, 1.5

// A change by itself is one of the changes of its run, and the larger their number the less it matters: with
// each so many changes that were found it is worth as much less again; of a young site, where what changes
// together is not known yet, with more. Before anything was found it may be the only change of its run. It is
// worth less from the first find on, in the end an onlyOne-th; after onlyFinds finds half of that is lost. On
// 22 sites, looks that hardly paid found .46 to .93 of a run's changes for the requests of a full sync before
// the first find, and about .1 after it.
const plentyAlone, onlyOne, onlyFinds = 14, 5, 2

// An answer tells of more than of its own unit, so a request is worth this much more than the changes that it
// is expected to find.
const insight = 1.667

// In a run in which all hubs are silent, the expectation still proves too high. A request must be worth this
// much more; the second where hubs cover the site.
const silentPrice, coveredPrice = 1.3, 1.8

// A request is a smaller part of a full sync the larger the site: beyond so many units the price falls with
// this power of their number; that of a listing, which tells of more the larger the site, with the second.
// A change that is missed is a smaller part of the changes of its run the more there are: the price goes
// with a power of the share of a site that changes in a run with a change, by as much at the usual share,
// and little up or down, because after a rebuild much is wrong until it is found.
const (
	fewUnits, sizePower, listSizePower = 1000, 0.35, 0.2
	changePower, leastDear, mostDear   = 0.4, 0.8, 1.35
)

// The share of the site that usually changes, and as how many runs it counts.
const usualChange, usualRuns = 0.005, 3

// Until pages were looked at so often, in the mean, a look also teaches how often a page changes, so the
// price begins at this part of what it will be; not while the hubs are silent, when nearly all looks find the
// page as it was. Looks count, not runs: after three full syncs the mean CR of runs 20 to 40 was .93 where it
// was .96 after twenty, on 22 sites and on 25 others.
const young, youngPrice = 12, 0.6

func newAdaptive(m *Model, o Options) *adaptive {
	a := &adaptive{
		Model:   m,
		Options: o,
		state:   make([]handling, m.Units()),
		chain:   newChain(m, &o),
	}
	a.factors = newFactors(m, &a.Options)
	a.lists.find(a.Model)
	a.group()
	a.size, a.usual = sizeFactors(m.changes, float64(max(1, len(a.order))))
	a.known = knownOf(a)
	a.ranks = ranking{m: m, groups: a.gs}
	a.alone = newAlone(m)
	a.quiet.find(a)
	a.names = newNames(m)
	a.late()
	a.goal = goalOf(a)
	a.revalue()
	return a
}

// late finds the units that were not observed for long, or never, and those that are requested early.
func (a *adaptive) late() {
	var soon comingDue
	for i := range a.gs {
		g := &a.gs[i]
		withheld := a.withheld(g)
		for _, u := range a.order[g.next:g.to] {
			if b := boundsOf(a.Model, u, &a.Options); a.last(u) > 0 && b.left() > 0 {
				if !withheld {
					soon.add(a.Model, u, b)
				}
				continue
			}
			if withheld {
				u = a.lists.teller(g.dir) // would tell of it
			}
			a.due = append(a.due, u)
			if a.kind(u) == Listing {
				a.lists.due = append(a.lists.due, u)
			}
			if withheld {
				break
			}
		}
	}
	slices.SortFunc(a.due, longest(a.Model))
	slices.SortFunc(a.lists.due, longest(a.Model))
	a.early = soon.spread(len(a.due))
	for _, u := range a.early {
		if a.kind(u) == Listing {
			a.lists.early = append(a.lists.early, u)
		}
	}
}

// longest orders units by when they were last observed, the oldest first: with a budget that is too small for
// all that are due each has its turn.
func longest(m *Model) func(u, v ID) int {
	return func(u, v ID) int { return cmp.Or(cmp.Compare(m.last(u), m.last(v)), m.ByKey(u, v)) }
}

func (a *adaptive) Next(most int) []Ask         { return a.take(most, false) }
func (a *adaptive) NextListings(most int) []Ask { return a.take(most, true) }

// take hands out units, or only listings.
func (a *adaptive) take(most int, listings bool) (out []Ask) {
	if a.stale > 16+a.asked/20 {
		a.revalue()
	}
	due, early := &a.due, &a.early
	if listings {
		due, early = &a.lists.due, &a.lists.early
	}
	for len(out) < most && (a.Budget == 0 || a.asked < a.Budget) {
		u, why, ok := a.next(due, early, listings)
		if !ok {
			break
		}
		a.state[u] |= handed | handling(why.Why)<<whyAt
		a.lists.handed(a.Model, u)
		a.asked++
		out = append(out, Ask{u, why})
	}
	return out
}

// revalue values all groups again.
func (a *adaptive) revalue() {
	a.stale, a.news = 0, 0
	a.chain.settle()
	for d := range a.chain.nodes {
		a.chain.nodes[d].valued = a.chain.nodes[d].act
	}
	for i := range a.gs {
		a.value(uint32(i))
	}
	a.ranks.rebuild(a.withheld)
}

// next takes the unit that is to be requested next.
func (a *adaptive) next(due, early *[]ID, listings bool) (ID, Reason, bool) {
	if u, ok := a.pop(due); ok {
		r := a.reason(u)
		if r.Why, r.Age = Skipped, agedBy(a.Model, u, &a.Options); a.last(u) == 0 {
			r.Why, r.Age = New, 0
		}
		return u, r, true
	}
	if !listings { // listings that come before all else come before hubs
		if u, ok := a.pop(&a.quiet.ask); ok {
			r := a.reason(u)
			r.Why = Hub
			return u, r, true
		}
	}
	for i, ok := a.ranks.top(listings); ok; i, ok = a.ranks.top(listings) {
		g := &a.gs[i]
		was := g.worth
		// what was told since has made it less
		if a.value(i); g.next == g.to || g.worth < was*0.95 || (g.worth < was && float64(g.worth) < a.price()) {
			a.ranks.fix(i)
			continue
		}
		if float64(g.worth) < a.price() {
			if a.news == 0 {
				break
			}
			a.revalue()
			continue
		}
		if listings && a.better(i) {
			return 0, Reason{}, false
		}
		u := a.order[g.next]
		r := a.reason(u)
		r.Worth = g.worth * float32(dearness(a, u))
		switch r.Why = Rate; {
		case g.hits > 0:
			r.Why = Group
		case r.Worth > r.Expected*1.01 && g.kind != Listing:
			r.Why = Probe
		}
		g.take()
		a.kin.hand(g, 1)
		a.value(i)
		a.ranks.fix(i)
		return u, r, true
	}
	if listings && a.Budget != 0 {
		return 0, Reason{}, false
	}
	if u, ok := a.pop(early); ok {
		r := a.reason(u)
		r.Why, r.Age = Skipped, agedBy(a.Model, u, &a.Options)
		return u, r, true
	}
	return 0, Reason{}, false
}

// pop takes the first of a list that was neither handed out nor told of.
func (a *adaptive) pop(list *[]ID) (ID, bool) {
	for len(*list) > 0 {
		u := (*list)[0]
		if *list = (*list)[1:]; a.state[u] == 0 {
			g := &a.gs[a.groupOf(u)]
			g.pending++
			a.kin.hand(g, 1)
			return u, true
		}
	}
	return 0, false
}

// price is what a request must be worth at this point of the run.
func (a *adaptive) price() float64 {
	least := a.Price
	if a.goal != 0 {
		least *= float64(a.goal)
	}
	if a.Own > 0 {
		least = max(least, scarcity(a.Own, a.Budget-a.asked))
	}
	p := least / a.taught() * a.size * a.risen(plenty)
	switch {
	case a.quiet.now && a.quiet.covers:
		p *= coveredPrice
	case a.quiet.now:
		p *= silentPrice
	}
	return p
}

// sizeFactors are the part of the price that the size of a site leaves and the changes that its runs found,
// by run from 1, and of it that of the changes. The first run had nothing to compare; of the others the last
// 63 count.
func sizeFactors(changes []float64, units float64) (size, usual float64) {
	sum, runs := 0.0, float64(usualRuns)
	for i, n := range changes {
		if n > 0 && i > max(1, len(changes)-64) {
			sum += math.Log(min(1, n/units) / usualChange)
			runs++
		}
	}
	usual = min(mostDear, max(leastDear, math.Exp(sum/runs*changePower)))
	return math.Pow(min(1, fewUnits/units), sizePower) * usual, usual
}

// knownOf is how often pages were looked at, in the mean of the last 64 runs, as a part of young.
func knownOf(a *adaptive) float64 {
	pages, looks := 0, 0
	for _, u := range a.order {
		if a.kind(u) != Listing {
			pages++
			looks += mathbits.OnesCount64(a.exposure(u).looks)
		}
	}
	return min(1, float64(looks)/float64(max(1, pages))/young)
}

// risen is how many times as high the price is as at the beginning of the run, when it rises by as much again
// with each so many changes found.
func (a *adaptive) risen(each float64) float64 {
	if a.goal != 0 {
		return 1
	}
	return 1 + float64(a.found)/each
}

// only is by how much less a change by itself is worth than before the run has found anything.
func (a *adaptive) only() float64 {
	if a.goal != 0 {
		return 1
	}
	n := float64(a.found)
	return a.risen(plentyAlone/a.known) * (1 + (onlyOne-1)*n/(n+onlyFinds))
}

// taught is how much more a request is worth than the changes that it is expected to find.
func (a *adaptive) taught() float64 {
	if a.quiet.now {
		return insight
	}
	return insight / (youngPrice + (1-youngPrice)*a.known)
}

// dearness is how many times the price of a request a unit has to be worth: because of its bytes, and because
// a listing teaches nothing beyond what it finds. How often others change by themselves is not learned from
// it, and those of which it tells are requested in the same run.
func dearness(a *adaptive, u ID) float64 {
	x := a.factors.of(u)
	if a.kind(u) == Listing { // nor is it cheaper where little changes
		x *= a.taught() / min(1, a.usual) / math.Pow(a.risen(plenty), listRise) *
			math.Pow(max(1, float64(len(a.order))/fewUnits), sizePower-listSizePower)
	}
	return x
}

func (a *adaptive) Tell(o Outcome) {
	u := o.Unit
	if !a.In(u) || int(u) >= len(a.state) || a.state[u]&told != 0 {
		return
	}
	i := a.groupOf(u)
	g := &a.gs[i]
	if a.state[u]&handed != 0 {
		g.pending--
		a.kin.hand(g, -1)
	}
	a.state[u] |= told
	defer a.release(u)
	if o.Result == Failed {
		a.value(i)
		a.ranks.fix(i)
		return
	}
	hit := o.Result != Unchanged
	// what was requested for another reason is no evidence about its cohort
	if hit && a.state[u]&handed != 0 && a.lists.changed(a.Model, u) {
		a.stale += 1 << 20
	}
	if hit {
		a.found += 1 + o.New
		a.news++
	}
	if o.Told {
		if a.quiet.tell(u, hit) {
			a.stale += 1 << 20
		}
		a.value(i)
		a.ranks.fix(i)
		return
	}
	like := g.expect(a.quota(u, g))
	if !hit {
		like = 1 - like
	}
	missed := hit && a.quiet.now && a.quiet.missed(a, u, g)
	g.tell(hit)
	if a.kin.tell(g, hit) {
		a.stale += 1 << 20
	}
	if a.quiet.tell(u, hit && !missed) {
		a.stale += 1 << 20
		a.news++
	}
	if !missed {
		a.chain.evidence(g.dir, math.Log(max(like, 1e-9)), hit)
	}
	x := a.parts(u, g)
	a.names.check(a.name[u], 1-(1-x.with)*(1-x.alone), hit)
	for _, v := range a.names.tell(a.Model, u, hit, a.state) {
		a.promote(v)
	}
	a.stale++
	if n := &a.chain.nodes[g.dir]; moved(n.act, n.valued, 0.2) {
		n.valued = n.act
		for j := a.first[g.dir]; j < a.first[g.dir+1]; j++ {
			a.value(j)
			a.ranks.fix(j)
		}
	} else {
		a.value(i)
		a.ranks.fix(i)
	}
	if n := &a.chain.nodes[Root]; moved(n.act, n.valued, 0.3) {
		a.stale += 1 << 20 // everything is worth another sum
	}
}

func moved(now, was, by float64) bool { return now > was*(1+by) || now < was*(1-by) }

// reason is why as the numbers stand, without the why.
func (a *adaptive) reason(u ID) Reason {
	p := a.expected(u, &a.gs[a.groupOf(u)])
	if a.lists.tells(a.Model, u) {
		p = a.sum(u, p)
	}
	return Reason{
		Expected: float32(p),
		Worth:    float32(p),
		Price:    float32(max(0, a.price()*dearness(a, u))),
		Runs:     a.runs + 1 - int(a.last(u)),
		Silent:   ruledRuns(a, a.dir[u]),
	}
}

// ruledRuns is the most that counts as a rule for a directory: its own, or that of one above it.
func ruledRuns(a *adaptive, d Dir) (runs int) {
	for ; d != Root; d = a.dirs[d].parent {
		runs = max(runs, int(a.chain.nodes[d].silent))
	}
	return runs
}

func (a *adaptive) Reason(u ID) Reason {
	if !a.In(u) || int(u) >= len(a.state) {
		return Reason{Why: Unknown}
	}
	switch s := a.state[u]; {
	case s&handed != 0:
		r := Reason{Why: Why(s >> whyAt), Runs: a.runs + 1 - int(a.last(u))}
		if r.Why == Skipped {
			r.Age = agedBy(a.Model, u, &a.Options)
		}
		return r
	case s&told != 0:
		return Reason{Why: Observed}
	}
	r := a.reason(u)
	if r.Why = Cheap; a.Budget != 0 && a.asked >= a.Budget {
		r.Why = Budget
	}
	return r
}

func (a *adaptive) Spared() iter.Seq2[ID, Reason] { return spared(a.Model, a.state, a.Reason) }

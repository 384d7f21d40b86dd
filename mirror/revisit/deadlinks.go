// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"

	"mirrord/evolution/policy"
)

// Dead links have a rate of their own. That one is alive again grows less likely with every run for which it
// was dead: over a time in which its age doubles the chance is about the same at any age. How large it is, is
// learned from the dead links of the site.

const (
	// For so many runs a dead link is requested whenever its age has doubled, so that what comes back soon is
	// found soon.
	youngDead = 8
	// Before anything is known the chance of a doubling is the default price. It is a guess that counts as much
	// as this many links of which the age grew by the factor e.
	deadPrior = 100
	// The share of the requests of a run that dead links are at most, but for those of a directory in which one
	// is alive again: else a site with more dead links than changes is asked for little else.
	deadShare = 0.05
)

// deadLinks is what the runs of a site tell of dead links.
type deadLinks struct {
	died map[uint32]uint32     // by URL: the run that found it missing from the mirror
	back map[policy.Dir]uint32 // the last run in which dead links of a directory were alive again

	grown   float64 // logarithms of the factors by which the ages of links grew until a look, together
	returns float64 // directories of which dead links were alive again, by run
}

func newDeadLinks() deadLinks {
	return deadLinks{died: map[uint32]uint32{}, back: map[policy.Dir]uint32{}}
}

// look takes note of a look at a link that was last looked at in another run.
func (d *deadLinks) look(id, run, last uint32) {
	if died := d.died[id]; died > 0 && last >= died && run > last {
		d.grown += grown(run-died, last-died)
	}
}

// revive takes note of a link that is alive again.
func (d *deadLinks) revive(dir policy.Dir, run uint32) {
	if d.back[dir] != run {
		d.back[dir] = run
		d.returns++
	}
}

// grown is the logarithm of the factor by which an age has grown.
func grown(now, then uint32) float64 { return math.Log(float64(now+1) / float64(then+1)) }

// rate is the chance that a link is alive again after its age has grown by the factor e.
func (d *deadLinks) rate() float64 {
	const prior = policy.DefaultPrice / math.Ln2
	return (d.returns + prior*deadPrior) / (d.grown + deadPrior)
}

// deadPlan says which dead links a run requests.
type deadPlan struct {
	model *SiteModel
	run   int
	price float64
	rate  float64
	probe map[uint32]bool // of directories of which no dead link was requested for long
}

// planDead plans the dead links of a run. Of each directory that has some, one is requested at least every
// most runs; 0 is no bound. When it is alive again, the next run requests the others.
func planDead(m *SiteModel, run int, price float64, most int) deadPlan {
	p := deadPlan{
		model: m,
		run:   run,
		price: price,
		rate:  m.dead.rate(),
		probe: map[uint32]bool{},
	}
	if price <= 0 {
		p.price = policy.DefaultPrice
	}
	if most <= 0 {
		return p
	}
	type group struct{ oldest, last uint32 }
	groups := map[policy.Dir]group{}
	for id := range m.dead.died {
		dir := m.DirOf(policy.ID(id))
		g, ok := groups[dir]
		at, was := m.Looked(id), m.Looked(g.oldest)
		if !ok || at < was || (at == was && m.ByKey(policy.ID(id), policy.ID(g.oldest)) < 0) {
			g.oldest = id
		}
		g.last = max(g.last, uint32(at))
		groups[dir] = g
	}
	for dir, g := range groups {
		if run-int(g.last) >= most-int(spread(m.DirKey(dir))*float64(most)/3) {
			p.probe[g.oldest] = true
		}
	}
	return p
}

// urgency is how much it is time to request a dead link: below 1 it rests, and what was not requested before,
// or is in a directory in which one is alive again, is infinite.
func (p *deadPlan) urgency(id uint32) float64 {
	looked, died := p.model.Looked(id), p.model.Died(id)
	age, since := looked-died, p.run-looked
	switch {
	case looked == 0, p.model.dead.back[p.model.DirOf(policy.ID(id))] >= uint32(looked):
		return math.Inf(1)
	case died == 0:
		return float64(since) / youngDead
	case age < youngDead:
		return float64(since) / float64(max(age, 1))
	}
	worth := p.rate * grown(uint32(p.run-died), uint32(age))
	urgent := worth * (0.5 + spread(p.model.Key(policy.ID(id)))) / p.price
	if p.probe[id] {
		return max(1, urgent)
	}
	return urgent
}

// deadQueue has the dead links that documents name in a run and that it is time to request. They have their
// turn when the plan has nothing else: then it is known how many a run of that size may request. Its methods
// are safe for concurrent use, also while a table is locked.
type deadQueue struct {
	mu     sync.Mutex
	urgent map[uint32]float64 // by URL
	taken  int
}

func newDeadQueue() *deadQueue { return &deadQueue{urgent: map[uint32]float64{}} }

func (q *deadQueue) add(id uint32, urgency float64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.urgent[id] = urgency
}

// take returns the most urgent ones, as many as a run may request that made so many requests, those for dead
// links included.
func (q *deadQueue) take(run, made int, byKey func(a, b policy.ID) int) (ids []uint32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(deadAllowed(run, made-q.taken)-q.taken, len(q.urgent))
	if n <= 0 {
		return nil
	}
	ids = slices.SortedFunc(maps.Keys(q.urgent), func(a, b uint32) int {
		return cmp.Or(cmp.Compare(q.urgent[b], q.urgent[a]), byKey(policy.ID(a), policy.ID(b)))
	})[:n]
	for _, id := range ids {
		delete(q.urgent, id)
	}
	q.taken += n
	return ids
}

// deadAllowed is how many dead links a run may request beside so many other requests. Where that is less than
// one, it is one in some of the runs.
func deadAllowed(run, others int) int {
	n := float64(others) * deadShare / (1 - deadShare)
	if n < 1 {
		_, place := math.Modf(float64(run) * math.Phi)
		n += place
	}
	return int(n)
}

// spread is a number from 0 to 1 that spreads over several runs what would fall into one.
func spread(key uint32) float64 { return float64(key>>8) / (1 << 24) }

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"math"
	"slices"
)

// Groups are units of one directory and kind that changed in the same runs since they came: those made by
// one template, or published by one robot. Of a group, the unit that was longest not observed is requested
// first; it stands for all.

const (
	// Runs in which its directory changed after which a unit's own record counts as much as its directory's.
	unitShrink = 1.5
	// The expectation of a group counts as much as this many of its units' outcomes: little, since groups
	// mostly change as a whole or not at all. After m outcomes with h changes, the rest changes with chance
	// (weight·p + h)/(weight + m): the mean of a beta-binomial.
	weight = 0.2
	// Part of a directory's rate that is supposed of runs in which it was not seen to change.
	unseen = 0.1
	// Changes by itself in a usual interval of a unit of which nothing at all is known, and the least of any,
	// which keeps the silent from starving.
	floor, leastRate = 0.00003, 0.000005
	// The same of a unit of which a listing tells. In directories of 8 files or more in which nothing had
	// changed for 20 weeks, 11 to 32 of a million files changed in a week on the recorded sites, when less than
	// 20 pages of the whole site did.
	listedFloor = 0.000015
)

// group is the remainder of a group in this run.
type group struct {
	dir      Dir
	next, to uint32 // of adaptive.order: what was not handed out
	front    uint32 // so many of next are there because of their names
	outcomes uint32 // told of it,
	hits     uint32 // of them changes
	pending  int32  // handed out, not told
	place    int32  // in the heap; -1: not there
	kin      uint32 // 0: none
	worth    float32
	kind     Kind
	class    class
	listed   bool // the listing of the directory tells of it
	given    given
}

// take hands out the next unit.
func (g *group) take() {
	g.next++
	g.pending++
	g.front = max(g.front, 1) - 1
}

// tell takes an outcome.
func (g *group) tell(hit bool) {
	g.outcomes++
	if hit {
		g.hits++
	}
}

// expect is the chance of a unit of the group, for which p was expected, after what was told of the group.
func (g *group) expect(p float64) float64 {
	return (weight*p + float64(g.hits)) / (weight + float64(g.outcomes))
}

// group sorts the units into groups.
func (a *adaptive) group() {
	m := a.Model
	// By directory: counted, then sorted within each.
	start := make([]uint32, m.Dirs()+1)
	for u, f := range m.flags {
		if f&present != 0 {
			start[m.dir[u]+1]++
		}
	}
	for d := range m.Dirs() {
		start[d+1] += start[d]
	}
	a.order, a.pos = make([]ID, start[m.Dirs()]), make([]uint32, m.Units())
	at := slices.Clone(start)
	for u, f := range m.flags {
		if f&present != 0 {
			d := m.dir[u]
			a.order[at[d]] = ID(u)
			at[d]++
		}
	}
	a.first = at[:0] // done with
	var sorted []ranked
	for d := range m.Dirs() {
		a.first = append(a.first, uint32(len(a.gs)))
		units := a.order[start[d]:start[d+1]]
		sorted = sorted[:0]
		for _, u := range units {
			sorted = append(sorted, ranked{m.rank(u, a.factors.class(u)), m.Key(u), u})
		}
		slices.SortFunc(sorted, ranked.compare)
		for i, x := range sorted {
			units[i] = x.unit
		}
		for i := 0; i < len(units); {
			j, k, listed := i+1, m.kind(units[i]), m.flags[units[i]]&vouched
			for j < len(units) && m.kind(units[j]) == k && m.flags[units[j]]&vouched == listed &&
				m.edits(units[j]).past == m.edits(units[i]).past && k != Listing &&
				a.factors.class(units[j]) == a.factors.class(units[i]) {
				j++
			}
			a.gs = append(a.gs, group{
				dir:    Dir(d),
				kind:   k,
				class:  classOf(m, units[i], j-i),
				next:   start[d] + uint32(i),
				to:     start[d] + uint32(j),
				place:  -1,
				listed: listed != 0 && k != Listing && a.lists.of[d] != 0,
			})
			i = j
		}
	}
	a.first = append(a.first, uint32(len(a.gs)))
	for i, u := range a.order {
		a.pos[u] = uint32(i)
	}
	a.kin = newKin(a)
}

// ranked is a unit of a directory with what it is ordered by.
type ranked struct {
	rank uint64
	key  uint32
	unit ID
}

func (x ranked) compare(y ranked) int {
	switch {
	case x.rank != y.rank:
		return cmp.Compare(x.rank, y.rank)
	case x.key != y.key:
		return cmp.Compare(x.key, y.key)
	}
	return cmp.Compare(x.unit, y.unit)
}

// rank orders the units of a directory: groups one after the other, and in each the one first that was
// longest not observed. class is that of the unit by its factor.
func (m *Model) rank(u ID, class uint64) uint64 {
	f := uint64(m.flags[u])
	return (f&uint64(kindMask)<<1|f&uint64(vouched)/uint64(vouched))<<61 | uint64(m.edits(u).past)<<29 |
		class<<24 | uint64(m.last(u))&(1<<24-1)
}

// groupOf finds the group of a unit.
func (a *adaptive) groupOf(u ID) uint32 {
	d := a.dir[u]
	lo, hi := a.first[d], a.first[d+1]
	for lo < hi {
		if mid := (lo + hi) / 2; a.gs[mid].to <= a.pos[u] {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// quota is the chance that a unit changed since the last run, if its directory did.
func (a *adaptive) quota(u ID, g *group) float64 {
	x, e := a.exposure(u), a.edits(u)
	of := g.usual(a)
	q := min(0.98,
		(float64(e.c)*a.chain.disc[e.at]+unitShrink*of)/(float64(x.n)*a.chain.disc[x.last]+unitShrink))
	if a.chain.times > 1 {
		q = min(surest, 1-math.Pow(1-q, a.chain.times))
	}
	return q
}

// chance is the chance that a unit differs from what the mirror has, after all that was told.
func (a *adaptive) chance(u ID, g *group) float64 { return either(a, u, a.parts(u, g)) }

// either is the chance that a unit changed with others or by itself.
func either(a *adaptive, u ID, x parts) float64 {
	return a.shown.left(u, a.names.raise(1-(1-x.with)*(1-x.alone), a.name[u]))
}

// parts are the chances that a unit changed with others, and by itself.
type parts struct{ with, alone float64 }

// parts returns them. While all hubs are silent, what earlier runs may have missed of the changes with others
// waits for a run in which something happens: it is late already, and in silent runs most looks for it are in
// vain.
func (a *adaptive) parts(u ID, g *group) parts {
	if a.Own > 0 && g.kind != Listing {
		return timely(a, u, g)
	}
	return partsWith(a, u, g, !a.quiet.now)
}

// given is what the model expects of a unit. Of a run's outcomes only the silence of the hubs changes it.
type given struct {
	of    uint32 // one plus the unit; 0: nothing is kept
	quiet bool   // see silence.now
	late  bool   // the last run did not observe it
	quota float64
	same  float64 // chance that the runs which did not observe it missed no change with others
	alone float64
	now   float64 // of alone, the part of this run; only with a budget of several runs
}

// givenOf returns what the model expects of a unit, and keeps that of the next unit of a group.
func givenOf(a *adaptive, u ID, g *group) given {
	next := g.next < g.to && a.order[g.next] == u
	if next && g.given.of == uint32(u)+1 && g.given.quiet == a.quiet.now {
		return g.given
	}
	m := a.Model
	x, last := &m.dirs[g.dir], m.last(u)
	steps := m.clock.at[m.seen] - m.clock.at[last]
	is := given{
		of:    uint32(u) + 1,
		quiet: a.quiet.now,
		late:  steps > 0,
		quota: a.quota(u, g),
		alone: aloneChance(a, u, g, steps),
	}
	if is.now = is.alone; is.late && a.Own > 0 {
		is.now = aloneChance(a, u, g, 0)
	}
	if is.late {
		known := 0.0
		if x.run > last {
			known = float64(ones(x.recent, x.run-last))
		}
		may := a.quiet.unseen(a, g, last, steps, known)
		if _, ok := a.cohortOf(g); ok { // others of it were looked at in the meantime
			may = 0
		}
		// may is the mean of a number of runs, so what they leave as it was is that of Poisson's law.
		is.same = math.Exp(math.Log1p(-is.quota)*known - is.quota*may)
	}
	if next {
		g.given = is
	}
	return is
}

// partsWith are those chances, with what earlier runs may have missed of the changes with others or without.
func partsWith(a *adaptive, u ID, g *group, missed bool) parts {
	is := givenOf(a, u, g)
	p := is.quota * a.activeNow(g)
	if a.quiet.now {
		p = a.quiet.chance(a, u, g, is.quota)
	}
	if is.late && missed {
		p = 1 - (1-p)*is.same
	}
	if g.outcomes > 0 {
		p = g.expect(p)
	} else {
		p = a.kin.chance(g, p)
	}
	if g.listed || g.kind == Listing {
		return parts{p, is.alone}
	}
	return parts{p, is.alone / a.only()}
}

// expected is how many changes a request for a unit is expected to find.
func (a *adaptive) expected(u ID, g *group) float64 { return finds(a, u, g, a.chance(u, g)) }

// finds is how many changes a request is expected to find for a unit that has changed with a chance.
func finds(a *adaptive, u ID, g *group, p float64) float64 {
	switch x := &a.dirs[g.dir]; {
	case g.kind == Listing && x.times > 0:
		// Each page that came costs a request of its own.
		n := max(1, float64(x.finds/x.times))
		return p * n / (1 + p*(n-1))
	case a.flags[u]&linksNew != 0:
		return p * 2 // and the new pages that it names
	}
	return p
}

// value computes what the next unit of a group is worth: the changes that a request is expected to find. The
// first of a group counts what a hit would open up: if it changed, so did the rest, with a chance that pays
// for asking.
func (a *adaptive) value(i uint32) {
	g := &a.gs[i]
	for g.next < g.to && a.state[a.order[g.next]] != 0 {
		g.next++
		g.front = max(g.front, 1) - 1
	}
	if g.next == g.to {
		g.worth = 0
		return
	}
	u := a.order[g.next]
	x := a.parts(u, g)
	p := finds(a, u, g, either(a, u, x))
	if rest := a.kin.behind(g); rest > 0 && g.hits == 0 && g.pending == 0 && g.kind != Listing {
		with := a.shown.left(u, x.with)
		after := (weight*with + 1) / (weight + 1 + float64(g.outcomes))
		p = max(p, (p+with*rest*after)/(1+with*rest))
	}
	if g.kind == Listing && a.lists.tells(a.Model, u) {
		if p = a.sum(u, p); p < 10*a.Price {
			p *= a.stagger(u)
		}
	}
	g.worth = float32(p / dearness(a, u))
}

// promote puts a unit first in its group.
func (a *adaptive) promote(u ID) {
	i := a.groupOf(u)
	g := &a.gs[i]
	to := g.next + g.front
	if at := a.pos[u]; at >= to && to < g.to {
		v := a.order[to]
		a.order[to], a.order[at] = u, v
		a.pos[u], a.pos[v] = to, at
		g.front++
	}
	a.value(i)
	a.ranks.fix(i)
}

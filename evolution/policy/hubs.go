// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"math"
	mathbits "math/bits"
	"slices"
)

// Hubs are a few units that changed in nearly all runs in which anything did: a front page, a feed, the
// listing of news. They are requested first. What their silence means is learned from the runs in which they
// were silent, by how much of the usual changes occurred in them. Where hubs were often silent while others
// changed, their silence means little.

const (
	// So many hubs are requested at most, and as many others that change often.
	maxHubs = 8
	// There is no second hub for a run, and no other unit, beyond this share of the site: small sites would
	// request nothing else.
	hubShare = 0.02
	// Each hub covers so many runs that no other one does: fewer are a coincidence.
	leastCover = 3
	// A site that has changed in fewer runs, and in so many did not, has releases with nothing between them: its
	// hubs cover all that is known, since what came together with the last releases will with the next one.
	calm = 10
	// Hubs cover a site when of the runs in which anything changed at most one, or so large a part, had no
	// change of a hub. While they are silent, such a site is requested less.
	mostUncovered = 0.05
	// Before any silence is known these parts of the usual changes, together with others and alone, are
	// expected in it, as if they were known from five runs.
	silentUsual, silentAlone, silentRuns = 0.02, 0.1, 5
	// Silent runs that observed a unit after which the unit's own record counts as much as its class's.
	silentShrink = 5
	// Units that changed together, in one directory, from which on they count as generated together.
	generated = 10
)

// class is a class of groups in which silence means different things.
type class uint8

const (
	constant class = iota // never seen to change
	kept                  // by hand
	together              // generated together
	classes
)

// silence is what the plan knows of the hubs.
type silence struct {
	hubs   []ID
	ask    []ID   // of them, those that were not yet handed out
	left   int    // of them, how many were not told of
	broken bool   // something changed in this run
	now    bool   // all hubs were told of, and nothing has changed
	covers bool   // hubs changed in nearly all of the last 64 runs in which anything did, see mostUncovered
	runs   uint64 // in which all hubs were observed and silent: bit i is Model.runs-i
	part   [classes]float64
	alone  float64 // of usual changes alone, the part that happens in silent runs
}

// at moves the runs of a unit to those of the model: bit i is Model.runs-i.
func (m *Model) at(runs uint64, u ID) uint64 { return shift(runs, int32(m.runs)-m.last(u)) }

// often are the units that changed in so many of the last 64 runs as hubs did at least.
func (q *silence) often(a *adaptive, least int) (ids []ID) {
	m := a.Model
	for u, n := range m.tale {
		if mathbits.OnesCount64(m.tales.all[n].moves) >= least && mathbits.OnesCount64(m.moves(ID(u))) >= least &&
			m.flags[u]&(present|vouched) == present &&
			!a.lists.tells(m, ID(u)) && a.factors.of(ID(u)) < mostFactor {
			ids = append(ids, ID(u))
		}
	}
	return ids
}

// find chooses the hubs: the unit that changed in most runs, then the one that changed in most of the
// others, and so on. Of equals it takes the one that was observed most often. When all runs are covered it
// begins again with those that are left, so that a hub that has lost its meaning has a second.
func (q *silence) find(a *adaptive) {
	m, root := a.Model, &a.dirs[Root]
	all := shift(root.recent, int32(m.runs)-root.run)
	least := leastCover
	if n := mathbits.OnesCount64(all); n < least && min(m.runs, 64)-n >= calm {
		least = max(1, n)
	}
	often := q.often(a, least)
	few := int(hubShare * float64(m.Units()))
	open, began, silent := all, 0, ^uint64(0)
	uncovered := all
	for len(q.hubs) < maxHubs {
		best, covers, seen := -1, 0, 0
		for i, u := range often {
			n, s := mathbits.OnesCount64(m.at(m.moves(u), u)&open), mathbits.OnesCount64(m.exposure(u).looks)
			better := cmp.Or(cmp.Compare(n, covers), cmp.Compare(s, seen))
			if n >= least && (better > 0 || (better == 0 && m.ByKey(u, often[best]) < 0)) {
				best, covers, seen = i, n, s
			}
		}
		if best < 0 {
			if began == len(q.hubs) || len(q.hubs) > few {
				break
			}
			open, began = all, len(q.hubs)
			continue
		}
		u := often[best]
		often = slices.Delete(often, best, best+1)
		q.hubs = append(q.hubs, u)
		open, uncovered = open&^m.at(m.moves(u), u), uncovered&^m.at(m.moves(u), u)
		silent &= m.at(m.exposure(u).looks&^m.moves(u), u)
	}
	changed := float64(mathbits.OnesCount64(all))
	q.covers = float64(mathbits.OnesCount64(uncovered)) <= max(1, mostUncovered*changed)
	q.left = len(q.hubs)
	q.ask = append(slices.Clone(q.hubs), q.roots(a)...)
	if q.left > 0 {
		q.ask = append(q.ask, busiest(m, often, min(maxHubs, few))...)
		q.runs = silent
		q.learn(a)
	}
}

// roots are the listings of the site's root: each costs one request and may show a whole new directory.
func (q *silence) roots(a *adaptive) (ids []ID) {
	for u, d := range a.dir {
		if d == Root && a.flags[u]&(present|kindMask) == present|flags(Listing) && !a.lists.tells(a.Model, ID(u)) {
			ids = append(ids, ID(u))
		}
	}
	return ids
}

// busiest are the units that changed most often, of those that are no hubs. They are requested before
// silence is believed, so that one that means nothing is found out.
func busiest(m *Model, often []ID, most int) []ID {
	runs := func(u ID) int { return mathbits.OnesCount64(m.at(m.moves(u), u)) }
	slices.SortFunc(often, func(u, v ID) int { return cmp.Or(cmp.Compare(runs(v), runs(u)), m.ByKey(u, v)) })
	return often[:min(len(often), most)]
}

// learn learns which part of the usual changes occurred in silent runs, by class. A group counts as
// one, regardless of its size.
func (q *silence) learn(a *adaptive) {
	m := a.Model
	var changed, usual [classes]float64
	edits, expected := 0.0, 0.0
	for i := range a.gs {
		g := &a.gs[i]
		c, size := g.class, float64(g.to-g.next)
		for _, u := range a.order[g.next:g.to] {
			looks := m.at(m.exposure(u).looks, u) & q.runs
			if looks == 0 || slices.Contains(q.hubs, u) {
				continue
			}
			changed[c] += float64(mathbits.OnesCount64(looks&m.at(m.moves(u), u))) / size
			usual[c] += float64(mathbits.OnesCount64(looks)) * (a.chain.nodes[g.dir].before * a.quota(u, g)) / size
			m.tell(u, q.runs, func(s state, n, l, before float64) {
				edits, expected = edits+n, expected+l*a.alone.in(m, u, s, before+l/2)
			})
		}
	}
	runs := float64(max(1, mathbits.OnesCount64(q.runs)))
	w := max(1e-9, expected*silentRuns/runs)
	q.alone = min(1, (edits+w*silentAlone)/(expected+w))
	for c := range q.part {
		w := max(0.01, usual[c]*silentRuns/runs)
		q.part[c] = min(1, (changed[c]+w*silentUsual)/(usual[c]+w))
	}
}

// classOf is the class of a group of so many units, of which u is one.
func classOf(m *Model, u ID, size int) class {
	switch {
	case m.moves(u) == 0:
		return constant
	case size < generated:
		return kept
	}
	return together
}

// tell takes an outcome. It reports whether silence began or ended with it.
func (q *silence) tell(u ID, hit bool) bool {
	q.broken = q.broken || hit
	if slices.Contains(q.hubs, u) {
		q.left--
	}
	was := q.now
	q.now = len(q.hubs) > 0 && q.left == 0 && !q.broken
	return q.now != was
}

// chance is the chance that a unit changed with others since the last run, when no hub has changed.
func (q *silence) chance(a *adaptive, u ID, g *group, quota float64) float64 {
	n := float64(mathbits.OnesCount64(a.at(a.exposure(u).looks, u) & q.runs))
	x := &a.chain.nodes[g.dir]
	usual := q.part[g.class] * (x.before * quota)
	// The hubs are among what has lowered the chance of the directory, so it counts by half: as the root.
	return usual * silentShrink / (n + silentShrink) * math.Sqrt(min(1, x.act/max(x.before, 1e-9)))
}

// missed reports whether a change that was found while the hubs are silent is rather one of an earlier run,
// which did not look at the unit. Such a change says nothing of this run.
func (q *silence) missed(a *adaptive, u ID, g *group) bool {
	if a.last(u) >= a.seen {
		return false
	}
	x := partsWith(a, u, g, true)
	now := q.chance(a, u, g, a.quota(u, g))
	return 2*now < 1-(1-x.with)*(1-x.alone)
}

// unseen is in how many runs a unit's directory may have changed since the unit was last observed, so many
// usual intervals before the last run, without that being seen. In runs that found a change somewhere, the
// part unseen of the usual changes is supposed; in silent ones, the part of that which silence leaves.
func (q *silence) unseen(a *adaptive, g *group, last int32, steps, known float64) float64 {
	m, root := a.Model, &a.dirs[Root]
	runs, active := float64(m.seen-last), 0.0
	if root.run > last {
		active = float64(ones(root.recent, root.run-last))
	}
	silent := (runs - active) / runs * steps
	rest := max(0, steps-silent-known)
	usual := a.chain.nodes[g.dir].rate
	given := usual / max(usual, a.chain.nodes[Root].rate) // that the site changed
	part := 1.0
	if len(q.hubs) > 0 {
		part = q.part[g.class]
	}
	return unseen * (rest*given + silent*usual*part)
}

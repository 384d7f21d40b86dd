// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	mathbits "math/bits"
	"slices"
)

// Hubs are a few units that changed in nearly all runs in which anything did: a front page, a feed, the
// listing of news. They are requested first. What their silence means is learned from the runs in which they
// were silent, by how much of what is usual changed in them. Where hubs were often silent while others
// changed, their silence means little.

const (
	// So many hubs are requested at most,
	maxHubs = 8
	// and each covers so many runs that no other one does: fewer are a coincidence.
	leastCover = 3
	// Before any silence is known a tenth of what is usual is expected in it, as if it were known from five
	// runs.
	silentUsual, silentRuns = 0.1, 5
	// Silent runs that observed a unit after which what is known of the unit counts as much as its class.
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
	runs   uint64 // in which all hubs were observed and silent: bit i is Model.runs-i
	part   [classes]float64
}

// at moves the runs of a unit to those of the model: bit i is Model.runs-i.
func (m *Model) at(runs uint64, u ID) uint64 { return shift(runs, int32(m.runs)-m.last[u]) }

// find chooses the hubs: the unit that changed in most runs, then the one that changed in most of the
// others, and so on. Of equals it takes the one that was observed most often.
func (q *silence) find(a *adaptive) {
	m, root := a.m, &a.m.dirs[Root]
	open := shift(root.recent, int32(m.runs)-root.run)
	silent := ^uint64(0)
	for len(q.hubs) < maxHubs {
		best, covers, seen := ID(0), leastCover-1, 0
		for u, moves := range m.moves {
			if moves == 0 || m.flags[u]&(present|vouched) != present || a.lists.tells(m, ID(u)) {
				continue
			}
			n := mathbits.OnesCount64(m.at(moves, ID(u)) & open)
			if n < covers || n < leastCover {
				continue
			}
			s := mathbits.OnesCount64(m.looks[u])
			if cmp.Or(cmp.Compare(n, covers), cmp.Compare(s, seen)) > 0 {
				best, covers, seen = ID(u), n, s
			}
		}
		if covers < leastCover {
			break
		}
		q.hubs = append(q.hubs, best)
		open &^= m.at(m.moves[best], best)
		silent &= m.at(m.looks[best]&^m.moves[best], best)
	}
	if q.left = len(q.hubs); q.left > 0 {
		q.ask = slices.Clone(q.hubs)
		q.runs = silent
		q.learn(a)
	}
}

// learn learns which part of what is usual changed in silent runs, by class. A group counts as one,
// whatever its size.
func (q *silence) learn(a *adaptive) {
	m := a.m
	var changed, usual [classes]float64
	for i := range a.gs {
		g := &a.gs[i]
		c, size := g.class, float64(g.to-g.next)
		for _, u := range a.order[g.next:g.to] {
			looks := m.at(m.looks[u], u) & q.runs
			if looks == 0 || slices.Contains(q.hubs, u) {
				continue
			}
			changed[c] += float64(mathbits.OnesCount64(looks&m.at(m.moves[u], u))) / size
			usual[c] += float64(mathbits.OnesCount64(looks)) * q.prior(a, u, g) / size
		}
	}
	runs := float64(max(1, mathbits.OnesCount64(q.runs)))
	for c := range q.part {
		w := max(0.01, usual[c]*silentRuns/runs)
		q.part[c] = min(1, (changed[c]+w*silentUsual)/(usual[c]+w))
	}
}

// classOf is the class of a group of so many units, of which u is one.
func classOf(m *Model, u ID, size int) class {
	switch {
	case m.moves[u] == 0:
		return constant
	case size < generated:
		return kept
	}
	return together
}

// prior is the chance that a unit changes in a run, before anything is told.
func (q *silence) prior(a *adaptive, u ID, g *group) float64 {
	return a.nodes[g.dir].before * a.quota(u, g)
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
func (q *silence) chance(a *adaptive, u ID, g *group) float64 {
	n := float64(mathbits.OnesCount64(a.m.at(a.m.looks[u], u) & q.runs))
	usual := q.part[g.class] * q.prior(a, u, g)
	x := &a.nodes[g.dir]
	return usual * silentShrink / (n + silentShrink) * min(1, x.act/max(x.before, 1e-9))
}

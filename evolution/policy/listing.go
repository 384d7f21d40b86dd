// SPDX-License-Identifier: Apache-2.0

package policy

// Listings that vouch for units (Model.Vouch). One request for such a listing observes all units of its
// directory that it tells of. So it is worth what they are together, and what its own history says of it:
// entries that came and went. The units are withheld until the plan has the outcome of the listing: when it
// does not pay, neither do they; when it was requested, units that it does not cover are requested as if
// there were none.

// waiting are the listings that vouch for something, and those that are late.
type waiting struct {
	of         []uint32 // by directory: one plus its listing; 0: none, or it vouches for nothing
	due, early []ID

	cohorts map[uint32]cohort // by what the listings have in common: Model.past
}

// A cohort are the listings that vouch for something and changed in the same runs; most never did. In
// directories in which nothing had changed for 20 weeks something changed in 5 of 1000 weeks on the recorded
// sites, but in 0.3 of 1000 when less than 20 pages of the whole site did: nearly all changes come to many
// of them at once. So what was told of some of a cohort is evidence for the others, as with groups: a few
// probes find whether this is such a run.
type cohort struct{ size, outcomes, hits int }

// The expectation of the directories of a cohort counts as much as this many of their listings.
const cohortWeight = 1

// activeNow is the chance that a group's directory is active, after what was told of its cohort.
func (a *adaptive) activeNow(g *group) float64 {
	act := a.chain.nodes[g.dir].act
	c, ok := a.cohortOf(g)
	if !ok || c.outcomes == 0 {
		return act
	}
	// As with names, the square of the share of hits: one among many is one by itself.
	share := float64(c.hits) / float64(c.outcomes+1)
	return min(act*cohortWeight/(cohortWeight+float64(c.outcomes))+share*share, max(act,
		a.chain.nodes[Root].act))
}

// cohortOf returns the cohort of a group that a listing tells of, or that is the listing; false when it has
// no others.
func (a *adaptive) cohortOf(g *group) (cohort, bool) {
	of := a.lists.of[g.dir]
	if of == 0 || (!g.listed && g.kind != Listing) {
		return cohort{}, false
	}
	c := a.lists.cohorts[a.edits(ID(of-1)).past]
	return c, c.size > 1
}

// handed takes note that a listing was handed out: it counts as unchanged until its result comes.
func (w *waiting) handed(m *Model, u ID) {
	if w.of[m.dir[u]] == uint32(u)+1 {
		c := w.cohorts[m.edits(u).past]
		c.outcomes++
		w.cohorts[m.edits(u).past] = c
	}
}

// changed takes note that a listing that was handed out has changed. It reports whether the others of its
// cohort have become worth much more.
func (w *waiting) changed(m *Model, u ID) bool {
	if !w.tells(m, u) {
		return false
	}
	c := w.cohorts[m.edits(u).past]
	c.hits++
	w.cohorts[m.edits(u).past] = c
	return c.size > 1 && c.hits&(c.hits-1) == 0
}

// find finds the listing of each directory: of several the first.
func (w *waiting) find(m *Model) {
	of := make([]uint32, m.Dirs())
	for u, f := range m.flags {
		if f&present != 0 && f&kindMask == flags(Listing) && of[m.dir[u]] == 0 {
			of[m.dir[u]] = uint32(u) + 1
		}
	}
	w.of = make([]uint32, m.Dirs())
	for u, f := range m.flags {
		if f&present != 0 && f&vouched != 0 && f&kindMask != flags(Listing) {
			w.of[m.dir[u]] = of[m.dir[u]]
		}
	}
	w.cohorts = map[uint32]cohort{}
	for _, u := range w.of {
		if u != 0 {
			c := w.cohorts[m.edits(ID(u-1)).past]
			c.size++
			w.cohorts[m.edits(ID(u-1)).past] = c
		}
	}
}

// teller is the listing that vouches for units of a directory that has one.
func (w *waiting) teller(d Dir) ID { return ID(w.of[d] - 1) }

// tells reports whether a unit is a listing that vouches for others.
func (w *waiting) tells(m *Model, u ID) bool { return w.of[m.dir[u]] == uint32(u)+1 }

// withheld reports whether a group waits for a listing.
func (a *adaptive) withheld(g *group) bool {
	return g.listed && a.state[a.lists.teller(g.dir)]&told == 0
}

// sum is what a listing is worth that is expected to find own changes itself: with those of the units that it
// tells of, each of which costs one more request.
func (a *adaptive) sum(u ID, own float64) float64 {
	d := a.dir[u]
	all := 0.0
	for i := a.first[d]; i < a.first[d+1]; i++ {
		if g := &a.gs[i]; g.listed && g.next < g.to {
			// Units of a group were observed together for the most part: the first stands for all.
			all += float64(g.to-g.next) * a.expected(a.order[g.next], g)
		}
	}
	return (all + own) / (1 + all)
}

// stagger spreads listings of the same history, which would be requested in the same run, over several: it
// makes one that hardly pays worth up to a half less or more.
func (m *Model) stagger(u ID) float64 {
	return 0.5 + float64(m.Key(u)>>8)/(1<<24)
}

// release lets the units be requested that were withheld until the outcome of a listing was known.
func (a *adaptive) release(u ID) {
	if !a.lists.tells(a.Model, u) {
		return
	}
	d := a.dir[u]
	for i := a.first[d]; i < a.first[d+1]; i++ {
		g := &a.gs[i]
		if !g.listed {
			continue
		}
		if a.value(i); g.place >= 0 {
			a.ranks.fix(i)
		} else {
			a.ranks.push(i)
		}
		for _, v := range a.order[g.next:g.to] {
			if a.last(v) == 0 || boundsOf(a.Model, v, &a.Options).left() == 0 {
				a.due = append(a.due, v)
			}
		}
	}
}

// better reports whether there is a budget, and another unit that is worth more than a listing's group.
func (a *adaptive) better(i uint32) bool {
	units := a.ranks.heap[ofUnits].order
	return a.Budget != 0 && len(units) > 0 && a.ranks.before(units[0], i)
}

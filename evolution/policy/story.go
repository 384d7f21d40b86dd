// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// exposure is how the runs so far have observed a unit. Neighbours mostly share theirs, since they are
// requested in the same runs.
type exposure struct {
	looks uint64  // runs that observed it after the one in which it came: bit i is last-i
	last  int32   // run in which it was last observed; 0: never
	n     float32 // runs in which its directory changed that observed it; discounted as of last
}

// edits are the changes of a unit that runs have found. Most units of a site share theirs with many others.
type edits struct {
	moves uint64  // runs that found another content: bit i is at-i
	at    int32   // the last of them
	past  uint32  // of all of them, a hash: units with the same one changed together
	c     float32 // how many; discounted as of at
}

// see adds a run that observed the unit, when the directory changed in so many runs since the one before.
func (x *exposure) see(run int32, known int, c *clock) {
	if x.last != 0 && x.last != run {
		x.n = x.n*c.discount(x.last) + float32(known)
		x.looks = shift(x.looks, run-x.last) | 1
	}
	x.last = run
}

// leave adds the run that found the unit gone.
func (x *exposure) leave(run int32) { x.looks, x.last = shift(x.looks, run-x.last), run }

// add adds a run that found another content.
func (x *edits) add(run int32, c *clock) {
	x.c = x.c*c.discount(x.at) + 1
	x.moves = shift(x.moves, run-x.at) | 1
	x.past = x.past*2654435761 + uint32(run)
	x.at = run
}

func (m *Model) exposure(u ID) *exposure { return &m.exposures.all[m.exposed[u]] }

func (m *Model) edits(u ID) *edits { return &m.tales.all[m.tale[u]] }

// last is the run in which a unit was last observed; 0: never.
func (m *Model) last(u ID) int32 { return m.exposure(u).last }

// moves are the runs that found another content of a unit: bit i is last-i.
func (m *Model) moves(u ID) uint64 {
	x := m.edits(u)
	return shift(x.moves, m.last(u)-x.at)
}

// stories are the records of all units, of one sort. The first is that of a unit of which nothing is known.
// Two may be alike: they are made one when there are twice as many as after the last time, or 64 runs later,
// since the sets of runs are others then.
type stories[T comparable] struct {
	all   []T
	lived int // how many some unit had when the others were dropped last
	apart int // how many there were when equal ones were made one
	since int32
	run   int32

	recall []recalled // what stories became in this run, by story and what was found
}

type recalled struct {
	from uint32
	what uint32 // was found; 0: nothing is recalled
	to   uint32
}

// The least and the most that is recalled.
const leastRecall, mostRecall = 1 << 8, 1 << 16

func newStories[T comparable]() stories[T] { return stories[T]{all: make([]T, 1), lived: 1, apart: 1} }

func (s *stories[T]) begin(run int32) {
	size := leastRecall
	for size < min(len(s.all), mostRecall) {
		size *= 2
	}
	if s.run = run; size > len(s.recall) {
		s.recall = make([]recalled, size)
	}
	clear(s.recall)
}

// add adds a story and returns its number.
func (s *stories[T]) add(x T) uint32 {
	s.all = append(s.all, x)
	return uint32(len(s.all) - 1)
}

// after returns the story that one becomes by what the run found, which is not 0. A new one is a copy of that
// one yet. Units of one story mostly keep having one.
func (s *stories[T]) after(n, what uint32) (next uint32, isNew bool) {
	r := &s.recall[(n+what*31)&uint32(len(s.recall)-1)] // neighbours lie beside one another
	if isNew = r.from != n || r.what != what; isNew {
		*r = recalled{from: n, what: what, to: s.add(s.all[n])}
	}
	return r.to, isNew
}

// forget drops the stories that no unit has, once they are half as many as the others and a 16th of
// the units.
func (s *stories[T]) forget(tale []uint32) {
	if len(s.all)-s.lived < max(s.lived/2, len(tale)/16, 64) {
		return
	}
	now := make([]uint32, len(s.all)) // by number: the new one plus one, of those that some unit has
	now[0] = 1
	for _, n := range tale {
		now[n] = 1
	}
	n := uint32(0)
	for i := range s.all {
		if now[i] != 0 {
			s.all[n] = s.all[i]
			n++
			now[i] = n
		}
	}
	s.all = s.all[:n]
	if int(n) > 2*s.apart+leastRecall || s.run-s.since >= 64 {
		s.unite(now)
	}
	for u := range tale {
		tale[u] = now[tale[u]] - 1
	}
	s.lived = len(s.all)
	if cap(s.all) > 3*len(s.all)+leastRecall {
		s.all = slices.Clone(s.all)
	}
}

// unite makes equal stories one. now are numbers plus one, 0 for none.
func (s *stories[T]) unite(now []uint32) {
	index := map[T]uint32{} // number + 1
	to := make([]uint32, len(s.all))
	n := uint32(0)
	for i, x := range s.all {
		if index[x] == 0 {
			s.all[n] = x
			n++
			index[x] = n
		}
		to[i] = index[x]
	}
	s.all, s.apart, s.since = s.all[:n], int(n), s.run
	for i, v := range now {
		if v != 0 {
			now[i] = to[v-1]
		}
	}
}

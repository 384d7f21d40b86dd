// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"slices"
)

// story is what the runs so far have observed of a unit. Most units of a site share theirs with many others:
// on the recorded sites there are 5 to 6 units for each after 80 runs, half of that on one of them.
type story struct {
	last  int32   // run in which it was last observed; 0: never
	past  uint32  // of the runs in which it changed, a hash: units with the same one changed together
	c, n  float32 // changes, and runs in which its directory changed that observed it; discounted as of last
	looks uint64  // runs that observed it after the one in which it came: bit i is last-i
	moves uint64  // of them, those that found another content
}

// of returns the story of a unit. It is valid until the next run is learned.
func (m *Model) of(u ID) *story { return &m.stories.all[m.tale[u]] }

// sight is what a run found of a unit.
type sight uint8

const (
	same sight = iota
	other
	gone
)

// stories are those of all units. The first is that of a unit that was never observed. Two may be alike: they
// are made one when there are twice as many as after the last time, or 64 runs later, since the sets of runs
// are others then.
type stories struct {
	all   []story
	lived int // how many some unit had when the others were dropped last
	apart int // how many there were when equal ones were made one
	since int32
	run   int32

	recall []recalled // what stories became in this run, by story and what was found
}

type recalled struct {
	from uint32
	what uint32 // was found, and how often the directory changed; 0: nothing is recalled
	to   uint32
}

// The least and the most that is recalled.
const leastRecall, mostRecall = 1 << 8, 1 << 16

func newStories() stories { return stories{all: make([]story, 1), lived: 1, apart: 1} }

// begin begins with a run.
func (s *stories) begin(run int32) {
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
func (s *stories) add(x story) uint32 {
	s.all = append(s.all, x)
	return uint32(len(s.all) - 1)
}

// after returns the story that one becomes by what the run found of a unit. recent are the runs in which its
// directory changed, the last of them this one. first says that the run had not observed the unit before.
// Units of one story mostly go on to have one.
func (s *stories) after(n uint32, found sight, recent uint64, c *clock) (next uint32, first bool) {
	x := &s.all[n]
	known := 0
	if first = x.last != s.run; first && x.last != 0 {
		known = ones(recent, s.run-x.last)
	}
	what := 1 + uint32(known)<<2 + uint32(found)
	r := &s.recall[(n+what*31)&uint32(len(s.recall)-1)] // neighbours lie beside one another
	if r.from != n || r.what != what {
		*r = recalled{from: n, what: what, to: uint32(len(s.all))}
		s.all = append(s.all, *x)
		s.all[r.to].see(s.run, found, known, c)
	}
	return r.to, first
}

// see adds what a run found, when the directory changed in so many runs since the one before.
func (x *story) see(run int32, found sight, known int, c *clock) {
	if x.last != 0 && x.last != run && found != gone {
		f, n := c.discount(x.last), run-x.last
		x.c, x.n = x.c*f, x.n*f+float32(known)
		x.looks, x.moves = shift(x.looks, n)|1, shift(x.moves, n)
	}
	x.last = run
	if found == other {
		x.c++
		x.moves |= 1
		x.past = x.past*2654435761 + uint32(run)
	}
}

// forget drops the stories that no unit has any more, once they are half as many as the others and a 16th of
// the units.
func (s *stories) forget(tale []uint32) {
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
func (s *stories) unite(now []uint32) {
	size := 16
	for 3*size < 4*len(s.all) {
		size *= 2
	}
	index := make([]uint32, size) // open addressing: number + 1
	to := make([]uint32, len(s.all))
	n := uint32(0)
	for i := range s.all {
		x := s.all[i]
		at := int(x.hash()) & (size - 1)
		for index[at] != 0 && s.all[index[at]-1] != x {
			at = (at + 1) & (size - 1)
		}
		if index[at] == 0 {
			s.all[n] = x
			n++
			index[at] = n
		}
		to[i] = index[at]
	}
	s.all, s.apart, s.since = s.all[:n], int(n), s.run
	for i, v := range now {
		if v != 0 {
			now[i] = to[v-1]
		}
	}
}

func (x *story) hash() uint64 {
	h := (uint64(x.last)<<32 | uint64(x.past)) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29 ^ x.looks) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>32 ^ x.moves) * 0x94d049bb133111eb
	h = (h ^ h>>31 ^ uint64(math.Float32bits(x.c))<<32 ^ uint64(math.Float32bits(x.n))) * 0x9e3779b97f4a7c15
	return h ^ h>>31
}

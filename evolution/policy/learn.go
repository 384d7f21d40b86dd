// SPDX-License-Identifier: Apache-2.0

package policy

import mathbits "math/bits"

// Span is a run of unit numbers, both ends included.
type Span struct{ First, Last uint32 }

// Spans makes a set of another package's spans.
func Spans[S ~struct{ First, Last uint32 }](s []S) []Span {
	out := make([]Span, len(s))
	for i := range s {
		out[i] = Span(s[i])
	}
	return out
}

// Run is what one run observed: ascending sets of unit numbers. Units in none of them were not observed.
// Numbers beyond the units of the model are ignored.
type Run struct {
	Time    int64  // Unix seconds; 0: one usual interval after the run before
	Asked   []Span // answered
	Spared  []Span // unchanged by evidence
	Changed []Span // with another content than before; a listing: that named other entries than before
	Entered []Span // not there before
	Left    []Span // no longer there
	Naming  []Span // that named unknown URLs; may be left out

	// how many seconds too long changes seem to have waited by Waiting, since something told of them
	// that had not when it was last observed
	Told float64
}

// Learn takes what a run has observed. Runs come oldest first. A run that observed nothing teaches nothing
// but that time went by. A run costs time in proportion to what it observed, regardless of the size of the
// site.
func (m *Model) Learn(r *Run) {
	first := m.seen == 0
	wait(m, r, first)
	m.clock.step(r.Time)
	m.times = append(m.times, r.Time)
	m.runs++
	now := int32(m.runs)
	m.touched = m.touched[:0]
	m.observe(r.Changed, observed|active)
	m.observe(r.Left, observed|active)
	if first { // what the first run finds did not change: it was there
		m.observe(r.Entered, observed)
	} else {
		m.observe(r.Entered, observed|active)
	}
	m.observe(r.Asked, observed)
	m.observe(r.Spared, observed)
	if len(m.touched) == 0 {
		return
	}
	m.seen = now
	for _, d := range m.touched {
		m.count(d)
	}
	m.exposures.begin(now)
	m.tales.begin(now)
	m.look(r.Asked)
	m.look(r.Spared)
	m.look(r.Changed)
	m.move(r.Changed)
	m.tides()
	m.come(r.Entered, first)
	m.leave(r.Left)
	for u := range m.spans(r.Naming) {
		m.flags[u] |= linksNew
	}
	m.exposures.forget(m.exposed)
	m.tales.forget(m.tale)
}

// spans yields the units of a set that exist.
func (m *Model) spans(s []Span) func(yield func(ID) bool) {
	return func(yield func(ID) bool) {
		for _, x := range s {
			for u := uint64(x.First); u <= uint64(x.Last) && u < uint64(len(m.dir)); u++ {
				if !yield(ID(u)) {
					return
				}
			}
		}
	}
}

// clip limits a span to units, as a half-open range.
func (m *Model) clip(x Span) (from, to int) {
	return min(int(x.First), len(m.dir)), min(int(x.Last)+1, len(m.dir))
}

// observe marks the directories of a set and all above them.
func (m *Model) observe(s []Span, b bits) {
	for _, x := range s {
		from, to := m.clip(x)
		for u := from; u < to; {
			d := m.dir[u]
			m.mark(d, b)
			for u++; u < to && m.dir[u] == d; { // neighbours mostly share a directory
				u++
			}
		}
	}
}

func (m *Model) mark(d Dir, b bits) {
	now := int32(m.runs)
	for {
		x := &m.dirs[d]
		if x.run != now {
			var is bits
			if x.run == 0 {
				is = born
			}
			x.recent, x.tide = shift(x.recent, now-x.run), shift(x.tide, now-x.run)
			x.run, x.bits, x.looked, x.moved = now, is, 0, 0
			m.touched = append(m.touched, d)
		}
		if x.bits&b == b {
			return
		}
		if x.bits |= b; b&active != 0 {
			x.recent |= 1
		}
		if d == Root {
			return
		}
		d = x.parent
	}
}

// count takes note of what a directory did when its parent changed: the chance of it is what Plan starts
// from.
func (m *Model) count(d Dir) {
	x := &m.dirs[d]
	if d != Root && m.dirs[x.parent].bits&active == 0 {
		return
	}
	if x.since != 0 {
		f := m.clock.discount(x.since)
		x.act, x.obs = x.act*f, x.obs*f
	}
	x.since = int32(m.runs)
	x.obs++
	if x.bits&active != 0 {
		x.act++
	}
}

// look takes note of units that were observed. Exposure is counted in runs in which something changed in the
// directory: a page that stays as it is while its neighbours change says more than one in a directory where
// nothing happens.
func (m *Model) look(s []Span) {
	for _, x := range s {
		from, to := m.clip(x)
		dirs, exposed := m.dir[:to], m.exposed[:to]
		for u := from; u < to; {
			dir, n := dirs[u], exposed[u]
			d := &m.dirs[dir]
			next, first := m.expose(n, d.recent)
			began := u
			for ; u < len(dirs) && u < len(exposed) && dirs[u] == dir && exposed[u] == n; u++ {
				exposed[u] = next
			}
			if first {
				d.looked += uint32(u - began)
			}
		}
	}
}

// expose returns what an exposure becomes in this run. recent are the runs in which the directory changed,
// the last of them this one. first says that the run had not observed the units before.
func (m *Model) expose(n uint32, recent uint64) (next uint32, first bool) {
	now := int32(m.runs)
	last := m.exposures.all[n].last
	if last == now {
		return n, false
	}
	known := 0
	if last != 0 {
		known = ones(recent, now-last)
	}
	next, isNew := m.exposures.after(n, 1+uint32(known))
	if isNew {
		m.exposures.all[next].see(now, known, &m.clock)
	}
	return next, true
}

// move takes note of units of which another content was found.
func (m *Model) move(s []Span) {
	for u := range m.spans(s) {
		next, isNew := m.tales.after(m.tale[u], 1)
		if isNew {
			m.tales.all[next].add(int32(m.runs), &m.clock)
		}
		m.tale[u] = next
		m.dirs[m.dir[u]].moved++
	}
}

// come takes note of units that were not there before.
func (m *Model) come(s []Span, first bool) {
	if len(s) == 0 {
		return
	}
	exposed := m.exposures.add(exposure{last: int32(m.runs)})
	tale := m.tales.add(edits{past: uint32(m.runs)})
	for u := range m.spans(s) {
		m.flags[u] |= present
		m.exposed[u], m.tale[u] = exposed, tale
		if !first {
			m.dirs[m.listedBy(u)].count++
		}
	}
	if !first {
		m.found(s)
	}
}

// left is what a run found of units that left; exposures of others take note of at most 64 runs.
const left = 1 << 8

// leave takes note of units that are no longer there.
func (m *Model) leave(s []Span) {
	for u := range m.spans(s) {
		m.flags[u] &^= present
		next, isNew := m.exposures.after(m.exposed[u], left)
		if isNew {
			m.exposures.all[next].leave(int32(m.runs))
		}
		m.exposed[u] = next
		m.dirs[m.listedBy(u)].count++
	}
	m.found(s)
}

// listedBy is the directory whose listing shows that a unit came or went: the nearest one that was there
// before.
func (m *Model) listedBy(u ID) Dir {
	d := m.dir[u]
	for d != Root && m.dirs[d].bits&born != 0 {
		d = m.dirs[d].parent
	}
	return d
}

// found moves the counts of what came or went to what a listing is worth.
func (m *Model) found(s []Span) {
	for u := range m.spans(s) {
		if x := &m.dirs[m.listedBy(u)]; x.count > 0 {
			x.finds, x.times, x.count = x.finds+float32(x.count), x.times+1, 0
		}
	}
}

// shift moves a set of runs on by n runs.
func shift(b uint64, n int32) uint64 {
	if n > 63 {
		return 0
	}
	return b << n
}

// ones counts the last n runs of a set. It remembers 64.
func ones(b uint64, n int32) int {
	if n < 64 {
		b &= 1<<n - 1
	}
	return mathbits.OnesCount64(b)
}

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
	l := lesson{Model: m, now: int32(m.runs), touched: m.touched[:0]}
	l.learn(r, first)
	m.touched = l.touched
}

// lesson is a run that is being learned.
type lesson struct {
	*Model
	now     int32
	touched []Dir // directories that the run observed
}

func (l *lesson) learn(r *Run, first bool) {
	m := l.Model
	l.observe(r.Changed, observed|active)
	l.observe(r.Left, observed|active)
	if first { // what the first run finds did not change: it was there
		l.observe(r.Entered, observed)
	} else {
		l.observe(r.Entered, observed|active)
	}
	l.observe(r.Asked, observed)
	l.observe(r.Spared, observed)
	if len(l.touched) == 0 {
		return
	}
	m.seen = l.now
	for _, d := range l.touched {
		l.count(d)
	}
	m.exposures.begin(l.now)
	m.tales.begin(l.now)
	l.look(r.Asked)
	l.look(r.Spared)
	l.look(r.Changed)
	l.move(r.Changed)
	l.tides()
	l.come(r.Entered, first)
	l.leave(r.Left)
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
func (l *lesson) clip(x Span) (from, to int) {
	return min(int(x.First), len(l.dir)), min(int(x.Last)+1, len(l.dir))
}

// observe marks the directories of a set and all above them.
func (l *lesson) observe(s []Span, b bits) {
	for _, x := range s {
		from, to := l.clip(x)
		for u := from; u < to; {
			d := l.dir[u]
			l.mark(d, b)
			for u++; u < to && l.dir[u] == d; { // neighbours mostly share a directory
				u++
			}
		}
	}
}

func (l *lesson) mark(d Dir, b bits) {
	for {
		x := &l.dirs[d]
		if x.run != l.now {
			var is bits
			if x.run == 0 {
				is = born
			}
			x.recent, x.tide = shift(x.recent, l.now-x.run), shift(x.tide, l.now-x.run)
			x.run, x.bits, x.looked, x.moved = l.now, is, 0, 0
			l.touched = append(l.touched, d)
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
func (l *lesson) count(d Dir) {
	x := &l.dirs[d]
	if d != Root && l.dirs[x.parent].bits&active == 0 {
		return
	}
	if x.since != 0 {
		f := l.clock.discount(x.since)
		x.act, x.obs = x.act*f, x.obs*f
	}
	x.since = l.now
	x.obs++
	if x.bits&active != 0 {
		x.act++
	}
}

// look takes note of units that were observed. Exposure is counted in runs in which something changed in the
// directory: a page that stays as it is while its neighbours change says more than one in a directory where
// nothing happens.
func (l *lesson) look(s []Span) {
	for _, x := range s {
		from, to := l.clip(x)
		dirs, exposed := l.dir[:to], l.exposed[:to]
		for u := from; u < to; {
			dir, n := dirs[u], exposed[u]
			d := &l.dirs[dir]
			next, first := l.expose(n, d.recent)
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
func (l *lesson) expose(n uint32, recent uint64) (next uint32, first bool) {
	last := l.exposures.all[n].last
	if last == l.now {
		return n, false
	}
	known := 0
	if last != 0 {
		known = ones(recent, l.now-last)
	}
	next, isNew := l.exposures.after(n, 1+uint32(known))
	if isNew {
		l.exposures.all[next].see(l.now, known, &l.clock)
	}
	return next, true
}

// move takes note of units of which another content was found.
func (l *lesson) move(s []Span) {
	for u := range l.spans(s) {
		next, isNew := l.tales.after(l.tale[u], 1)
		if isNew {
			l.tales.all[next].add(l.now, &l.clock)
		}
		l.tale[u] = next
		l.dirs[l.dir[u]].moved++
	}
}

// come takes note of units that were not there before.
func (l *lesson) come(s []Span, first bool) {
	if len(s) == 0 {
		return
	}
	exposed := l.exposures.add(exposure{last: l.now})
	tale := l.tales.add(edits{past: uint32(l.now)})
	for u := range l.spans(s) {
		l.flags[u] |= present
		l.exposed[u], l.tale[u] = exposed, tale
		if !first {
			l.dirs[l.listedBy(u)].count++
		}
	}
	if first {
		return
	}
	l.found(s)
	by := map[Dir]int{}
	for u := range l.spans(s) {
		by[l.dir[u]]++
	}
	for u := range l.spans(s) {
		if l.flags[u] = l.flags[u]&^inBulk | later; by[l.dir[u]] >= bulkLeast {
			l.flags[u] |= inBulk
		}
	}
}

// left is what a run found of units that left; exposures of others take note of at most 64 runs.
const left = 1 << 8

// leave takes note of units that are no longer there.
func (l *lesson) leave(s []Span) {
	for u := range l.spans(s) {
		l.flags[u] &^= present
		next, isNew := l.exposures.after(l.exposed[u], left)
		if isNew {
			l.exposures.all[next].leave(l.now)
		}
		l.exposed[u] = next
		l.dirs[l.listedBy(u)].count++
	}
	l.found(s)
}

// listedBy is the directory whose listing shows that a unit came or went: the nearest one that was there
// before.
func (l *lesson) listedBy(u ID) Dir {
	d := l.dir[u]
	for d != Root && l.dirs[d].bits&born != 0 {
		d = l.dirs[d].parent
	}
	return d
}

// found moves the counts of what came or went to what a listing is worth.
func (l *lesson) found(s []Span) {
	for u := range l.spans(s) {
		if x := &l.dirs[l.listedBy(u)]; x.count > 0 {
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

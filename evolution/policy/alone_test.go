// SPDX-License-Identifier: Apache-2.0

package policy

import (
	mathbits "math/bits"
	"math/rand/v2"
	"testing"
)

// Every run of a unit is in exactly one state, which follows from the events before it, read one by one.
func TestCourseOfUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	const pages, weeks = 60, 50
	f := &fake{t: t, m: site(t, pages)}
	f.learn(&Run{Entered: []Span{{0, pages/2 - 1}}})
	for w := range weeks {
		r := Run{Asked: []Span{{0, pages/2 - 1}}}
		if w > 0 {
			r.Asked = append(r.Asked, Span{pages / 2, pages - 1})
		} else {
			r.Entered = []Span{{pages / 2, pages/2 + 2}}
		}
		share := 100
		if rng.IntN(8) == 0 {
			share = 4 // a tide
		}
		for u := range uint32(pages) {
			if rng.IntN(share) == 0 && (w > 0 || u < pages/2) {
				r.Changed = append(r.Changed, Span{u, u})
			}
		}
		f.learn(&r)
	}
	for u := range ID(pages) {
		var all uint64
		moves, calm, came := f.m.at(f.m.moves(u), u), f.m.calm(f.m.dir[u]), f.m.came(u)
		now := f.m.course(u, func(s state, runs uint64) {
			if all&runs != 0 {
				t.Errorf("unit %d: runs %b are in another state too", u, all&runs)
			}
			for all |= runs; runs != 0; runs &= runs - 1 {
				bit := mathbits.TrailingZeros64(runs)
				if want := slowState(moves>>(bit+1), calm>>(bit+1), came>>(bit+1)); s != want {
					t.Errorf("unit %d, run %d: state %d, want %d", u, bit, s, want)
				}
			}
		})
		if all != ^uint64(0) {
			t.Errorf("unit %d: runs %b are in no state", u, ^all)
		}
		if want := slowState(moves, calm, came); now != want {
			t.Errorf("unit %d: state %d now, want %d", u, now, want)
		}
	}
}

// slowState is the state after some runs, bit 0 the last.
func slowState(moves, calm, came uint64) state {
	course, last := settled, -1
	for bit := 63; bit >= 0; bit-- {
		switch is := func(set uint64) bool { return set>>bit&1 != 0 }; {
		case is(moves & calm):
			course, last = min(max(course+1, once), often), bit
		case is(came):
			course, last = fresh, bit
		case is(moves) && (course == settled || course == swept):
			course, last = swept, bit
		}
	}
	if last < 0 {
		return settled
	}
	return stateOf(course, ageOf(last+1))
}

// A page that came as one of many, as in a new release, is expected to change less than one that came alone.
func TestOneOfMany(t *testing.T) {
	const old, many = 100, 40
	f := &fake{t: t, m: site(t, old+many+1)}
	f.learn(&Run{Entered: []Span{{0, old - 1}}})
	f.learn(&Run{Asked: []Span{{0, old - 1}}, Entered: []Span{{old, old + many - 1}}})
	f.learn(&Run{Asked: []Span{{0, old + many - 1}}, Entered: []Span{{old + many, old + many}}})
	a := newAdaptive(f.m, Options{Policy: Adaptive, Price: DefaultPrice})
	chance := func(u ID) float64 { return aloneChance(a, u, &a.gs[a.groupOf(u)], 0) }
	if few, many := chance(old+many), chance(old); few < 20*many {
		t.Errorf("a page that came alone changes by itself with chance %.5f, one of many with %.5f", few, many)
	}
}

// On a site on which pages are corrected in the week after they came, and never again, the page of this week
// is expected to change and one of the last months is not.
func TestCorrectedAfterItCame(t *testing.T) {
	const old, weeks = 100, 30
	f := &fake{t: t, m: site(t, old+weeks)}
	f.learn(&Run{Entered: []Span{{0, old - 1}}})
	for w := range uint32(weeks) {
		r := Run{Asked: []Span{{0, old + w - 1}}, Entered: []Span{{old + w, old + w}}}
		if w > 0 && w%2 == 0 {
			r.Changed = []Span{{old + w - 1, old + w - 1}}
		}
		f.learn(&r)
	}
	a := newAdaptive(f.m, Options{Policy: Adaptive, Price: DefaultPrice})
	chance := func(u ID) float64 { return aloneChance(a, u, &a.gs[a.groupOf(u)], 0) }
	if now, then := chance(old+weeks-1), chance(0); now < 10*then {
		t.Errorf("the page of this week changes by itself with chance %.4f, one of the beginning with %.4f", now,
			then)
	}
	if s := f.m.came(old + weeks - 1); s != 1 {
		t.Errorf("the page of this week came in runs %b", s)
	}
	if s := f.m.came(0); s != 0 {
		t.Errorf("a page of the beginning came in runs %b", s)
	}
}

// Names of which the others mostly are as they were lose their say within a run.
func TestNamesAreDoubted(t *testing.T) {
	n := names{seen: map[uint32]tally{}}
	n.seen[1] = tally{outcomes: 1, hits: 1}
	first := n.raise(0, 1)
	for range 1000 {
		n.check(1, 0, false)
	}
	if now := n.raise(0, 1); now > first/5 {
		t.Errorf("%.3f is expected after 1000 looks in vain, %.3f before them", now, first)
	}
	n.hoped, n.came = 100, 200
	if now := n.raise(0, 1); now != first {
		t.Errorf("%.3f is expected where more came than was hoped, %.3f before", now, first)
	}
}

// The index of a directory that changes in each run says little of the others when it changes once more; that
// of one that never did says much.
func TestExpectedChangesSayNothingOfNamesakes(t *testing.T) {
	m := NewModel()
	for range 12 {
		dir, err := m.AddDir(Root)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.AddNamed(dir, Page, "index.html", true); err != nil {
			t.Fatal(err)
		}
	}
	f := &fake{t: t, m: m}
	f.learn(&Run{Entered: []Span{{0, 11}}})
	for range 20 {
		f.learn(&Run{Asked: []Span{{0, 11}}, Changed: []Span{{0, 0}}})
	}
	after := func(u ID) float64 {
		n, state := newNames(m), make([]handling, m.Units())
		state[u] = handed
		if others := n.tell(m, u, true, state); len(others) != 12-1 {
			t.Errorf("%d others of the name", len(others))
		}
		return n.raise(0, m.name[u])
	}
	if usual, once := after(0), after(5); usual > once/10 {
		t.Errorf("%.4f is expected after a change as in each run, %.4f after a first one", usual, once)
	}
}

// What a single change is worth falls with the first finds of a run, and not for a goal of lateness.
func TestSingleChangesBeforeTheFirstFind(t *testing.T) {
	a := &adaptive{known: 1}
	for _, tc := range []struct {
		found     int
		low, high float64
	}{{0, 1, 1}, {1, 2, 3}, {2, 3, 4}, {14, 8, 10}, {1000, 300, 400}} {
		if a.found = tc.found; a.only() < tc.low || a.only() > tc.high {
			t.Errorf("after %d finds a single change is worth 1/%.2f", tc.found, a.only())
		}
	}
	if a.goal = 1; a.only() != 1 {
		t.Errorf("with a goal 1/%.2f", a.only())
	}
}

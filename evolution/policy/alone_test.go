// SPDX-License-Identifier: Apache-2.0

package policy

import (
	mathbits "math/bits"
	"testing"
)

// Every run has exactly one age, that of the last event before it.
func TestRunsByAge(t *testing.T) {
	events := uint64(1<<3 | 1<<20 | 1<<40)
	by, all := splitByAge(events), uint64(0)
	for age, runs := range by {
		if all&runs != 0 {
			t.Errorf("age %d: runs %b have another age too", age, all&runs)
		}
		all |= runs
		for ; runs != 0; runs &= runs - 1 {
			bit, ago := mathbits.TrailingZeros64(runs), 0
			if before := events >> (bit + 1); before != 0 {
				ago = mathbits.TrailingZeros64(before) + 1
			}
			if ageOf(ago) != age {
				t.Errorf("run %d, %d after an event: age %d, want %d", bit, ago, age, ageOf(ago))
			}
		}
	}
	if all != ^uint64(0) {
		t.Errorf("runs %b have no age", ^all)
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
	if h := a.haste[Page]; h[0] < 2 || h[ages-1] >= 1 {
		t.Errorf("a page changes %.2f times as often one run after it came, %.2f after 17 or more", h[0], h[ages-1])
	}
	chance := func(u ID) float64 { return aloneChance(a, u, &a.gs[a.groupOf(u)], 0) }
	if now, then := chance(old+weeks-1), chance(0); now < 10*then {
		t.Errorf("the page of this week changes by itself with chance %.4f, one of the beginning with %.4f", now,
			then)
	}
	if s := f.m.since(old + weeks - 1); s != 1 {
		t.Errorf("the page of this week came %d runs ago", s)
	}
	if s := f.m.since(0); s != 0 {
		t.Errorf("a page of the beginning has an event %d runs ago", s)
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

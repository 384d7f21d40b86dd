// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"math"
	"testing"
)

// table is a history with directories and nothing else.
func dirTable(t *testing.T, paths ...string) *Dirs {
	t.Helper()
	h := new(History)
	r := h.Record(0)
	for _, p := range paths {
		r.Dir(p)
	}
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	return h.Dirs()
}

// A front page changes in two of three steps; the pages of a directory that never changes are looked at in
// every sixth step. A late look settles the steps that did not look.
func TestEstimateOfWhatWasSkipped(t *testing.T) {
	dirs := dirTable(t, "old", "busy")
	l := new(Looks)
	var silent, busy float64
	const steps = 30
	for step := range steps + 1 {
		l.Step()
		if step == 0 {
			l.Saw(0, 0, Came, -1)
			for f := range uint32(6) {
				l.Saw(1+f, 1, Came, -1)
				l.Saw(7+f, 2, Came, -1)
			}
			continue
		}
		what := Same
		if step%3 != 0 {
			busy++
			what = Other
		}
		l.Saw(0, 0, what, -1)
		l.Saw(7, 2, what, -1)
		if step%6 == 0 {
			for f := range uint32(6) {
				l.Saw(1+f, 1, Same, -1)
				l.Saw(8+f%5, 2, Same, -1)
			}
		}
	}
	e := l.Estimate(dirs, 0, false)
	for d, want := range map[Dir]float64{Root: busy / steps, 1: silent, 2: busy / steps} {
		x := e.Of(d)
		if math.Abs(x.FoC-want) > 1e-9 || x.Seen != steps || x.Low != x.FoC || x.High != x.FoC {
			t.Errorf("directory %d: %+v, want %v of %d steps, all seen", d, x, want, steps)
		}
	}
	if x := l.Estimate(dirs, 0, true).Of(Root); x.FoC != 0 {
		t.Errorf("nothing came or went: %+v", x)
	}
}

// A page that was found changed after four steps changed in at least one of them, and rather when the page
// beside it did.
func TestEstimateOfOneOfFourSteps(t *testing.T) {
	dirs := dirTable(t, "a")
	l := new(Looks)
	for step := range 13 {
		l.Step()
		switch {
		case step == 0:
			l.Saw(0, 1, Came, -1)
			l.Saw(1, Root, Came, -1)
		case step%4 == 0:
			l.Saw(0, 1, Other, -1)
		}
		if step > 0 {
			l.Saw(1, Root, map[bool]Sight{true: Other, false: Same}[step%4 == 2], -1)
		}
	}
	e := l.Estimate(dirs, 0, false)
	x := e.Of(1)
	if x.Seen != 0 || x.Low < 3.0/12 || x.FoC < 3.0/12 || x.FoC > 6.0/12 || x.High > 8.0/12 {
		t.Errorf("%+v, want 3 of 12 steps at least and not many more", x)
	}
	if m := e.mean[1]; m[1] < 2*m[0] || m[5] < 2*m[4] {
		t.Errorf("steps have the chances %.2f, want the one in which the other page changed first", m)
	}
	p := e.Pair([]Dir{Root}, 1)
	if !p.Defined || p.CoC < 0.2 || p.CoCLow > p.CoC || p.CoCHigh < p.CoC || p.FoC < x.FoC-1e-9 {
		t.Errorf("%+v", p)
	}
}

// changing looks in 21 steps at one file of each directory below the root, which changed or did not.
func changing(changed func(step int) []bool) *Looks {
	l := new(Looks)
	for step := range 21 {
		l.Step()
		for f, is := range changed(step) {
			what := Same
			switch {
			case step == 0:
				what = Came
			case is:
				what = Other
			}
			l.Saw(uint32(f), Dir(f+1), what, -1)
		}
	}
	return l
}

// A directory that changes in the steps of the whole site goes with another one.
func TestTogetherOfTheBusiest(t *testing.T) {
	dirs := dirTable(t, "news", "tags")
	l := changing(func(step int) []bool { return []bool{step%2 == 1, step%4 == 1} })
	got := l.Estimate(dirs, 0, false).Together(TogetherOptions{MinFoC: 0.05})
	if want := (Together{2, 1, Table{20, 5, 10, 5}}); len(got) != 2 || (got[0] != want && got[1] != want) {
		t.Errorf("%+v, want %+v among two", got, want)
	}
}

// Directories that change in the same steps are found, those that do not are not, nor those above one
// another.
func TestTogether(t *testing.T) {
	dirs := dirTable(t, "a", "a/deep", "b", "c", "never", "once")
	l := changing(func(step int) []bool {
		a, c := step%4 == 1, step%3 == 2
		return []bool{a, a, a || step == 10, c, false, step == 5}
	})
	got := l.Estimate(dirs, 0, false).Together(TogetherOptions{MinFoC: 0.05, MinConfidence: 0.5})
	want := []Together{{1, 3, Table{20, 5, 6, 5}}, {3, 1, Table{20, 6, 5, 5}}}
	if len(got) != 2 || !((got[0] == want[0] && got[1] == want[1]) || (got[0] == want[1] && got[1] == want[0])) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

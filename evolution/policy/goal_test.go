// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"testing"
)

// goalFor is what a goal of so many seconds leaves of the price in the next run.
func (f *fake) goalFor(late int64) goal {
	o := f.o
	o.Late, o.Price = late, 0.01
	return newAdaptive(f.m, o).goal
}

// A change that was found in a week's look at what four weeks had not looked at may have come in each of the
// five: after the first of them 28 days, half of it in the mean. Units looked at in each week are not late,
// and what a site had from the beginning did not wait.
func TestGoalOfLateness(t *testing.T) {
	f := newFake(t, 10)
	for range 10 {
		f.full(0, 1)
	}
	if g := f.goalFor(3600); g != 1 {
		t.Errorf("nothing was late, and %v of the price is left", g)
	}
	for range 4 {
		f.learn(&Run{Asked: setOf(ids(0, 5)), Changed: setOf([]ID{0})})
	}
	if m := f.m; m.waited[m.runs] != 0 || m.changes[m.runs] != 1 {
		t.Errorf("%v s for %v changes of what the last run looked at", m.waited[m.runs], m.changes[m.runs])
	}
	f.full(7, 8)
	if m := f.m; m.waited[m.runs] != 2*14*86_400 || m.changes[m.runs] != 2 {
		t.Errorf("%v s for %v changes, want 28 days for 2", m.waited[m.runs], m.changes[m.runs])
	}
	var left []goal
	for _, hours := range []int64{1, 12, 24, 240} {
		left = append(left, f.goalFor(hours*3600))
	}
	if left[0] != leastGoal || left[3] != 1 || math.Abs(float64(left[2]/left[1])-math.Sqrt2) > 1e-9 {
		t.Errorf("with an hour, half a day, a day and ten days these parts of the price are left: %v", left)
	}
	if g := f.goalFor(0); g != 0 {
		t.Errorf("without a goal: %v", g)
	}
	for range 60 {
		f.full(0)
	}
	if g := f.goalFor(86_400); g != 1 {
		t.Errorf("60 weeks in which nothing was late later %v of the price is left", g)
	}
}

// In a run in which more changes than ever the price rises with the changes found, and leaves the rest to
// another run; with a goal of lateness it does not.
func TestGoalFindsAllAtOnce(t *testing.T) {
	left := func(late int64) int {
		f := newFake(t, 400, 400)
		f.o.Price, f.o.Late = 0.1, late
		for week := range 12 { // in every week another third of the pages, so none have the same story
			var some []ID
			for u := range ID(800) {
				if mix(uint32(u), uint32(week))%3 == 0 {
					some = append(some, u)
				}
			}
			f.full(some...)
		}
		f.run(ids(0, 800)...)
		return len(f.stale)
	}
	with, without := left(86_400), left(0)
	t.Logf("left of 800 changes: %d, %d without a goal", with, without)
	if with > 8 || without < 80 {
		t.Errorf("%d of 800 changes were left, without a goal %d", with, without)
	}
}

// What something told of did not wait since its own last look.
func TestToldOfDidNotWait(t *testing.T) {
	f := newFake(t, 10)
	f.full(0, 1)
	for range 4 {
		f.learn(&Run{Asked: setOf(ids(0, 5))})
	}
	want := 14 * 86_400.0 // half of the four weeks that looked at others
	if got := Waiting(f.m, 7, f.m.times[f.m.runs]+7*86_400); got != want || Waiting(f.m, 3, 1<<40) != 0 ||
		Waiting(f.m, 100, 1<<40) != 0 {
		t.Errorf("%v s, want %v, and nothing for what the last run looked at or is unknown", got, want)
	}
	for told, left := range map[float64]float64{0: 2 * want, want: want, 3 * want: 0} {
		m := *f.m
		wait(&m, &Run{Time: m.times[m.runs] + 7*86_400, Changed: setOf([]ID{3, 7, 8}), Told: told}, false)
		if got := m.waited[len(m.waited)-1]; got != left {
			t.Errorf("%v s when %v s were told of, want %v", got, told, left)
		}
	}
}

func TestBadGoal(t *testing.T) {
	if _, err := Standard().Plan(NewModel(), Options{Policy: Adaptive, Late: -1}); err == nil {
		t.Error("a goal of less than nothing was taken")
	}
}

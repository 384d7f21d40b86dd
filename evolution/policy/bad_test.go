// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A site that is rebuilt whole every week is paid for, not fought.
func TestRebuiltEveryWeek(t *testing.T) {
	f := newFake(t, 100, 100, 100)
	for range 3 {
		f.full(ids(0, 300)...)
	}
	for w := range 5 {
		if f.run(ids(0, 300)...); len(f.stale) > 0 {
			t.Fatalf("week %d: %d of 300 changes were not found", w, len(f.stale))
		}
	}
}

// It is noticed when that begins, and when it ends.
func TestRebuildsBeginAndEnd(t *testing.T) {
	f := newsAndArchive(t)
	f.run(ids(0, 510)...)
	f.run(ids(0, 510)...)
	if len(f.stale) > 10 {
		t.Errorf("after two weeks of rebuilds %d of 510 pages are stale", len(f.stale))
	}
	for range 12 {
		f.run(0)
	}
	if n := len(f.run(0)); n > 250 {
		t.Errorf("three months after the last rebuild %d of 510 pages are asked", n)
	}
}

// A flat site has no directories to tell apart: its pages have rates of their own.
func TestFlatSite(t *testing.T) {
	f := newFake(t, 50_000)
	for w := range 20 {
		f.full(ids(ID(w%2)*50, ID(w%2)*50+100)...)
	}
	asked := f.run(ids(0, 150)...)
	if len(f.stale) > 0 {
		t.Errorf("%d of the 150 pages that always change were not found", len(f.stale))
	}
	if len(asked) > 25_000 {
		t.Errorf("%d of 50 000 were asked", len(asked))
	}
}

func TestTwoHundredLevels(t *testing.T) {
	f := &fake{
		t:     t,
		m:     NewModel(),
		stale: map[ID]bool{},
		o:     Options{Policy: Adaptive},
	}
	d := Root
	for range 200 {
		d, _ = f.m.AddDir(d)
		for range 3 {
			if _, err := f.m.Add(d, Page, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.learn(&Run{Entered: []Span{{0, 599}}})
	for w := range 20 {
		f.full(599, ID(w))
	}
	if f.run(599); f.stale[599] {
		t.Error("the page at the bottom changes every week and was not found")
	}
}

// Directories whose names are hashes and change every version: each lives for a week.
func TestDirectoriesThatComeAndGo(t *testing.T) {
	f := newFake(t, 10)
	var old []Span
	for w := range 60 {
		d, err := f.m.AddDir(Root)
		if err != nil {
			t.Fatal(err)
		}
		first := f.m.Units()
		for i := range 20 {
			if _, err := f.m.AddNamed(d, Asset, fmt.Sprint(i, ".js"), false); err != nil {
				t.Fatal(err)
			}
		}
		come := []Span{{uint32(first), uint32(first + 19)}}
		f.learn(&Run{
			Asked:   []Span{{0, 9}},
			Changed: []Span{{uint32(w % 3), uint32(w % 3)}},
			Entered: come,
			Left:    old,
		})
		old = come
	}
	if gone := ID(f.m.Units() - 21); f.m.In(gone) || !f.m.In(gone+20) {
		t.Error("the last but one directory is there, or the last is not")
	}
	asked := f.run(1)
	for _, a := range asked {
		if a.Unit >= 10 && int(a.Unit) < f.m.Units()-20 {
			t.Fatalf("unit %d is gone and was asked", a.Unit)
		}
	}
	if len(f.stale) > 0 {
		t.Error("the page that changes was not found")
	}
}

// Ten runs that reached nothing teach neither that nothing changes nor that everything did.
func TestUnreachableForTenRuns(t *testing.T) {
	f := newsAndArchive(t)
	before := len(f.run(0))
	expected := func() float32 {
		p, err := Standard().Plan(f.m, Options{Policy: Adaptive, Now: (f.week + 1) * weekSeconds})
		if err != nil {
			t.Fatal(err)
		}
		return p.Reason(6).Expected // changes every fourth week
	}
	one := expected()
	for range 10 {
		f.learn(&Run{})
	}
	if eleven := expected(); eleven < 2*one {
		t.Errorf("expected %v of a week, %v of eleven weeks", one, eleven)
	}
	after := len(f.run(ids(0, 6)...))
	if len(f.stale) > 0 {
		t.Errorf("not found after the silence: %v", f.stale)
	}
	if after < before || after > 300 {
		t.Errorf("%d were asked before, %d after ten runs that reached nothing, of 510", before, after)
	}
	f.run(0)
	if n := len(f.run(0)); n > 2*before+20 {
		t.Errorf("%d were asked before, %d long after", before, n)
	}
}

// A site that answers nothing ends the run: what fails is not handed out again.
func TestEverythingFails(t *testing.T) {
	f := newsAndArchive(t)
	p, err := Standard().Plan(f.m, f.o)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for b := p.Next(7); len(b) > 0; b = p.Next(7) {
		for _, a := range b {
			n++
			p.Tell(Outcome{Unit: a.Unit, Result: Failed})
		}
	}
	if n == 0 || n > 510 {
		t.Errorf("%d requests", n)
	}
}

func TestNoHistoryIsFull(t *testing.T) {
	for _, name := range []Name{Full, Near, Adaptive} {
		m := site(t, 5, 5)
		m.Learn(&Run{}) // reached nothing
		p, err := Standard().Plan(m, Options{Policy: name, Skips: []Skip{{Dir: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(p.Next(100)); n != 10 {
			t.Errorf("%s asked %d of 10", name, n)
		}
	}
}

// Learning from three runs goes nearly as far as from twenty.
func TestThreeRunsTeach(t *testing.T) {
	f := newFake(t, 10, 500)
	for w := range 3 {
		f.full(ID(w), ID(3+w))
	}
	for w := range 4 {
		f.run(ID(w % 3))
	}
	if n := len(f.run(0, 1)); n > 255 {
		t.Errorf("%d of 510 were asked", n)
	}
	if len(f.stale) > 0 {
		t.Errorf("not found: %v", f.stale)
	}
}

func TestIrregularTimes(t *testing.T) {
	f := newsAndArchive(t)
	plan := func(after int64) float32 {
		p, err := Standard().Plan(f.m, Options{Policy: Adaptive, Now: f.week*weekSeconds + after})
		if err != nil {
			t.Fatal(err)
		}
		return p.Reason(1).Expected
	}
	minute, week, year := plan(60), plan(weekSeconds), plan(52*weekSeconds)
	if !(minute < week/2 && week < year) {
		t.Errorf("expected of a page: %v after a minute, %v after a week, %v after a year", minute, week, year)
	}
	if back := plan(-10 * weekSeconds); back > week {
		t.Errorf("expected %v of a run before the last one", back)
	}
}

func TestUnknownUnits(t *testing.T) {
	f := newsAndArchive(t)
	f.m.Learn(&Run{Asked: []Span{{500, 1 << 31}}, Changed: []Span{{4_000_000_000, 4_294_967_295}}})
	for _, name := range []Name{Full, Near, Adaptive} {
		p, err := Standard().Plan(f.m, Options{Policy: name})
		if err != nil {
			t.Fatal(err)
		}
		p.Tell(Outcome{Unit: 1 << 30, Result: Changed})
		if r := p.Reason(1 << 30); r.Why != Unknown {
			t.Errorf("%s: %v", name, r)
		}
	}
	if _, err := f.m.Add(99, Page, true); err == nil {
		t.Error("a unit in a directory that is unknown: no error")
	}
	if _, err := f.m.Add(Root, kinds, true); err == nil {
		t.Error("a unit of no kind: no error")
	}
	if _, err := f.m.AddDir(99); err == nil {
		t.Error("a directory below one that is unknown: no error")
	}
}

// After so long that a change is as good as certain, what comes back as it was is still evidence: no number
// is NaN, and not everything is requested.
func TestNothingChangedInHalfAYear(t *testing.T) {
	f := &fake{
		t:     t,
		m:     NewModel(),
		stale: map[ID]bool{},
		o:     Options{Policy: Adaptive},
	}
	for range 300 {
		if _, err := f.m.Add(Root, Page, true); err != nil {
			t.Fatal(err)
		}
	}
	f.learn(&Run{Entered: []Span{{0, 299}}})
	for w := range 40 {
		var changed []ID
		for u := range ID(300) {
			if (uint32(u)*2654435761>>(w%13+3))%8 != 0 {
				changed = append(changed, u)
			}
		}
		f.full(changed...)
	}
	for range 25 {
		f.learn(&Run{})
	}
	asked := f.run()
	for i, a := range asked {
		if r := a.Why; !(r.Expected >= 0 && r.Worth >= 0) {
			t.Fatalf("request %d: expected %v, worth %v", i, r.Expected, r.Worth)
		}
	}
	if len(asked) == 0 || len(asked) == 300 {
		t.Errorf("%d of 300 pages were asked", len(asked))
	}
}

// What comes back as it was after the end of a plan makes nothing worth more, and is not reckoned with all
// over again: on a large site that takes long.
func TestEndedPlanStaysEnded(t *testing.T) {
	f := newsAndArchive(t)
	p, err := Standard().Plan(f.m, f.o)
	if err != nil {
		t.Fatal(err)
	}
	for b := p.Next(7); len(b) > 0; b = p.Next(7) {
		for _, a := range b {
			p.Tell(Outcome{Unit: a.Unit})
		}
	}
	a, told := p.(*adaptive), 0
	for u := range p.Spared() {
		if told == 5 {
			break
		}
		before := a.stale
		p.Tell(Outcome{Unit: u})
		told++
		if b := p.Next(7); len(b) > 0 || a.stale <= before {
			t.Fatalf("%d were handed out; %d outcomes since all was valued, %d before", len(b), a.stale, before)
		}
	}
	if told != 5 {
		t.Fatalf("%d were spared", told)
	}
}

// A plan ends when nothing that is left is worth the price, regardless of the results and their order.
func TestPlanEndsAtThePrice(t *testing.T) {
	f := newFake(t, slices.Repeat([]int{200}, 20)...)
	rnd := rand.New(rand.NewPCG(1, 2))
	for w := range 40 {
		var changed []ID
		for range rnd.IntN(8) {
			d := ID(rnd.IntN(20) * 200)
			changed = append(changed, ids(d, d+1+ID(rnd.IntN(60)))...)
		}
		slices.Sort(changed)
		f.full(slices.Compact(changed)...)
		p, err := Standard().Plan(f.m, Options{
			Policy: Adaptive,
			Now:    (f.week + 1) * weekSeconds,
			Price:  []float64{0.0002, 0.001, 0.01}[w%3],
		})
		if err != nil {
			t.Fatal(err)
		}
		for b := p.Next(1); len(b) > 0; b = p.Next(1) {
			r := Unchanged
			if rnd.IntN(200) == 0 {
				r = Changed
			}
			p.Tell(Outcome{Unit: b[0].Unit, Result: r})
		}
		a := p.(*adaptive)
		a.revalue()
		if i, ok := a.ranks.top(false); ok && float64(a.gs[i].worth) >= a.price() {
			t.Fatalf("week %d: the plan ended, and a request was worth %v at a price of %v", w,
				a.gs[i].worth, a.price())
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
)

// Pages 0 to 9 are news and change often; 10 to 509 are an archive and never do.
func newsAndArchive(t *testing.T) *fake {
	f := newFake(t, 10, 500)
	for w := range 20 {
		f.full(ID(w%3), ID(3+w%4))
	}
	return f
}

func TestWhatChangesIsAskedAndWhatDoesNotIsSpared(t *testing.T) {
	f := newsAndArchive(t)
	asked := f.run(1, 4)
	if len(f.stale) > 0 {
		t.Errorf("not found: %v", f.stale)
	}
	if n := count(asked, 10, 510); n > 25 {
		t.Errorf("the archive was asked %d times of 500", n)
	}
	if n := count(asked[:12], 0, 10); n < 9 {
		t.Errorf("of the first 12 requests, %d went to what changes", n)
	}
}

func TestNothingStarves(t *testing.T) {
	f := newsAndArchive(t)
	seen := map[ID]bool{}
	for w := range 60 {
		for _, a := range f.run(ID(w % 3)) {
			seen[a.Unit] = true
		}
	}
	f.run(ID(300), ID(0))
	for range 60 {
		if !f.stale[300] {
			return
		}
		f.run(0)
	}
	t.Errorf("a change in a silent directory was not found in 60 runs; %d units were asked before", len(seen))
}

// A group that changed as a whole before is requested as a whole as soon as one of it changed, and hardly
// when the probe found no change.
func TestProbeOpensItsGroup(t *testing.T) {
	f := newFake(t, 5, 300)
	for w := range 20 {
		changed := []ID{ID(w % 5)}
		if w == 4 || w == 12 {
			changed = append(changed, ids(5, 305)...)
		}
		f.full(changed...)
	}
	if n := count(f.run(0), 5, 305); n > 60 {
		t.Errorf("a quiet run asked %d of a group of 300", n)
	}
	asked := f.run(append(ids(5, 305), 1)...)
	if len(f.stale) > 0 {
		t.Errorf("a rebuild of 300 pages: %d were not found", len(f.stale))
	}
	why := map[Why]int{}
	for _, a := range asked {
		why[a.Why.Why]++
	}
	if why[Group] < 250 {
		t.Errorf("reasons: %v, want most asked as part of the group", why)
	}
}

// When the busiest pages are as they were, the site is thought to be quiet.
func TestQuietRunIsCheap(t *testing.T) {
	run := func(changed ...ID) int {
		f := newFake(t, 4, 60, 60, 60)
		for w := range 20 {
			if w%2 == 0 {
				f.full()
				continue
			}
			// A publication: the front pages, and some of what lies below.
			f.full(0, 1, 2, 3, ID(4+w*7%60), ID(64+w*11%60), ID(124+w*5%60))
		}
		return count(f.run(changed...), 4, 184)
	}
	if busy, quiet := run(0, 1, 2, 3, 10, 80, 150), run(); quiet*5 > busy*4 {
		t.Errorf("a quiet run asked %d below the front pages, a busy one %d", quiet, busy)
	}
}

// Pages of one name in several directories: one change points to the others.
func TestNamesakes(t *testing.T) {
	run := func(named bool) int {
		f := newFake(t)
		f.m = NewModel()
		for d := range 12 {
			dir, err := f.m.AddDir(Root)
			if err != nil {
				t.Fatal(err)
			}
			for p := range 40 {
				name := ""
				if named {
					name = string(rune('a'+p)) + ".html"
				}
				if _, err := f.m.AddNamed(dir, Page, name, true); err != nil {
					t.Fatal(err)
				}
				_ = d
			}
		}
		f.week = 0
		f.learn(&Run{Entered: []Span{{0, 479}}})
		for w := range 20 { // directory 0 is alive, the others are not
			f.full(ID(w % 7))
		}
		changed := []ID{}
		for d := range ID(12) {
			changed = append(changed, d*40+3)
		}
		f.run(changed...)
		return 12 - len(f.stale)
	}
	with, without := run(true), run(false)
	if with != 12 {
		t.Errorf("%d of 12 pages of a name were found", with)
	}
	if without >= with {
		t.Errorf("%d were found without names, %d with them", without, with)
	}
}

// Assets and pages of one directory keep apart.
func TestKindsKeepApart(t *testing.T) {
	m := NewModel()
	d, err := m.AddDir(Root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		k := Page
		if i >= 100 {
			k = Asset
		}
		if _, err := m.Add(d, k, true); err != nil {
			t.Fatal(err)
		}
	}
	f := &fake{
		t:     t,
		m:     m,
		stale: map[ID]bool{},
		o:     Options{Policy: Adaptive},
	}
	f.learn(&Run{Entered: []Span{{0, 199}}})
	for w := range 20 {
		f.full(ID(w*13%100), ID(w*29%100), ID(w*31%100))
	}
	asked := f.run(5)
	if pages, assets := count(asked, 0, 100), count(asked, 100, 200); assets*2 > pages {
		t.Errorf("%d pages and %d assets were asked; only pages ever changed", pages, assets)
	}
}

func TestListingThatFoundManyComesFirst(t *testing.T) {
	m := NewModel()
	var lists []ID
	for range 2 {
		d, err := m.AddDir(Root)
		if err != nil {
			t.Fatal(err)
		}
		l, err := m.Add(d, Listing, true)
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, l)
		for range 100 {
			if _, err := m.Add(d, Page, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	// that the first has sixty pages from the beginning says nothing
	m.Learn(&Run{Entered: []Span{{0, 1}, {40, 102}}})
	for w := range uint32(20) {
		r := &Run{Asked: []Span{{0, 0}, {101, 101}}}
		if w%4 == 0 { // both change as often; what the first finds is one page, the second ten
			r.Changed = []Span{{0, 0}, {101, 101}}
			r.Entered = []Span{{2 + w/4, 2 + w/4}, {103 + w*4, 103 + w*4 + 9}}
		}
		m.Learn(r)
	}
	p, err := Standard().Plan(m, Options{Policy: Adaptive})
	if err != nil {
		t.Fatal(err)
	}
	one, many := p.Reason(lists[0]), p.Reason(lists[1])
	if many.Expected <= one.Expected {
		t.Errorf("expected %v of a listing with many new entries, %v of one with one", many.Expected,
			one.Expected)
	}
}

func TestHubIsWorthMore(t *testing.T) {
	f := newFake(t, 40)
	for w := range 20 {
		r := &Run{Asked: []Span{{0, 39}}}
		if w%5 == 0 {
			r.Changed, r.Naming = []Span{{7, 8}}, []Span{{8, 8}}
		}
		f.learn(r)
	}
	p, err := Standard().Plan(f.m, f.o)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := p.Reason(7), p.Reason(8); b.Expected <= a.Expected {
		t.Errorf("expected %v of a page with new URLs, %v of one that changed as often", b.Expected,
			a.Expected)
	}
}

func TestMaxSkip(t *testing.T) {
	f := newsAndArchive(t)
	f.o.MaxSkip = 12
	last := map[ID]int{}
	widest := 0
	for w := 1; w <= 60; w++ {
		asked := f.run(0)
		widest = max(widest, len(asked))
		for _, a := range asked {
			last[a.Unit] = w
		}
		for u := range ID(510) {
			if w-last[u] > 12 {
				t.Fatalf("run %d: unit %d was last asked in run %d", w, u, last[u])
			}
		}
	}
	if widest > 250 {
		t.Errorf("%d of 510 came due in one run", widest)
	}
}

// Overdue units go before those that pay.
func TestOverdueComesFirst(t *testing.T) {
	f := newsAndArchive(t)
	f.o = Options{Policy: Adaptive, MaxSkip: 5, Budget: 30}
	for w := range 5 { // only the news are looked at
		f.learn(&Run{Asked: []Span{{0, 9}}, Changed: setOf([]ID{ID(w % 3)})})
	}
	asked := f.run(0)
	if n := count(asked, 10, 510); n != 30 {
		t.Errorf("%d of 30 requests went to overdue units", n)
	}
	if why := asked[0].Why; why.Why != Skipped || why.Runs != 6 {
		t.Errorf("reason: %+v", why)
	}
}

// With a budget that is too small for what comes due, 17 runs for all, each unit has its turn.
func TestOverdueInTurn(t *testing.T) {
	f := newsAndArchive(t)
	f.o = Options{Policy: Adaptive, MaxSkip: 5, Budget: 30}
	last := map[ID]int{}
	for w := 1; w <= 60; w++ {
		for _, a := range f.run(0) {
			last[a.Unit] = w
		}
		for u := range ID(510) {
			if w-last[u] > 5+17 {
				t.Fatalf("run %d: unit %d was last asked in run %d", w, u, last[u])
			}
		}
	}
}

// Each change that a run finds makes the next request dearer; without a price nothing rises.
func TestPriceRisesWithWhatIsFound(t *testing.T) {
	f := newsAndArchive(t)
	p, err := Standard().Plan(f.m, Options{Policy: Adaptive, Price: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	before := p.Reason(300).Price
	for u := range ID(10) {
		p.Tell(Outcome{Unit: u, Result: Changed, New: 9})
	}
	if after := p.Reason(300).Price; after < 2.9*before || after > 3.1*before {
		t.Errorf("the price went from %v to %v with 100 finds", before, after)
	}
}

// However quiet the run is, what was often edited by itself is not written off.
func TestQuietIsNotCertain(t *testing.T) {
	f := newFake(t, 20, 20)
	for w := range 20 {
		switch w % 3 {
		case 0:
			f.full(ids(0, 20)...)
		case 1:
			f.full(ID(20 + w%5))
		default:
			f.full()
		}
	}
	p, err := Standard().Plan(f.m, f.o)
	if err != nil {
		t.Fatal(err)
	}
	before := p.Reason(22).Expected
	for u := range ID(20) {
		p.Tell(Outcome{Unit: u})
	}
	p.Next(1) // thinks again
	if after := p.Reason(22).Expected; after > before || after < before/5 {
		t.Errorf("expected %v before, %v after 20 pages that change in every publication were as they were",
			before, after)
	}
}

// A front page changes whenever anything does. When it is silent, hardly anything else is requested: not the
// pages that change together with it, and not as many others as it takes to see that they are silent too.
func TestSilenceOfTheHub(t *testing.T) {
	f := newFake(t, 1, 100, 100, 100)
	for w := range 24 {
		var changed []ID
		if w%2 == 0 { // the front page, and one directory or two of three
			changed = append(ids(0, 1), ids(ID(1+w/2%3*100), ID(101+w/2%3*100))...)
		}
		f.full(changed...)
	}
	asked := f.run()
	if asked[0].Unit != 0 || asked[0].Why.Why != Hub {
		t.Errorf("%v comes first, want the front page", asked[0])
	}
	if len(asked) > 15 {
		t.Errorf("%d of 301 pages were requested in a week without changes, and the front page says so", len(asked))
	}
	if n := count(f.run(append(ids(0, 1), ids(1, 101)...)...), 1, 101); n < 95 {
		t.Errorf("%d of 100 changes were found in a week with some", n)
	}
}

// Where pages changed as often while the hubs were silent, their silence means nothing.
func TestSilenceThatMeansNothing(t *testing.T) {
	f := newFake(t, 1, 40)
	for w := range 24 {
		changed := ids(ID(1+w%20), ID(2+w%20))
		if w%3 == 0 {
			changed = append(changed, 0)
		}
		f.full(changed...)
	}
	p, err := Standard().Plan(f.m, f.o)
	if err != nil {
		t.Fatal(err)
	}
	before := p.Reason(5).Expected
	hub := p.Next(1)[0]
	p.Tell(Outcome{Unit: hub.Unit})
	p.Next(1) // thinks again
	if after := p.Reason(5).Expected; hub.Why.Why != Hub || after < before/2 {
		t.Errorf("expected %v before, %v after %v was silent", before, after, hub)
	}
}

func TestBudget(t *testing.T) {
	f := newsAndArchive(t)
	f.o.Budget, f.o.Price = 17, -1
	if n := len(f.run(0, 1)); n != 17 {
		t.Errorf("%d requests with a budget of 17 and no price", n)
	}
	p, err := Standard().Plan(f.m, f.o)
	if err != nil {
		t.Fatal(err)
	}
	p.Next(100)
	for u, r := range p.Spared() {
		if r.Why != Budget {
			t.Fatalf("unit %d: %v", u, r)
		}
	}
}

// What evidence covers is not requested, and counts as observed.
func TestEvidenceIsObservation(t *testing.T) {
	f := newFake(t, 5, 300)
	for w := range 20 {
		changed := []ID{ID(w % 5)}
		if w == 4 || w == 12 {
			changed = append(changed, ids(5, 305)...)
		}
		f.full(changed...)
	}
	p, err := Standard().Plan(f.m, f.o)
	if err != nil {
		t.Fatal(err)
	}
	before := p.Reason(100).Expected
	p.Tell(Outcome{Unit: 5, Result: Changed})
	if after := p.Reason(100).Expected; after < 5*before {
		t.Errorf("evidence of a rebuild moved the expectation from %v to %v", before, after)
	}
	for b := p.Next(50); len(b) > 0; b = p.Next(50) {
		for _, a := range b {
			if a.Unit == 5 {
				t.Error("what evidence told was asked")
			}
		}
	}
	if r := p.Reason(5); r.Why != Observed {
		t.Errorf("reason: %v", r)
	}
}

func TestFailedTellsNothing(t *testing.T) {
	f := newsAndArchive(t)
	p, err := Standard().Plan(f.m, f.o)
	if err != nil {
		t.Fatal(err)
	}
	a := p.Next(1)[0]
	for a.Why.Why == Hub {
		a = p.Next(1)[0]
	}
	mate := ID(400) // of the same group
	before := p.Reason(mate)
	if a.Unit < 10 {
		t.Fatalf("the first request is no probe of the archive: %v", a)
	}
	p.Tell(Outcome{Unit: a.Unit, Result: Failed})
	if after := p.Reason(mate); after.Expected != before.Expected {
		t.Errorf("a failure moved the expectation from %v to %v", before.Expected, after.Expected)
	}
	for b := p.Next(50); len(b) > 0; b = p.Next(50) {
		for _, x := range b {
			if x.Unit == a.Unit {
				t.Fatal("a unit that failed was handed out again")
			}
			p.Tell(Outcome{Unit: x.Unit})
		}
	}
}

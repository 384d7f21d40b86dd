// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

// shelves is a site of directories of so many files with a listing each, in which the first one changed in
// every week and nothing else ever did; the units of directory d are its listing and then its files.
func shelves(t *testing.T, dirs, files, weeks int) *fake {
	m := NewModel()
	for range dirs {
		d, err := m.AddDir(Root)
		if err != nil {
			t.Fatal(err)
		}
		for i := range files + 1 {
			k := Listing
			if i > 0 {
				k = Page
			}
			u, err := m.Add(d, k, false)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				m.Vouch(u)
			}
		}
	}
	f := &fake{
		t:     t,
		m:     m,
		stale: map[ID]bool{},
		o:     Options{Policy: Adaptive},
	}
	f.learn(&Run{Entered: []Span{{0, uint32(m.Units() - 1)}}})
	for range weeks {
		f.full(0, 1)
	}
	return f
}

// ask runs the listings of a week in which those of some directories show changes, and returns which were
// requested.
func (f *fake) ask(files int, changed map[ID]bool) (asked []ID, p Plan) {
	f.t.Helper()
	o := f.o
	o.Now = (f.week + 1) * weekSeconds
	p, err := Standard().Plan(f.m, o)
	if err != nil {
		f.t.Fatal(err)
	}
	for b := p.NextListings(2); len(b) > 0; b = p.NextListings(2) {
		for _, a := range b {
			if f.m.kind(a.Unit) != Listing {
				f.t.Fatalf("unit %d is no listing", a.Unit)
			}
			asked = append(asked, a.Unit)
			r := Unchanged
			if changed[a.Unit] {
				r = Changed
			}
			p.Tell(Outcome{Unit: a.Unit, Result: r})
			for i := range ID(files) {
				p.Tell(Outcome{Unit: a.Unit + 1 + i, Result: r})
			}
		}
	}
	return asked, p
}

func TestListingsAreAskedWhenTheyPay(t *testing.T) {
	const dirs, files = 100, 20
	f := shelves(t, dirs, files, 30)
	asked, p := f.ask(files, map[ID]bool{0: true})
	if asked[0] != 0 {
		t.Errorf("%d was asked first, want the listing of the busy directory", asked[0])
	}
	if len(asked) > dirs/4 {
		t.Errorf("%d of %d listings were asked, and all but one directory are silent", len(asked), dirs)
	}
	if b := p.Next(1000); len(b) > 0 {
		t.Errorf("%d units were handed out though their listings do not pay: %v", len(b), b[0])
	}
	quiet, _ := f.ask(files, nil)
	if len(quiet) > len(asked) {
		t.Errorf("%d listings in a week without changes, %d in one with some", len(quiet), len(asked))
	}
	all := map[ID]bool{}
	for d := range ID(dirs) {
		all[d*(files+1)] = true
	}
	if asked, _ = f.ask(files, all); len(asked) != dirs {
		t.Errorf("everything has changed, and %d of %d listings were asked", len(asked), dirs)
	}
}

// What one listing finds by itself does not bring all others.
func TestOneListingIsNoTide(t *testing.T) {
	const dirs, files = 200, 20
	f := shelves(t, dirs, files, 30)
	usual, _ := f.ask(files, map[ID]bool{0: true})
	one := map[ID]bool{0: true, usual[len(usual)-1]: true}
	if asked, _ := f.ask(files, one); len(asked) > dirs*3/5 {
		t.Errorf("one silent directory has changed, and %d of %d listings were asked", len(asked), dirs)
	}
}

// A listing of more files is worth more, and with a budget nothing is requested before units worth more.
func TestListingsWithinABudget(t *testing.T) {
	const dirs, files = 20, 10
	f := shelves(t, dirs, files, 30)
	page, err := f.m.Add(Root, Page, false)
	if err != nil {
		t.Fatal(err)
	}
	f.learn(&Run{Entered: []Span{{uint32(page), uint32(page)}}})
	for range 10 {
		f.full(0, 1, page)
	}
	f.o.Budget = 2
	asked, p := f.ask(files, map[ID]bool{0: true})
	for _, a := range p.Next(10) {
		asked = append(asked, a.Unit)
	}
	if len(asked) != 2 || asked[0] == asked[1] || (asked[0] != 0 && asked[1] != 0) ||
		(asked[0] != page && asked[1] != page) {
		t.Errorf("units %v were asked, want the busy listing and the busy page", asked)
	}
}

// No listing is left unobserved for longer than max_skip, nor are the units that it covers; they come due
// over some runs.
func TestListingsWithinMaxSkip(t *testing.T) {
	const dirs, files, maxSkip = 60, 5, 9
	f := shelves(t, dirs, files, 3)
	f.o.Price, f.o.MaxSkip = 1, maxSkip
	most := 0
	for range 40 {
		asked, _ := f.ask(files, nil)
		most = max(most, len(asked))
		var seen []ID
		for _, l := range asked {
			for i := range ID(files + 1) {
				seen = append(seen, l+i)
			}
		}
		f.learn(&Run{Asked: setOf(seen)})
		for u := range ID(f.m.Units()) {
			if age := f.m.runs - int(f.m.last(u)); age > maxSkip {
				t.Fatalf("unit %d was not observed for %d runs", u, age)
			}
		}
	}
	if most > dirs*2/3 {
		t.Errorf("%d of %d listings came due in one run", most, dirs)
	}
}

// What a listing that tells of others is expected to find reaches the price, after few runs and after many.
// Those of the same history differ by a half from one another, so that they do not all come in one run.
func TestListingsAreWorthTheirPrice(t *testing.T) {
	const dirs, files = 100, 20
	for _, weeks := range []int{3, 30} {
		f := shelves(t, dirs, files, weeks)
		f.o.Now = (f.week + 3) * weekSeconds
		p, err := Standard().Plan(f.m, f.o)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for b := p.NextListings(1); len(b) > 0; b = p.NextListings(1) {
			n++
			if why := b[0].Why; why.Why == Rate && (why.Expected < DefaultPrice/1.5 || why.Worth < why.Price) {
				t.Errorf("after %d weeks, listing %d: %s (worth %v)", weeks, b[0].Unit, why, why.Worth)
			}
			p.Tell(Outcome{Unit: b[0].Unit})
			for i := range ID(files) {
				p.Tell(Outcome{Unit: b[0].Unit + 1 + i})
			}
		}
		if n < 2 || n == dirs {
			t.Errorf("after %d weeks: %d of %d listings", weeks, n, dirs)
		}
	}
}

// In a run that finds much, new pages come, too: listings show them, and do not become dearer.
func TestListingsInABusyRun(t *testing.T) {
	const dirs, files = 100, 20
	var asked [2]int
	for i, found := range []uint32{0, 100} {
		f := shelves(t, dirs, files, 30)
		p, err := Standard().Plan(f.m, Options{
			Policy: Adaptive,
			Now:    (f.week + 1) * weekSeconds,
			Price:  4 * DefaultPrice,
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Tell(Outcome{Unit: 1, Result: Changed, New: int(found)})
		for b := p.NextListings(1); len(b) > 0; b = p.NextListings(1) {
			asked[i]++
			p.Tell(Outcome{Unit: b[0].Unit})
		}
	}
	if asked[0] == 0 || asked[0] >= dirs/2 || asked[1] < asked[0] {
		t.Errorf("%d listings were asked, and %d after a hundred new pages", asked[0], asked[1])
	}
}

// The price is lower on large sites and where little changes at once, and higher where much does.
func TestPriceBySizeAndChanges(t *testing.T) {
	runs := func(n float64) []float64 { return []float64{0, 900, n, 0, n, n, 0, n, n, n, n, n, n, n} }
	for _, tc := range []struct {
		units, changes float64
		low, high      float64
	}{
		{1000, 5, 0.99, 1.01},
		{1000, 0, 0.99, 1.01}, // nothing is known
		{1000, 1, 0.79, 0.81},
		{1000, 300, 1.34, 1.36},
		{32000, 160, 0.29, 0.31},
		{32000, 3, 0.23, 0.25},
	} {
		if got, _ := sizeFactors(runs(tc.changes), tc.units); got < tc.low || got > tc.high {
			t.Errorf("%v of %v change: %.3f", tc.changes, tc.units, got)
		}
	}
}

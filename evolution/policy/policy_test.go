// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

// site makes a model: one directory below the root for each number, with so many pages.
func site(t *testing.T, pages ...int) *Model {
	t.Helper()
	m := NewModel()
	for _, n := range pages {
		d, err := m.AddDir(Root)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if _, err := m.Add(d, Page, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

func TestFullAsksForEverythingOnce(t *testing.T) {
	m := site(t, 3, 4)
	p, err := Standard().Plan(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Tell(Outcome{Unit: 2}) // evidence
	seen := map[ID]int{}
	for b := p.Next(2); len(b) > 0; b = p.Next(2) {
		for _, a := range b {
			seen[a.Unit]++
			p.Tell(Outcome{Unit: a.Unit})
		}
	}
	for u := range ID(7) {
		if want := 1; (u == 2 && seen[u] != 0) || (u != 2 && seen[u] != want) {
			t.Errorf("unit %d was handed out %d times", u, seen[u])
		}
	}
	for u, why := range p.Spared() {
		t.Errorf("unit %d: %v", u, why)
	}
	if got := p.Reason(2).Why; got != Observed {
		t.Errorf("reason of what evidence told: %v", got)
	}
}

func TestNearSkipsAndAudits(t *testing.T) {
	m := site(t, 3, 10)
	m.Learn(&Run{Asked: []Span{{0, 12}}})
	p, err := Standard().Plan(m, Options{Policy: Near, Skips: []Skip{{Dir: 2, Rule: 7}}, Audits: 1})
	if err != nil {
		t.Fatal(err)
	}
	first := p.Next(100)
	if len(first) != 4 {
		t.Fatalf("got %d requests, want 3 and one audit: %v", len(first), first)
	}
	a := first[3]
	if a.Why.Why != Audit || a.Why.Rule != 7 {
		t.Errorf("audit: %+v", a)
	}
	if got := p.Reason(12); got.Why != Rule || got.String() != "spared: rule 7 skips its directory" {
		t.Errorf("skipped: %v", got)
	}
	p.Tell(Outcome{Unit: a.Unit, Result: Changed})
	if again := p.Next(100); len(again) != 9 || again[0].Why.Why != Refuted {
		t.Errorf("after a failed audit: %v", again)
	}
}

func TestNearNeverSkipsTheRoot(t *testing.T) {
	m := site(t, 3, 3)
	m.Learn(&Run{Asked: []Span{{0, 5}}})
	for _, o := range []Options{
		{Skips: []Skip{{Dir: Root}}}, {
			Skips:   []Skip{{Dir: 1}},
			Expired: true,
		}, {Skips: []Skip{{Dir: 1}}, MaxSkip: 1},
	} {
		o.Policy = Near
		if o.MaxSkip > 0 {
			m.Learn(&Run{})
		}
		p, err := Standard().Plan(m, o)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(p.Next(100)); n != 6 {
			t.Errorf("%+v: %d of 6 were asked", o, n)
		}
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	m := site(t, 1)
	for _, o := range []Options{
		{Policy: "sometimes"}, {Price: 2}, {Budget: -1}, {MaxSkip: -1}, {Audits: -1}, {Skips: []Skip{{Dir: 9}}},
	} {
		if _, err := Standard().Plan(m, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

// The listing of the root is requested in each run: it shows whole directories. Those of directories are not
// thought to change because the only page of theirs did.
func TestListingsOfTheRootAndOfSinglePages(t *testing.T) {
	m := NewModel()
	add := func(d Dir, k Kind) {
		if _, err := m.Add(d, k, true); err != nil {
			t.Fatal(err)
		}
	}
	const dirs = 100
	add(Root, Listing) // 0
	for range dirs {
		d, err := m.AddDir(Root)
		if err != nil {
			t.Fatal(err)
		}
		add(d, Listing) // odd
		add(d, Page)    // even
	}
	all := []Span{{0, 2 * dirs}}
	m.Learn(&Run{Time: weekSeconds, Entered: all})
	for w := range 20 {
		changed := []ID{ID(2 + w%dirs*2), ID(2 + (w+7)%dirs*2)}
		m.Learn(&Run{Time: int64(w+2) * weekSeconds, Asked: all, Changed: setOf(changed)})
	}
	p, err := Standard().Plan(m, Options{Policy: Adaptive, Now: 22 * weekSeconds})
	if err != nil {
		t.Fatal(err)
	}
	root, listings := false, 0
	for b := p.Next(4); len(b) > 0; b = p.Next(4) {
		for _, a := range b {
			root = root || a.Unit == 0
			if a.Unit%2 == 1 {
				listings++
			}
			p.Tell(Outcome{Unit: a.Unit})
		}
	}
	if !root || listings > dirs/2 {
		t.Errorf("the listing of the root was requested: %v, want true; %d of %d others, want less than half", root,
			listings, dirs)
	}
}

// The new units of a new directory count for the listing that shows the directory, not for its own.
func TestBirthsCountForTheListingAbove(t *testing.T) {
	m := site(t, 3)
	m.Learn(&Run{Entered: []Span{{0, 2}}})
	m.Learn(&Run{Asked: []Span{{0, 2}}})
	d, err := m.AddDir(Root)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if _, err := m.Add(d, Page, false); err != nil {
			t.Fatal(err)
		}
	}
	m.Learn(&Run{Asked: []Span{{0, 2}}, Entered: []Span{{3, 52}}})
	if root, own := m.dirs[Root], m.dirs[d]; root.finds != 50 || root.times != 1 || own.finds != 0 {
		t.Errorf("finds: %v of %v runs at the root, %v in the directory; want 50 of 1, 0", root.finds, root.times,
			own.finds)
	}
}

// A change of an earlier run that is found while the hubs are silent does not end the silence.
func TestMissedChangesDoNotEndSilence(t *testing.T) {
	for _, looked := range []bool{false, true} {
		f := newFake(t, 1, 100, 100, 100)
		for w := range 24 {
			var changed []ID
			if w%2 == 0 {
				changed = append(ids(0, 1), ids(ID(1+w/2%3*100), ID(101+w/2%3*100))...)
			}
			f.full(changed...)
		}
		run := Run{Asked: []Span{{0, 0}}, Changed: []Span{{0, 0}}}
		if looked {
			run.Asked = []Span{{0, 300}}
		}
		f.learn(&run)
		p, err := Standard().Plan(f.m, f.o)
		if err != nil {
			t.Fatal(err)
		}
		q := &p.(*adaptive).quiet
		for _, u := range q.hubs {
			p.Tell(Outcome{Unit: u})
		}
		before := q.now
		p.Tell(Outcome{Unit: 250, Result: Changed}) // no hub
		if !before || q.now == looked {
			t.Errorf("looked at in the last run: %v; silent %v, after a change %v", looked, before, q.now)
		}
	}
}

// What earlier runs may have missed waits while the hubs are silent, also where single pages changed in weeks
// in which they did not.
func TestMissedChangesWaitWhileHubsAreSilent(t *testing.T) {
	for _, covers := range []bool{true, false} {
		f := newFake(t, 1, 100, 100, 100, 100)
		for w := range 24 {
			var changed []ID
			switch {
			case w%2 == 0:
				changed = append(ids(0, 1), ids(ID(1+w/2%3*100), ID(101+w/2%3*100))...)
			case !covers && w%8 == 1:
				changed = ids(ID(310+w), ID(311+w))
			}
			f.full(changed...)
		}
		f.learn(&Run{Asked: []Span{{0, 0}}, Changed: []Span{{0, 0}}})
		p, err := Standard().Plan(f.m, f.o)
		if err != nil {
			t.Fatal(err)
		}
		a := p.(*adaptive)
		for _, u := range a.quiet.hubs {
			p.Tell(Outcome{Unit: u})
		}
		g := &a.gs[a.groupOf(50)]
		now := a.parts(50, g).with
		all := partsWith(a, 50, g, true).with
		if !a.quiet.now || a.quiet.covers != covers || now >= all/4 {
			t.Errorf("covered %v: silent %v, covered %v; expected %g, with what was missed %g", covers, a.quiet.now,
				a.quiet.covers, now, all)
		}
	}
}

// With a budget of several runs a unit is worth what the run itself may have changed, not what earlier runs
// missed of it, and while the hubs are silent the less, the less is left.
func TestBudgetIsForChangesOfTheRun(t *testing.T) {
	parts := func(budget int, silent bool) parts {
		f := newFake(t, 1, 100, 100, 100, 100)
		for w := range 24 {
			var changed []ID
			if w%2 == 0 {
				changed = append(ids(0, 1), ids(ID(1+w/2%3*100), ID(101+w/2%3*100))...)
			}
			f.full(changed...)
		}
		f.learn(&Run{Asked: []Span{{0, 0}}, Changed: []Span{{0, 0}}})
		if budget > 0 {
			f.o.Own, f.o.Budget = 100, budget
		}
		p, err := Standard().Plan(f.m, f.o)
		if err != nil {
			t.Fatal(err)
		}
		a := p.(*adaptive)
		if silent {
			for _, u := range a.quiet.hubs {
				p.Tell(Outcome{Unit: u})
			}
		}
		return a.parts(50, &a.gs[a.groupOf(50)])
	}
	if free, kept := parts(0, false), parts(800, false); kept.with > free.with*0.98 || kept.alone >= free.alone {
		t.Errorf("%+v with a budget, %+v without", kept, free)
	}
	full, scarce, none := parts(800, true), parts(200, true), parts(100, true)
	if full.with <= 2*scarce.with || scarce.with <= 100*none.with || full.alone != none.alone {
		t.Errorf("with 800, 200 and 100 requests left while the hubs are silent: %+v, %+v, %+v", full, scarce, none)
	}
}

// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

// What was last observed long ago is requested regardless of what a policy expects of it, however few runs
// there were.
func TestMaxAge(t *testing.T) {
	const day = 86_400
	for _, c := range []struct {
		name Name
		most int64
		runs int // MaxSkip
		want int
		says string
	}{
		{Adaptive, 30 * day, 0, 20, "asked: max_skip_time: not observed for 31 days"},
		{Near, 30 * day, 0, 20, "asked: max_skip_time: not observed for 31 days"},
		{Adaptive, 30 * day, 14, 20, "asked: max_skip_time: not observed for 31 days"},
		{Near, 30 * day, 14, 20, "asked: max_skip_time: not observed for 31 days"},
		{Adaptive, 30 * day, 1, 20, "asked: max_skip: not observed for 2 runs"},
		{Near, 30 * day, 1, 20, "asked: max_skip: not observed for 2 runs"},
		{Adaptive, 200 * day, 0, 0, ""},
		{Near, 200 * day, 0, 0, ""},
	} {
		m := NewModel()
		d, err := m.AddDir(Root)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 { // 0 to 19 lie in the root, 20 to 39 in the directory
			at := Root
			if i >= 20 {
				at = d
			}
			if _, err := m.Add(at, Page, true); err != nil {
				t.Fatal(err)
			}
		}
		m.Learn(&Run{Time: day, Asked: []Span{{0, 39}}})
		m.Learn(&Run{Time: 2 * day, Asked: []Span{{0, 39}}, Changed: []Span{{0, 19}}})
		m.Learn(&Run{Time: 32 * day, Asked: []Span{{0, 19}}, Changed: []Span{{0, 19}}})
		p, err := Standard().Plan(m, Options{
			Policy:  c.name,
			Now:     33 * day,
			Price:   1,
			MaxAge:  c.most,
			MaxSkip: c.runs,
			Skips:   []Skip{{Dir: d}},
		})
		if err != nil {
			t.Fatal(err)
		}
		old := 0
		for _, a := range p.Next(100) {
			if a.Unit >= 20 {
				old++
				for _, why := range []Reason{a.Why, p.Reason(a.Unit)} { // explain asks for it
					if why.Why != Skipped || why.String() != c.says {
						t.Errorf("%s, %d runs: unit %d: %v, want %s", c.name, c.runs, a.Unit, why, c.says)
					}
				}
			}
		}
		if old != c.want {
			t.Errorf("%s, at most %d s: %d old units, want %d", c.name, c.most, old, c.want)
		}
	}
}

// What a run that requested everything has observed comes due in shares under each policy, and all of it
// in time.
func TestDueUnitsAreShared(t *testing.T) {
	const day, units, most = 86_400, 700, 14
	for _, o := range []Options{
		{Policy: Adaptive, Price: 1, MaxSkip: most},
		{Policy: Near, MaxSkip: most},
		{Policy: Adaptive, Price: 1, MaxAge: most * day},
		{Policy: Near, MaxAge: most * day},
	} {
		m := NewModel()
		d, err := m.AddDir(Root)
		if err != nil {
			t.Fatal(err)
		}
		for range units {
			if _, err := m.Add(d, Page, true); err != nil {
				t.Fatal(err)
			}
		}
		o.Skips = []Skip{{Dir: d}}
		last := make([]int, units)
		all := []Span{{0, units - 1}}
		m.Learn(&Run{Time: day, Asked: all})
		m.Learn(&Run{Time: 2 * day, Asked: all})
		for run := 1; run < 4*most; run++ {
			o.Now = int64(2+run) * day
			p, err := Standard().Plan(m, o)
			if err != nil {
				t.Fatal(err)
			}
			r, shared := Run{Time: o.Now}, 0
			for asks := p.Next(units); len(asks) > 0; asks = p.Next(units) {
				for _, a := range asks {
					age := run - last[a.Unit]
					if a.Why.Why == Skipped {
						shared++
					}
					if age > most+1 || (a.Why.Why == Skipped && age < most-most/3) {
						t.Fatalf("%s, run %d: unit %d, not observed for %d runs", o.Policy, run, a.Unit, age)
					}
					last[a.Unit] = run
					r.Asked = append(r.Asked, Span{uint32(a.Unit), uint32(a.Unit)})
				}
			}
			if shared > units/(most/3) {
				t.Errorf("%s: %d of %d units in run %d", o.Policy, shared, units, run)
			}
			m.Learn(&r)
		}
		for u, at := range last {
			if 4*most-1-at > most+1 {
				t.Errorf("%s: unit %d was last observed in run %d", o.Policy, u, at)
			}
		}
	}
}

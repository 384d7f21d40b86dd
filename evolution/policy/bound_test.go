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

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// history draws a site and some runs, partial and empty ones too.
func history(t *rapid.T) *Model {
	m := NewModel()
	for range rapid.IntRange(0, 12).Draw(t, "dirs") {
		if _, err := m.AddDir(Dir(rapid.IntRange(0, m.Dirs()-1).Draw(t, "parent"))); err != nil {
			t.Fatal(err)
		}
	}
	n := rapid.IntRange(0, 60).Draw(t, "units")
	for range n {
		d, k := Dir(rapid.IntRange(0, m.Dirs()-1).Draw(t, "dir")),
			Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))
		if _, err := m.AddNamed(d, k, rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "name"),
			rapid.Bool().Draw(t, "in")); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range drawSet(t, n) {
		for u := x.First; u <= x.Last && int(u) < n; u++ {
			m.Vouch(ID(u))
		}
	}
	now := int64(0)
	for range rapid.IntRange(0, 30).Draw(t, "runs") {
		now += rapid.Int64Range(-5, 1e6).Draw(t, "gap")
		m.Learn(&Run{
			Time:    now,
			Asked:   drawSet(t, n),
			Spared:  drawSet(t, n),
			Changed: drawSet(t, n),
			Entered: drawSet(t, n),
			Left:    drawSet(t, n),
			Naming:  drawSet(t, n),
		})
	}
	return m
}

// drawSet draws a set; numbers that are no units may be in it.
func drawSet(t *rapid.T, n int) (out []Span) {
	for at := 0; at < n+3 && rapid.IntRange(0, 3).Draw(t, "more") > 0; {
		from := at + rapid.IntRange(0, 20).Draw(t, "from")
		to := from + rapid.IntRange(0, 20).Draw(t, "to")
		out = append(out, Span{uint32(from), uint32(to)})
		at = to + 2
	}
	return out
}

func drawOptions(t *rapid.T, m *Model) Options {
	o := Options{
		Policy:  rapid.SampledFrom([]Name{Full, Near, Adaptive}).Draw(t, "policy"),
		Now:     rapid.Int64Range(0, 1e8).Draw(t, "now"),
		Price:   rapid.SampledFrom([]float64{0, -1, 1e-6, 0.01, 1}).Draw(t, "price"),
		Budget:  rapid.IntRange(0, 30).Draw(t, "budget"),
		MaxSkip: rapid.IntRange(0, 6).Draw(t, "max_skip"),
		Audits:  rapid.IntRange(0, 3).Draw(t, "audits"),
		Expired: rapid.Bool().Draw(t, "expired"),
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "skips") {
		o.Skips = append(o.Skips, Skip{Dir(rapid.IntRange(0, m.Dirs()-1).Draw(t, "skip")), i})
	}
	return o
}

func TestPlansKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := history(t)
		o := drawOptions(t, m)
		answers := rapid.SliceOfN(rapid.IntRange(0, 3), m.Units(), m.Units()).Draw(t, "answers")
		evidence := rapid.SliceOfN(rapid.IntRange(0, 9), m.Units(), m.Units()).Draw(t, "evidence")
		late := rapid.Bool().Draw(t, "late")
		listings := rapid.Bool().Draw(t, "listings first")
		teller := map[Dir]ID{} // the first listing of each directory
		for u := ID(m.Units()); u > 0; u-- {
			if m.In(u-1) && m.kind(u-1) == Listing {
				teller[m.dir[u-1]] = u - 1
			}
		}
		size := rapid.IntRange(1, 9).Draw(t, "batch")
		play := func() (order []Ask) {
			p, err := Standard().Plan(m, o)
			if err != nil {
				t.Fatal(err)
			}
			seen := make([]int, m.Units()) // 1 observed without a request, 2 requested
			for u, e := range evidence {
				if e == 0 {
					seen[u] = 1
					p.Tell(Outcome{Unit: ID(u), Result: Result(answers[u])})
				}
			}
			var untold []Ask
			answered := map[ID]bool{}
			for first := listings; ; {
				var b []Ask
				if first {
					if b = p.NextListings(size); len(b) == 0 && len(untold) == 0 {
						first = false
					}
				}
				if !first {
					b = p.Next(size)
				}
				if len(b) == 0 && len(untold) == 0 && !first {
					break
				}
				for _, a := range b {
					switch {
					case first && m.kind(a.Unit) != Listing:
						t.Fatalf("unit %d was handed out as a listing", a.Unit)
					case !m.In(a.Unit):
						t.Fatalf("unit %d was handed out and is not there", a.Unit)
					case seen[a.Unit] != 0:
						t.Fatalf("unit %d was handed out twice, or after it was told of", a.Unit)
					case a.Why.Why.spares():
						t.Fatalf("unit %d was handed out for a reason to spare: %v", a.Unit, a.Why)
					case p.Reason(a.Unit).Why != a.Why.Why:
						t.Fatalf("unit %d was handed out for %v, its reason is %v", a.Unit, a.Why, p.Reason(a.Unit))
					}
					if l, ok := teller[m.dir[a.Unit]]; ok && o.Policy == Adaptive && m.seen > 0 &&
						m.flags[a.Unit]&vouched != 0 && m.kind(a.Unit) != Listing && !answered[l] && seen[l] != 1 {
						t.Fatalf("unit %d was handed out before the listing %d that tells of it", a.Unit, l)
					}
					seen[a.Unit] = 2
				}
				if len(b) > size {
					t.Fatalf("%d units where %d were wanted", len(b), size)
				}
				order, untold = append(order, b...), append(untold, b...)
				if late && len(b) > 0 && len(untold) < 3*size { // many requests in flight
					continue
				}
				for _, a := range untold {
					p.Tell(Outcome{Unit: a.Unit, Result: Result(answers[a.Unit]), New: answers[a.Unit] * 2})
					answered[a.Unit] = true
				}
				untold = nil
			}
			if o.Budget > 0 && len(order) > o.Budget {
				t.Fatalf("%d requests, the budget is %d", len(order), o.Budget)
			}
			spared := map[ID]bool{}
			for u, why := range p.Spared() {
				if !why.Why.spares() && o.Policy == Adaptive {
					t.Fatalf("unit %d is spared for a reason to ask: %v", u, why)
				}
				spared[u] = true
			}
			for u := range ID(m.Units()) {
				if want := m.In(u) && seen[u] == 0; spared[u] != want {
					t.Fatalf("unit %d: there %v, seen %d, spared %v", u, m.In(u), seen[u], spared[u])
				}
				if why := p.Reason(u); m.In(u) == (why.Why == Unknown) || why.String() == "" {
					t.Fatalf("unit %d: %v", u, why)
				}
				due := o.MaxSkip > 0 && m.runs-int(m.last(u)) >= o.MaxSkip
				if o.Budget == 0 && due && spared[u] {
					t.Fatalf("unit %d was not observed for %d runs and is spared; max_skip is %d", u,
						m.runs-int(m.last(u)), o.MaxSkip)
				}
				if o.Budget == 0 && (m.seen == 0 || o.Policy == Full || (o.Price < 0 && o.Policy == Adaptive)) &&
					spared[u] {
					t.Fatalf("unit %d is spared though everything is to be asked", u)
				}
			}
			return order
		}
		if a, b := play(), play(); !slices.Equal(a, b) {
			t.Fatalf("two plans of the same: %v, %v", a, b)
		}
	})
}

// Chances stay chances after any results.
func TestBeliefsAreChances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := history(t)
		if m.seen == 0 {
			return
		}
		a := newAdaptive(m, Options{Policy: Adaptive, Price: -1})
		for range rapid.IntRange(0, 40).Draw(t, "outcomes") {
			next := a.Next
			if rapid.Bool().Draw(t, "listings") {
				next = a.NextListings
			}
			for _, x := range next(3) {
				a.Tell(Outcome{Unit: x.Unit, Result: Result(rapid.IntRange(0, 2).Draw(t, "result"))})
			}
			for d := range a.chain.nodes {
				if x := a.chain.nodes[d].act; !(x >= 0 && x <= 1) {
					t.Fatalf("directory %d is active with chance %v", d, x)
				}
			}
			for _, u := range a.order {
				if p := a.chance(u, &a.gs[a.groupOf(u)]); !(p >= 0 && p <= 1) {
					t.Fatalf("unit %d changed with chance %v", u, p)
				}
			}
			for n, heap := range a.ranks.heap {
				for at, i := range heap.order {
					if at > 0 && a.ranks.before(i, heap.order[(at-1)/2]) {
						t.Fatal("the heap is no heap")
					}
					if a.gs[i].place != int32(at) || a.gs[i].heap() != n {
						t.Fatal("a group does not know its place")
					}
					if a.withheld(&a.gs[i]) {
						t.Fatal("a group that waits for its listing may be asked")
					}
				}
			}
		}
	})
}

// spares reports whether it is a reason not to ask.
func (w Why) spares() bool { return w >= Cheap }

// AddDir adds a directory without a name.
func (m *Model) AddDir(parent Dir) (Dir, error) { return m.AddDirNamed(parent, "") }

// Add adds a unit without a name.
func (m *Model) Add(d Dir, k Kind, in bool) (ID, error) { return m.AddNamed(d, k, "", in) }

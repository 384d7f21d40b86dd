// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// numbered is a site whose directories and units were found in some order.
type numbered struct {
	m     *Model
	units []ID  // by unit of the site
	is    []int // by ID: the unit of the site
	dirs  []Dir // by directory of the site
}

// site is a site before it has numbers.
type namedSite struct {
	parent  []int    // by directory, the root first
	dir     []int    // by unit
	vouched []bool   // by unit
	sets    [][4]set // by run: asked, changed, entered, left
	answer  []Result // by unit: of the run that is planned
}

type set []int // of units

func newNamedSite(rng *rand.Rand) *namedSite {
	s := &namedSite{parent: []int{-1}}
	for d := 1; d < 12; d++ {
		s.parent = append(s.parent, rng.IntN(d))
	}
	rate := make([]float64, 150)
	for u := range rate {
		s.dir, s.vouched = append(s.dir, rng.IntN(len(s.parent))), append(s.vouched, u%7 == 0)
		rate[u] = []float64{0, 0, 0.02, 0.3}[s.dir[u]%4]
	}
	all := set{}
	for u := range rate {
		all = append(all, u)
	}
	s.sets = append(s.sets, [4]set{2: all})
	for range 24 {
		var run [4]set
		for u, r := range rate {
			if rng.IntN(10) == 0 {
				continue
			}
			run[0] = append(run[0], u)
			if rng.Float64() < r {
				run[1] = append(run[1], u)
			}
		}
		s.sets = append(s.sets, run)
	}
	for _, r := range rate {
		s.answer = append(s.answer, Unchanged)
		if rng.Float64() < r {
			s.answer[len(s.answer)-1] = Changed
		}
	}
	return s
}

// number gives the site numbers in an order that rng draws, parents before their children.
func (s *namedSite) number(t *testing.T, rng *rand.Rand) *numbered {
	t.Helper()
	n := &numbered{
		m:     NewModel(),
		units: make([]ID, len(s.dir)),
		dirs:  make([]Dir, len(s.parent)),
	}
	var err error
	for left := rng.Perm(len(s.parent)); len(left) > 0; {
		d := left[0]
		left = left[1:]
		switch up := s.parent[d]; {
		case up < 0:
		case slices.Contains(left, up):
			left = append(left, d)
		default:
			if n.dirs[d], err = n.m.AddDirNamed(n.dirs[up], fmt.Sprint("d", d)); err != nil {
				t.Fatal(err)
			}
		}
	}
	listed := map[int]bool{}
	for _, u := range rng.Perm(len(s.dir)) {
		if d := s.dir[u]; d%3 == 0 && !listed[d] {
			listed[d] = true
			if _, err := n.m.Add(n.dirs[d], Listing, true); err != nil {
				t.Fatal(err)
			}
			n.is = append(n.is, -1-d)
		}
		name := fmt.Sprint("p", u%40, ".", u/40)
		if n.units[u], err = n.m.AddNamed(n.dirs[s.dir[u]], Page, name, true); err != nil {
			t.Fatal(err)
		}
		n.is = append(n.is, u)
		if s.vouched[u] {
			n.m.Vouch(n.units[u])
		}
	}
	for i, run := range s.sets {
		r := Run{Time: int64(i+1) * weekSeconds}
		for i, to := range []*[]Span{&r.Asked, &r.Changed, &r.Entered, &r.Left} {
			for _, u := range run[i] {
				*to = append(*to, Span{uint32(n.units[u]), uint32(n.units[u])})
			}
			slices.SortFunc(*to, func(a, b Span) int { return int(a.First) - int(b.First) })
		}
		n.m.Learn(&r)
	}
	return n
}

// play returns what a plan requests, in its order.
func (n *numbered) play(t *testing.T, s *namedSite, o Options) (asked []int) {
	t.Helper()
	for d := 2; d < 5; d++ {
		o.Skips = append(o.Skips, Skip{n.dirs[d], d})
	}
	p, err := Standard().Plan(n.m, o)
	if err != nil {
		t.Fatal(err)
	}
	for b := p.Next(5); len(b) > 0; b = p.Next(5) {
		for _, a := range b {
			u := n.is[a.Unit]
			asked = append(asked, u)
			out := Outcome{Unit: a.Unit}
			if u >= 0 {
				out.Result = s.answer[u]
			}
			p.Tell(out)
		}
	}
	return asked
}

// TestNumbersDecideNothing: the order in which the URLs of a site were found, and so their numbers, depends
// on how answers overlap. It must not decide on requests.
func TestNumbersDecideNothing(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 5))
		s := newNamedSite(rng)
		for _, o := range []Options{
			{Policy: Adaptive, Price: 0.01, MaxSkip: 9},
			{Policy: Adaptive, Price: -1, Budget: 60, MaxSkip: 3},
			{Policy: Near, Audits: 2, MaxSkip: 20},
			{Policy: Near, Audits: 1, Budget: 50},
			{Policy: Full, Budget: 50},
		} {
			var want []int
			for try := range 3 {
				got := s.number(t, rng).play(t, s, o)
				if o.Policy == Near && o.Budget == 0 { // which requests the same in some order
					slices.Sort(got)
				}
				if try == 0 {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("seed %d, %+v:\n%v\nwant\n%v", seed, o, got, want)
				}
			}
			if len(want) < 10 || (o.Policy == Adaptive && len(want) >= len(s.dir)) {
				t.Errorf("seed %d, %+v: %d requests", seed, o, len(want))
			}
		}
	}
}

// Another order of equals is another one for pages and for directories.
func TestReordered(t *testing.T) {
	order := func(n uint32) (units []ID, dirs []Dir) {
		m := NewReordered(n)
		for i := range 20 {
			d, err := m.AddDirNamed(Root, fmt.Sprint("dir", i))
			if err != nil {
				t.Fatal(err)
			}
			u, err := m.AddNamed(1, Page, fmt.Sprint("page", i), true)
			if err != nil {
				t.Fatal(err)
			}
			units, dirs = append(units, u), append(dirs, d)
		}
		slices.SortFunc(units, m.ByKey)
		slices.SortFunc(dirs, func(a, b Dir) int { return cmp.Compare(m.dirs[a].key, m.dirs[b].key) })
		return units, dirs
	}
	units, dirs := order(0)
	moreUnits, moreDirs := order(0x9e3779b9)
	if slices.Equal(units, moreUnits) || slices.Equal(dirs, moreDirs) {
		t.Errorf("%v and %v, %v and %v", units, moreUnits, dirs, moreDirs)
	}
}

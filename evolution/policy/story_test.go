// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math/rand/v2"
	"testing"
)

// onesBelow counts the runs of a set of the last 64 that came after one, the slow way.
func onesBelow(recent uint64, n int32) (k float32) {
	for i := range min(n, 64) {
		if recent>>i&1 != 0 {
			k++
		}
	}
	return k
}

// What a model knows of each unit is what runs found of it, one after the other, however many units share
// their stories, and unused ones are dropped.
func TestStoriesOfEachUnit(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m, n := NewModel(), 600
		for i := range n {
			d := Root
			if i%20 == 0 {
				d, _ = m.AddDir(Dir(rng.IntN(m.Dirs())))
			} else {
				d = Dir(rng.IntN(m.Dirs()))
			}
			m.Add(d, Page, rng.IntN(2) == 0)
		}
		some := func(of int) (s []Span) {
			for u := 0; u < n; u += 1 + rng.IntN(of) {
				s = append(s, Span{uint32(u), uint32(u)})
			}
			return s
		}
		type story struct {
			exposure
			edits
		}
		want := make([]story, n)
		for run := int32(1); run < 150; run++ {
			r := &Run{Time: int64(run) * (1000 + int64(rng.IntN(300))), Asked: []Span{{0, uint32(n) - 1}}}
			if rng.IntN(3) > 0 {
				r.Asked = some(1 + rng.IntN(40))
			}
			if rng.IntN(2) == 0 {
				r.Changed = some(1 + rng.IntN(200))
			}
			if rng.IntN(4) == 0 {
				r.Spared, r.Entered, r.Left = some(50), some(100), some(100)
			}
			m.Learn(r)
			for _, s := range [...][]Span{r.Asked, r.Spared, r.Changed} {
				for u := range m.spans(s) {
					x := &want[u]
					if l := x.last; l != run && l != 0 {
						x.n = x.n*m.clock.discount(l) + onesBelow(m.dirs[m.dir[u]].recent, run-l)
						x.looks = shift(x.looks, run-l) | 1
					}
					x.last = run
				}
			}
			for u := range m.spans(r.Changed) {
				x := &want[u]
				x.c, x.past = x.c*m.clock.discount(x.at)+1, x.past*2654435761+uint32(run)
				x.moves, x.at = shift(x.moves, run-x.at)|1, run
			}
			for u := range m.spans(r.Entered) {
				want[u] = story{exposure{last: run}, edits{past: uint32(run)}}
			}
			for u := range m.spans(r.Left) {
				want[u].looks, want[u].last = shift(want[u].looks, run-want[u].last), run
			}
			for u := range want {
				if got := (story{*m.exposure(ID(u)), *m.edits(ID(u))}); got != want[u] {
					t.Fatalf("seed %d, run %d, unit %d: %+v, want %+v", seed, run, u, got, want[u])
				}
			}
			most := 2*n + 2*leastRecall
			if x, e := len(m.exposures.all), len(m.tales.all); x > most || e > most {
				t.Fatalf("seed %d, run %d: %d exposures and %d edits of %d units", seed, run, x, e, n)
			}
		}
	}
}

// Units that are observed alike have one story, though each run makes new ones.
func TestStoriesAreShared(t *testing.T) {
	m, n := NewModel(), uint32(5000)
	for range n {
		m.Add(Root, Page, true)
	}
	all := []Span{{0, n - 1}}
	m.Learn(&Run{Time: 1, Entered: all})
	rng := rand.New(rand.NewPCG(3, 4))
	for run := range int64(300) {
		// Halves that are observed in different runs for 64 runs and then in the same ones become alike again,
		// but for the run of a single change.
		r := &Run{Time: (run + 2) * 1000, Asked: all}
		if run < 64 {
			r.Asked = nil
			for u := range n {
				if rng.IntN(2) == 0 {
					r.Asked = append(r.Asked, Span{u, u})
				}
			}
		}
		m.Learn(r)
	}
	if got := len(m.exposures.all); got > 400 {
		t.Errorf("%d exposures of %d units that runs have observed alike for long", got, n)
	}
}

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"iter"
	"slices"
)

// full asks for everything: listings first, since they tell of new pages, then what was longest not observed.
type full struct {
	m *Model
	Options
	state []handling
	queue []ID
	asked int
	only  bool // nothing is handed out, see Only
}

func newFull(m *Model, o Options) *full {
	f := &full{m: m, Options: o, state: make([]handling, m.Units())}
	f.queue = byAge(m, o, func(ID) bool { return true })
	return f
}

// Only returns a plan that hands out nothing: for a run that is made for a few units, which the caller
// requests.
func Only(m *Model) Plan { return &full{m: m, state: make([]handling, m.Units()), only: true} }

// byAge lists the units that exist and are wanted: listings, then the longest unobserved. With a budget,
// which leaves some of them out, those of one age are in order.
func byAge(m *Model, o Options, want func(ID) bool) []ID {
	rank := func(u ID) int {
		if m.kind(u) == Listing {
			return 0
		}
		return 1 + int(m.last(u))
	}
	count := make([]int, m.runs+3)
	for u := range ID(m.Units()) {
		if m.In(u) && want(u) {
			count[rank(u)+1]++
		}
	}
	for i := 1; i < len(count); i++ {
		count[i] += count[i-1]
	}
	out := make([]ID, count[len(count)-1])
	for u := range ID(m.Units()) {
		if m.In(u) && want(u) {
			r := rank(u)
			out[count[r]] = u
			count[r]++
		}
	}
	for r, from := 0, 0; o.Budget > 0 && r < len(count)-1; r, from = r+1, count[r] {
		slices.SortFunc(out[from:count[r]], m.ByKey)
	}
	return out
}

func (f *full) Next(most int) (out []Ask) {
	for len(f.queue) > 0 && len(out) < most && (f.Budget == 0 || f.asked < f.Budget) {
		u := f.queue[0]
		f.queue = f.queue[1:]
		if f.state[u] != 0 {
			continue
		}
		f.state[u] |= handed
		f.asked++
		out = append(out, Ask{u, Reason{Why: Everything}})
	}
	return out
}

func (f *full) NextListings(int) []Ask { return nil }

func (f *full) Tell(o Outcome) {
	if int(o.Unit) < len(f.state) {
		f.state[o.Unit] |= told
	}
}

func (f *full) Reason(u ID) Reason {
	switch {
	case int(u) >= len(f.state) || !f.m.In(u):
		return Reason{Why: Unknown}
	case f.state[u]&handed != 0:
		return Reason{Why: Everything}
	case f.state[u]&told != 0:
		return Reason{Why: Observed}
	case f.only:
		return Reason{Why: Unnamed, Runs: f.m.runs + 1 - int(f.m.last(u))}
	case f.Budget != 0 && f.asked >= f.Budget:
		return Reason{Why: Budget}
	}
	return Reason{Why: Everything}
}

func (f *full) Spared() iter.Seq2[ID, Reason] { return spared(f.m, f.state, f.Reason) }

// spared yields what exists and was neither handed out nor told of.
func spared(m *Model, s []handling, reason func(ID) Reason) iter.Seq2[ID, Reason] {
	return func(yield func(ID, Reason) bool) {
		for u := range s {
			if s[u] == 0 && m.In(ID(u)) && !yield(ID(u), reason(ID(u))) {
				return
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package policy

import "iter"

// Only returns a plan that hands out nothing: for a run that is made for a few units, which the caller
// requests.
func Only(m *Model) Plan { return &only{m: m, state: make([]handling, m.Units())} }

type only struct {
	m     *Model
	state []handling
}

func (o *only) Next(int) []Ask         { return nil }
func (o *only) NextListings(int) []Ask { return nil }

func (o *only) Tell(x Outcome) {
	if int(x.Unit) < len(o.state) {
		o.state[x.Unit] |= told
	}
}

func (o *only) Reason(u ID) Reason {
	switch {
	case int(u) >= len(o.state) || !o.m.In(u):
		return Reason{Why: Unknown}
	case o.state[u]&told != 0:
		return Reason{Why: Observed}
	}
	return Reason{Why: Unnamed, Runs: o.m.runs + 1 - int(o.m.last(u))}
}

func (o *only) Spared() iter.Seq2[ID, Reason] { return spared(o.m, o.state, o.Reason) }

// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"iter"
	"slices"
)

// near asks for everything outside the skipped directories. The rules are mined elsewhere; which directories
// they skip is in Options.Skips.
type near struct {
	*Model
	Options
	state []handling
	skip  []int32 // by directory: index into Options.Skips plus one of the skip that it lies under; 0: none
	why   map[ID]Why
	lost  []bool // by skip: an audit refuted it
	queue []ID
	later []ID // units of refuted skips
	asked int
}

func newNear(m *Model, o Options) *near {
	n := &near{
		Model:   m,
		Options: o,
		state:   make([]handling, m.Units()),
		skip:    make([]int32, m.Dirs()),
		why:     map[ID]Why{},
		lost:    make([]bool, len(o.Skips)),
	}
	for i, s := range o.Skips {
		if s.Dir != Root && n.skip[s.Dir] == 0 { // the root never is skipped
			n.skip[s.Dir] = int32(i + 1)
		}
	}
	for d := 1; d < len(n.skip); d++ { // parents come before their children
		if up := n.skip[m.dirs[d].parent]; up != 0 {
			n.skip[d] = up
		}
	}
	audits, soon := n.audits(), n.soon()
	n.queue = byAge(m, o, func(u ID) bool {
		s := n.skip[m.dir[u]]
		switch {
		case s == 0:
			return true
		case m.last(u) == 0:
			n.why[u] = New
		case o.Expired, o.Every > 0 && (m.runs+int(m.dir[u]))%o.Every == 0:
			n.why[u] = Expired
		case soon[u]:
			n.why[u] = Skipped
		case audits[u]:
			n.why[u] = Audit
		default:
			return false
		}
		return true
	})
	return n
}

// soon are the units below skips that are due, or requested early.
func (n *near) soon() map[ID]bool {
	out := map[ID]bool{}
	var soon comingDue
	for u := range ID(n.Units()) {
		switch b := boundsOf(n.Model, u, &n.Options); {
		case n.skip[n.dir[u]] == 0 || !n.In(u) || n.last(u) == 0:
		case b.left() == 0:
			out[u] = true
		default:
			soon.add(n.Model, u, b)
		}
	}
	for _, u := range soon.spread(len(out)) {
		out[u] = true
	}
	return out
}

// audits are the units of each skip that were longest not observed.
func (n *near) audits() map[ID]bool {
	out := map[ID]bool{}
	if n.Audits == 0 || len(n.Skips) == 0 {
		return out
	}
	oldest := make([][]ID, len(n.Skips))
	age := longest(n.Model)
	for u := range ID(n.Units()) {
		s := n.skip[n.dir[u]]
		if s == 0 || !n.In(u) || n.kind(u) == Listing {
			continue
		}
		best := &oldest[s-1]
		if at, _ := slices.BinarySearchFunc(*best, u, age); at < n.Audits {
			*best = slices.Insert(*best, at, u)[:min(len(*best)+1, n.Audits)]
		}
	}
	for _, u := range slices.Concat(oldest...) {
		out[u] = true
	}
	return out
}

func (n *near) Next(most int) (out []Ask) {
	for len(out) < most && (n.Budget == 0 || n.asked < n.Budget) {
		if len(n.queue) == 0 {
			if len(n.later) == 0 {
				break
			}
			n.queue, n.later = n.later, nil
		}
		u := n.queue[0]
		n.queue = n.queue[1:]
		if n.state[u] != 0 {
			continue
		}
		n.state[u] |= handed
		n.asked++
		out = append(out, Ask{u, n.Reason(u)})
	}
	return out
}

func (n *near) NextListings(int) []Ask { return nil }

func (n *near) Tell(o Outcome) {
	if int(o.Unit) >= len(n.state) {
		return
	}
	n.state[o.Unit] |= told
	s := n.skip[n.dir[o.Unit]]
	if s == 0 || (o.Result != Changed && o.Result != Gone) || n.Audits == 0 || n.lost[s-1] {
		return
	}
	// A change where a rule expected none: the directory is visited in this run.
	n.lost[s-1] = true
	n.later = append(n.later, byAge(n.Model, n.Options, func(u ID) bool {
		return n.skip[n.dir[u]] == s && n.state[u] == 0
	})...)
}

func (n *near) Reason(u ID) Reason {
	if int(u) >= len(n.state) || !n.In(u) {
		return Reason{Why: Unknown}
	}
	r := Reason{Runs: n.runs + 1 - int(n.last(u))}
	s := n.skip[n.dir[u]]
	if s != 0 {
		r.Rule = n.Skips[s-1].Rule
	}
	why, ok := n.why[u]
	switch {
	case n.state[u] == told:
		r.Why = Observed
	case n.state[u] == 0 && n.Budget != 0 && n.asked >= n.Budget:
		r.Why = Budget
	case s == 0:
		r.Why = Everything
	case ok:
		if r.Why = why; why == Skipped {
			r.Age = agedBy(n.Model, u, &n.Options)
		}
	case n.lost[s-1]:
		r.Why = Refuted
	default:
		r.Why = Rule
	}
	return r
}

func (n *near) Spared() iter.Seq2[ID, Reason] { return spared(n.Model, n.state, n.Reason) }

// SPDX-License-Identifier: Apache-2.0

package near

import "mirrord/evolution"

// MineSampled finds the best rule for every directory from estimates of a site that no run looked at whole.
// Steps count in which it is likely enough whether a directory changed; a rule holds when it does at the ends
// of the intervals that speak against it: the least support of its antecedent, the highest frequency of its
// consequent, the highest correlation. The degree of change is the one that the estimates were made with.
func MineSampled(e *evolution.Estimates, dirs *evolution.Dirs, o Options) (*RuleSet, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	r := mineTree(e.Tree(), dirs, &o)
	r.from = e
	for d := range r.of {
		if rule, ok := r.For(evolution.Dir(d)); ok && !o.holds(e, rule) {
			r.of[d] = -1
		}
	}
	return r, nil
}

// holds reports whether a rule is accepted at the ends of the intervals.
func (o *Options) holds(e *evolution.Estimates, r Rule) bool {
	x, y := e.Of(r.Antecedent[len(r.Antecedent)-1]), e.Of(r.Consequent)
	if y.High*float64(y.Steps) < 0.5 {
		y.High = 0 // steps are whole
	}
	// Both change in no more steps than the consequent does.
	if x.Low < o.MinFoC || y.High >= o.MinFoC || x.Low-y.High < o.MinConfidence*x.Low {
		return false
	}
	if y.High == 0 {
		return true // as accepted from the counts
	}
	p := e.Pair(r.Antecedent, r.Consequent)
	return p.Defined && p.CoCHigh <= -o.MinCoC
}

// SPDX-License-Identifier: Apache-2.0

package near

import (
	"errors"
	"fmt"
	"slices"

	"mirrord/evolution"
)

// ErrTooManyRules says that there are more rules, or more chains to look at, than a limit allows: their
// number grows as 2 to the depth.
var ErrTooManyRules = errors.New("too many rules")

// MineAll finds every rule: for each directory every chain above it that makes one. Skipping needs [Mine]
// only. The rules come by consequent, in the order of the directories' numbers; those of one consequent by
// their antecedents, as lists of numbers.
func MineAll(h *evolution.History, o Options) ([]Rule, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	t, err := h.DeltaTree(evolution.DeltaOptions{
		Alpha:      o.MinDoC,
		Structural: o.Structural,
		From:       o.From,
		To:         o.To,
	})
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	f := &finder{o: &o, t: t, n: t.Len()}
	class := f.classify()
	dirs := h.Dirs()
	children := make([][]evolution.Dir, t.Dirs())
	for d := evolution.Dir(1); int(d) < t.Dirs(); d++ {
		if t.Seen(d) {
			children[dirs.Parent(d)] = append(children[dirs.Parent(d)], d)
		}
	}
	var rules []Rule
	looked := 0
	for parent := range children {
		if len(children[parent]) == 0 {
			continue
		}
		// Divide and conquer: the chains down to a directory are those without it and those with it.
		type named struct {
			vector
			dirs []evolution.Dir
		}
		var path []evolution.Dir
		for d := evolution.Dir(parent); ; d = dirs.Parent(d) {
			path = append(path, d)
			if d == evolution.Root {
				break
			}
		}
		slices.Reverse(path)
		var chains []named
		for _, d := range path {
			v := f.classes[class[d]]
			for _, c := range append(slices.Clone(chains), named{}) {
				w := v
				if c.dirs != nil {
					w = c.and(v)
				}
				if ones(w.changed) < f.least {
					continue
				}
				chains = append(chains, named{w, append(slices.Clip(c.dirs), d)})
				if looked++; looked > 4*o.MaxRules {
					return nil,
						fmt.Errorf(
							"mine all rules: %w: more than %d chains were looked at: raise alpha or beta, or take the best "+
								"rules only", ErrTooManyRules, looked-1)
				}
			}
		}
		slices.SortFunc(chains, func(a, b named) int { return slices.Compare(a.dirs, b.dirs) })
		for _, y := range children[parent] {
			if f.expired(f.classes[class[y]]) {
				continue
			}
			for _, x := range chains {
				if c := x.table(f.classes[class[y]]); o.accepts(c) {
					rules = append(rules, Rule{x.dirs, y, c})
				}
			}
			if len(rules) > o.MaxRules {
				return nil,
					fmt.Errorf("mine all rules: %w: more than %d: raise alpha or beta, or take the best rules only",
						ErrTooManyRules, o.MaxRules)
			}
		}
	}
	slices.SortStableFunc(rules, func(a, b Rule) int { return int(a.Consequent) - int(b.Consequent) })
	return rules, nil
}

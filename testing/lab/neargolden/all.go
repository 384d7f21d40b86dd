// SPDX-License-Identifier: Apache-2.0

package neargolden

import (
	"fmt"
	"slices"

	"mirrord/evolution"
	"mirrord/near"
)

// deepest is how deep a directory may lie: the chains above it are 2 to that.
const deepest = 12

// mineAll finds every rule by its definition: for each directory every chain above it that makes one.
func mineAll(h *evolution.History, t *evolution.DeltaTree, o near.Options) (rules []near.Rule, err error) {
	dirs := h.Dirs()
	for y := evolution.Dir(1); int(y) < t.Dirs(); y++ {
		if !t.Seen(y) {
			continue
		}
		var path []evolution.Dir
		for d := y; d != evolution.Root; {
			d = dirs.Parent(d)
			path = append(path, d)
		}
		if len(path) > deepest {
			return nil, fmt.Errorf("%w: %s is deeper than %d", ErrGolden, quote(dirs.Path(y)), deepest)
		}
		slices.Reverse(path)
		for set := 1; set < 1<<len(path); set++ {
			var x []evolution.Dir
			for i, d := range path {
				if set&(1<<i) != 0 {
					x = append(x, d)
				}
			}
			if c := tableOf(t, x, y); isRule(c, o) {
				rules = append(rules, near.Rule{
					Antecedent: x,
					Consequent: y,
					Counts:     c,
					Seen:       c.N,
				})
			}
		}
	}
	return rules, nil
}

// tableOf counts, over the steps in which all members of X and of Y are known, those in which all members of
// X, all of Y, and all of both changed significantly. No directory changes always.
func tableOf(t *evolution.DeltaTree, x []evolution.Dir, y ...evolution.Dir) (c evolution.Table) {
	for step := range t.Len() {
		word, bit := step/64, uint64(1)<<(step%64)
		known := true
		all := func(set []evolution.Dir) bool {
			change := true
			for _, d := range set {
				changed, unknown := t.Words(d)
				known = known && (unknown == nil || unknown[word]&bit == 0)
				change = change && changed[word]&bit != 0
			}
			return change
		}
		inX, inY := all(x), all(y)
		if !known {
			continue
		}
		c.N++
		if inX {
			c.X++
		}
		if inY {
			c.Y++
		}
		if inX && inY {
			c.XY++
		}
	}
	return c
}

// isRule is the definition, term by term.
func isRule(c evolution.Table, o near.Options) bool {
	if c.X == 0 {
		return false
	}
	n, confidence := float64(c.N), float64(c.X-c.XY)/float64(c.X)
	if float64(c.X)/n < o.MinFoC || float64(c.XY)/n >= o.MinFoC || confidence < o.MinConfidence {
		return false
	}
	if phi, defined := c.CoC(); defined {
		return phi <= -o.MinCoC
	}
	switch o.Zero {
	case near.ZeroStrict:
		return false
	case near.ZeroNever:
		return c.Y == 0 || o.MinCoC == 0
	}
	return o.MinCoC == 0
}

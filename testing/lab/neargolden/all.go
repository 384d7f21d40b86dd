// SPDX-License-Identifier: Apache-2.0

package neargolden

import (
	"fmt"
	"slices"

	"mirrord/evolution"
	"mirrord/near"
	"mirrord/testing/lab/reference"
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
			if c := reference.TableOf(t, x, y); isRule(c, o) {
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

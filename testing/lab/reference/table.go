// SPDX-License-Identifier: Apache-2.0

package reference

import "mirrord/evolution"

// TableOf counts, over the steps in which all members of X and of Y are known, those in which all members of
// X, all of Y, and all of both changed significantly. No directory changes always.
func TableOf(t *evolution.DeltaTree, x []evolution.Dir, y ...evolution.Dir) (c evolution.Table) {
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

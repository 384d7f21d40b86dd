// SPDX-License-Identifier: Apache-2.0

package urls

import "mirrord/store/record"

// Observed adds to o what the run has observed, and reports whether that is anything.
func (t Settled) Observed(o *record.Observation) (some bool) {
	sets := [...]struct {
		bits Seen
		ids  *record.IDs
	}{
		{Asked, &o.Asked},
		{Spared, &o.Spared},
		{Changed, &o.Changed},
		{Entered, &o.Entered},
		{Left, &o.Left},
		{Joined, &o.Joined},
		{Audited | Asked, &o.Audited},
	}
	for id, is := range t.All() {
		seen := is.Seen()
		if seen&Observed == 0 {
			continue
		}
		some = true
		if (seen&Entered != 0) && (seen&Left != 0) { // came and went
			seen &^= Entered | Left
		}
		for _, x := range sets {
			if seen&x.bits == x.bits {
				x.ids.Add(id)
			}
		}
	}
	return some
}

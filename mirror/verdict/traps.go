// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"maps"
	"slices"

	"mirrord/internal/count"
	"mirrord/site"
)

// Traps is the rule about endless chains of pages: those that had nothing new leave, and the rest of the
// site is published.
func (rules) Traps() rule { return rule{at: Settled, place: 5, judge: traps} }

const leftOut = "%s was left out as a trap: %s of it in a row had no new text, pictures or links; " +
	"limits.traps = \"off\" takes it in"

func traps(c *Case) (r Ruling, _ error) {
	for _, pattern := range slices.Sorted(maps.Keys(c.Traps)) {
		pages := c.Traps[pattern]
		r.note(fmt.Sprintf(leftOut, pattern, count.Of(len(pages), "page")), site.URL{})
		for _, id := range pages {
			if c.Table.State(id).InSet() {
				r.Leave = append(r.Leave, id)
			}
		}
	}
	r.Why = "a chain of pages without new text or links"
	return r, nil
}

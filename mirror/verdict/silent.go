// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"maps"
	"slices"

	"mirrord/site"
)

// Silent is the rule about other origins than those of entry points that gave no answer at all.
func (rules) Silent() rule { return rule{at: Retrieved, place: 40, judge: silent} }

const noAnswer = "servers that gave no answer: what the mirror has of them stays, other links lead to them"

func silent(c *Case) (r Ruling, _ error) {
	for _, origin := range slices.Sorted(maps.Keys(c.Silent)) {
		if u, _, err := site.Parse(origin + "/"); err == nil {
			r.note(noAnswer, u)
		}
	}
	return r, nil
}

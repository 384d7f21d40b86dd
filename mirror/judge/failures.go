// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"maps"
	"slices"

	"mirrord/site"
)

// Failures is the rule about limits.max_failures.
func (rules) Failures() rule { return rule{at: Retrieved, place: 40, judge: failures} }

// fewFailures is how many URLs may fail on a site of any size.
const fewFailures = 3

const noAnswer = "servers that gave no answer: what the mirror has of them stays, other links lead to them"

// failures compares what failed with limits.max_failures. A few failures do not spoil a run: what failed
// keeps its last good copy, and the summary names it. An origin that gave no answer at all costs its own
// URLs, and not the version.
func failures(c *Case) (r Ruling, _ error) {
	failed, requests := c.Failed, c.Requests
	for _, origin := range slices.Sorted(maps.Keys(c.Silent)) {
		failed -= c.Silent[origin]
		if u, _, err := site.Parse(origin + "/"); err == nil {
			r.note(noAnswer, u)
		}
	}
	if c.Resumed { // only what failed is requested again: the share is one of the whole run
		requests = max(requests, Requested(c.Ledger))
	}
	if (failed <= fewFailures) || (requests == 0) {
		return r, nil
	}
	if limit := c.Limits.MaxFailures; float64(failed) > float64(limit)*float64(requests) {
		r.partial("%d of %d requests failed, more than limits.max_failures = %v", failed, requests, limit)
	}
	return r, nil
}

// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"testing"
	"time"

	"mirrord/cluster/lease"
)

// Other job files are reported once: a node that is gone for a moment and comes back with them is no news, a
// difference that comes back after all had agreed for a term is.
func TestOtherJobsAreToldOnce(t *testing.T) {
	const term = 10 * time.Second
	c := comparison{seen: lease.Sightings{Term: lease.Term{TTL: term}}}
	same := map[string]Node{"b": {Jobs: "old"}, "c": {Jobs: "old"}}
	other := map[string]Node{"b": {Jobs: "old"}, "c": {Jobs: "new"}}
	gone := map[string]Node{"b": {Jobs: "old"}}
	now := time.Duration(0)
	for i, step := range []struct {
		after   time.Duration
		members map[string]Node
		told    []string
	}{
		{0, same, nil},
		{term, same, nil},
		{1, other, nil},
		{term - 1, other, nil},
		{1, other, []string{"c"}},
		{term, other, nil},
		{1, gone, nil},
		{1, other, nil},
		{term, other, nil},
		{1, same, nil},
		{term, same, nil},
		{1, other, nil},
		{term, other, []string{"c"}},
	} {
		now += step.after
		if told := c.others("old", step.members, now); !slices.Equal(told, step.told) {
			t.Errorf("step %d: told of %v, want %v", i, told, step.told)
		}
	}
}

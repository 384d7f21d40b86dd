// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"fmt"
	"testing"

	"mirrord/job"
	"mirrord/mirror/urls"
	"mirrord/store"
)

// Runs in which a dead end is requested.
func TestDeadEndsBackOff(t *testing.T) {
	for name, c := range map[string]struct {
		rec  store.Resource
		want string
	}{
		"gone":          {store.Resource{Status: 404, Referrer: 1}, "[1 2 4 8 16 24 32]"},
		"forbidden":     {store.Resource{Status: 403, Referrer: 1}, "[1 2 4 8 16 24 32]"},
		"busy":          {store.Resource{Status: 503, Referrer: 1}, fmt.Sprint(upTo(32))},
		"was mirrored":  {store.Resource{Status: 404, Referrer: 1, InSet: true}, fmt.Sprint(upTo(32))},
		"entry point":   {store.Resource{Status: 404}, fmt.Sprint(upTo(32))},
		"no dependency": {store.Resource{Status: 424, Referrer: 1}, "[1 2 4 8 16 24 32]"},
	} {
		var runs []int
		rec := c.rec
		rec.ID = 7
		for run := 1; run <= 32; run++ {
			plan := NewSkipPlan(SkipPlanOptions{Job: new(job.Job), Run: run})
			if rec.Run > 0 {
				plan.deadEnds.load(&rec, run)
			}
			if plan.Rests(rec.ID, urls.State{}, false) {
				continue
			}
			runs = append(runs, run)
			if rec.Run = run; rec.Status == 404 {
				rec.Gone++
			} else {
				rec.Failures++
			}
		}
		if got := fmt.Sprint(runs); got != c.want {
			t.Errorf("%s: requested in runs %s, want %s", name, got, c.want)
		}
	}
}

func upTo(n int) (out []int) {
	for i := range n {
		out = append(out, i+1)
	}
	return out
}

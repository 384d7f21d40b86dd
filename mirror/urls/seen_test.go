// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"testing"

	"mirrord/site"
	"mirrord/store/record"
)

func TestRate(t *testing.T) {
	last := 256
	for _, c := range []struct {
		recent   uint16
		observed int
	}{{0xffff, 16}, {0xffff, 400}, {0xff, 16}, {0, 0}, {0xf, 16}, {0, 1}, {1, 16}, {0, 16}, {0, 400}} {
		rate := int(RateOf(&record.Resource{Recent: c.recent, Observed: c.observed}))
		if rate > last {
			t.Errorf("%b of %d: %d after %d", c.recent, c.observed, rate, last)
		}
		last = rate
	}
}

func TestSeen(t *testing.T) {
	for _, c := range []struct {
		rec  record.Resource
		was  bool
		want Seen
	}{
		{record.Resource{Outcome: site.Pending}, false, 0},
		{record.Resource{Outcome: site.Failed, InSet: true, Status: 500}, true, 0},
		{record.Resource{Outcome: site.Unchanged, InSet: true, Status: 304}, true, Asked},
		{record.Resource{Outcome: site.Unchanged, InSet: true, Recent: 1}, true, Spared},
		{record.Resource{
			Outcome: site.Fetched,
			InSet:   true,
			Status:  200,
			Recent:  1,
		}, true, Asked | Changed},
		{record.Resource{
			Outcome: site.Fetched,
			InSet:   true,
			Status:  200,
			Recent:  2,
		}, true, Asked},
		{record.Resource{
			Outcome: site.Fetched,
			InSet:   true,
			Status:  200,
			Recent:  1,
		}, false, Asked | Entered},
		{record.Resource{Outcome: site.Gone, Status: 404}, true, Asked | Left},
		{record.Resource{Outcome: site.Gone, Status: 404}, false, Asked},
		{record.Resource{Outcome: site.Redirected, Status: 302}, true, Asked | Left},
		{record.Resource{Outcome: site.Disallowed}, true, Left},
		{record.Resource{Outcome: site.OutOfScope}, false, 0},
	} {
		if got := SeenOf(&c.rec, c.was); got != c.want {
			t.Errorf("%v, was %v: %05b, want %05b", c.rec.Outcome, c.was, got, c.want)
		}
	}
}

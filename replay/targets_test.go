// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"os"
	"slices"
	"testing"
)

// target is what the default policy has to be worth, as the mean over sites: at most req, stale and quiet, at
// least cr and micro.
type target struct {
	what                         string
	o                            Options
	req, cr, micro, stale, quiet float64
	without                      string // a site that is left out
}

// targets are for all recorded sites. Those of the curve are what it was when it was last drawn.
var targets = []target{
	{"default", Options{}, 0.295, 0.958, 0.982, 0.0007, 0.055, ""},
	{"max_skip of jobs", Options{MaxSkip: 14}, 0.312, 0.958, 0.981, 0.0007, 0.075, ""},
	// at most .02 more requests and .01 less CR than after 20
	{"3 full syncs", Options{Train: 3}, 0.314, 0.951, 0.986, 0.0009, 1, ""},
	{"price .0001", Options{Price: 0.0001}, 0.535, 0.984, 0.997, 0.0002, 1, ""},
	{"price .0003", Options{Price: 0.0003}, 0.415, 0.974, 0.994, 0.0002, 1, ""},
	{"price .003", Options{Price: 0.003}, 0.227, 0.922, 0.926, 0.0032, 1, ""},
	{"price .01", Options{Price: 0.01}, 0.175, 0.870, 0.89, 0.008, 1, ""},
	// TestWhatABudgetCanReach has what nobody exceeds
	{"budget .3", Options{Price: -1, Budget: 0.3}, 0.28, 0.897, 0.90, 0.039, 1, ""},
	// sass is made again in most weeks: half of it changes in the mean one, so no budget of .3 keeps it fresh
	{"budget .3, without sass", Options{Price: -1, Budget: 0.3}, 0.28, 0.936, 0.94, 0.0085, 1, "sass"},
}

// TestAdaptiveTargets holds the default policy to its targets. REPLAY_ALL=1 takes all sites; the quick ones
// are small, and a larger share of them has to be requested.
func TestAdaptiveTargets(t *testing.T) {
	sites, want := sharedSites()[:6], []target{{"quick", Options{}, 0.52, 0.94, 0.93, 0.002, 0.2, ""}}
	if os.Getenv("REPLAY_ALL") != "" {
		sites, want = sharedSites(), targets
	}
	var hs []*History
	for _, site := range sites {
		h := sharedHistory(t, site)
		if h == nil {
			return
		}
		hs = append(hs, h)
	}
	var rs []*Result
	for i, x := range want {
		if x.without == "" {
			rs = nil
			for _, h := range hs {
				r, err := Run(h, x.o)
				if err != nil {
					t.Fatal(err)
				}
				rs = append(rs, r)
			}
		} else if i > 0 { // of those before
			rs = slices.DeleteFunc(rs, func(r *Result) bool { return r.Site == x.without })
		}
		m := Mean(rs)
		t.Logf("%s: requests %.4f, CR %.4f, pooled %.4f, stale %.5f, quiet %.4f", x.what, m.Req, *m.CR, *m.CRMicro,
			m.Stale, *m.Quiet)
		enough := *m.CR >= x.cr && *m.CRMicro >= x.micro
		if m.Req > x.req || m.Stale > x.stale || *m.Quiet > x.quiet || !enough {
			t.Errorf("%s: want %+v", x.what, x)
		}
	}
}

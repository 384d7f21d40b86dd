// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"os"
	"testing"
)

// coveredBy is the share of the training versions in which anything changed that the pages cover which cover
// most of them, so many at most.
func coveredBy(h *History, train, hubs int) float64 {
	open := map[int]map[Page]bool{}
	for v := 1; v < train; v++ {
		pages := map[Page]bool{}
		for _, c := range h.Versions[v].Changes {
			pages[c.Page] = true
		}
		if len(pages) > 0 {
			open[v] = pages
		}
	}
	all := len(open)
	for range hubs {
		covers := map[Page]int{}
		var best Page
		for _, pages := range open {
			for p := range pages {
				covers[p]++
			}
		}
		for p, n := range covers {
			if n > covers[best] || (n == covers[best] && p < best) {
				best = p
			}
		}
		for v, pages := range open {
			if pages[best] {
				delete(open, v)
			}
		}
	}
	return 1 - float64(len(open))/float64(max(all, 1))
}

// TestQuietWeeksOfHubSites holds what adaptive requests in weeks without a change on sites where up to three
// pages cover 95 % of the changed versions of the training to 5 %, and to 9 % with the max_skip of jobs. Of
// all sites rust-blog alone is above that.
func TestQuietWeeksOfHubSites(t *testing.T) {
	sites, wants := []string{"rust-blog"}, map[int]float64{0: 0.07, 14: 0.11}
	if os.Getenv("MIRRORD_LONG") != "" {
		sites, wants = sharedSites(), map[int]float64{0: 0.05, 14: 0.09}
	}
	quiet := map[int][]*Result{}
	for _, site := range sites {
		h := sharedHistory(t, site)
		if h == nil {
			return
		}
		part := coveredBy(h, 20, 3)
		if part < 0.95 {
			t.Logf("%s: three pages cover %.2f", site, part)
			continue
		}
		for skip := range wants {
			r, err := Run(h, Options{MaxSkip: skip})
			if err != nil {
				t.Fatal(err)
			}
			if r.Total.Quiet != nil {
				t.Logf("%s: three pages cover %.2f, max_skip %d, quiet %.3f", site, part, skip, *r.Total.Quiet)
				quiet[skip] = append(quiet[skip], r)
			}
		}
	}
	for skip, want := range wants {
		if len(quiet[skip]) == 0 {
			t.Fatal("no site has hubs")
		}
		m := Mean(quiet[skip])
		t.Logf("%d sites, max_skip %d: %.3f in weeks without a change", len(quiet[skip]), skip, *m.Quiet)
		if *m.Quiet > want {
			t.Errorf("max_skip %d: %.3f of the requests in weeks without a change", skip, *m.Quiet)
		}
	}
}

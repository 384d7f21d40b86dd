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

// TestQuietWeeksOfHubSites says what adaptive requests in weeks without a change on sites where up to three
// pages cover 95 % of the changed versions of the training, and holds it below what it came to. The aim is
// 5 %.
func TestQuietWeeksOfHubSites(t *testing.T) {
	sites := []string{"rust-blog"}
	if os.Getenv("REPLAY_ALL") != "" {
		sites = sharedSites()
	}
	var quiet []*Result
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
		r, err := Run(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Total.Quiet != nil {
			t.Logf("%s: three pages cover %.2f, quiet %.3f", site, part, *r.Total.Quiet)
			quiet = append(quiet, r)
		}
	}
	if len(quiet) == 0 {
		t.Fatal("no site has hubs")
	}
	m := Mean(quiet)
	t.Logf("%d sites, %.3f in weeks without a change", len(quiet), *m.Quiet)
	if *m.Quiet > 0.133 {
		t.Errorf("%.3f of the requests in weeks without a change", *m.Quiet)
	}
}

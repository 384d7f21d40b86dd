// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"mirrord/evolution/policy"
)

// linkedHistory is a site without listings: a front page that names a page in each of 20 directories, and a
// log. In every third week the log names a new page, and one of the pages is gone after a while.
func linkedHistory(t *testing.T, weeks int) *History {
	t.Helper()
	var b Builder
	by := map[string]string{}
	at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for week := range weeks {
		now := map[string]string{}
		if week == 0 {
			now["index.html"], now["log.html"] = "1", "1"
			by["log.html"] = "index.html"
			for i := range 20 {
				p := fmt.Sprintf("d%02d/page.html", i)
				now[p], by[p] = "1", "index.html"
			}
		} else if week%3 == 0 {
			p := fmt.Sprintf("log/%02d/entry.html", week)
			now[p], now["log.html"] = "1", fmt.Sprint(week)
			by[p] = "log.html"
		}
		if week == 7 {
			now["stray.html"] = "1" // nothing names it
			now["d07/page.html"] = ""
		}
		var records []Record
		for _, p := range slices.Sorted(maps.Keys(now)) {
			records = append(records, Record{p, now[p], 100})
		}
		if err := b.Add(at.AddDate(0, 0, 7*week), "", records); err != nil {
			t.Fatal(err)
		}
	}
	b.Linked(by)
	b.First("index.html")
	return b.History()
}

// On a site without listings only pages are charged: a full sync costs what the site has, and a policy that
// requests everything costs that, finds all new pages by links and knows the deleted ones.
func TestLinkedSite(t *testing.T) {
	h := linkedHistory(t, 20)
	for name, o := range map[string]Options{
		"full":           {Policy: policy.Full},
		"best first":     {Price: -1},
		"best, in tens":  {Price: -1, Batch: 10},
		"near":           {Policy: policy.Near},
		"what was noisy": {Policy: Never},
	} {
		o.Train = 3
		r, err := Run(h, o)
		if err != nil {
			t.Fatal(err)
		}
		everything := slices.Contains([]string{"full", "best first", "best, in tens"}, name)
		if everything && (*r.Total.CR != 1 || r.Total.Stale != 0) {
			t.Errorf("%s: %+v", name, r.Total)
		}
		for _, s := range r.Steps {
			// The page that is gone is requested once more than a full sync does.
			if s.Full != s.Files || s.Requests > s.Files+1 {
				t.Errorf("%s, version %d: %d requests, full sync %d, of %d files", name, s.Version, s.Requests, s.Full,
					s.Files)
			}
		}
	}
	r, err := Run(h, Options{Train: 3, Policy: Nothing})
	if err != nil || r.Total.Requests != 0 {
		t.Errorf("nothing: %+v, %v", r, err)
	}
	// The default finds each entry of the log through the log, in the week in which it comes.
	if r, err = Run(h, Options{Train: 7}); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Steps {
		if s.Version%3 == 0 && s.Found < 2 {
			t.Errorf("version %d: found %d of %d", s.Version, s.Found, s.Changes)
		}
		if s.Requests < 1 { // the entry point
			t.Errorf("version %d: no request", s.Version)
		}
	}
	if r.Total.Req > 0.8 {
		t.Errorf("requests %.2f of full syncs", r.Total.Req)
	}
}

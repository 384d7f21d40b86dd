// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"testing"
	"time"
)

// smallSite is a site of 34 pages in six directories, found by links. In each week two of the pages in the
// busy directory and its index change, and in some a page elsewhere.
func smallSite(t *testing.T, weeks int, edits map[int]string) *History {
	t.Helper()
	var b Builder
	by := map[string]string{}
	record := func(path string, blob int) Record { return Record{Path: path, Blob: fmt.Sprint(blob), Size: 100} }
	const index = "a/a0.html"
	for week := range weeks {
		records := []Record{record(index, week)}
		for d := range 6 {
			for p := range 6 - d/2%2 {
				if path := fmt.Sprintf("%c/%c%d.html", 'a'+d, 'a'+d, p); week == 0 && path != index {
					by[path] = index
					records = append(records, record(path, 0))
				}
			}
		}
		if week > 0 {
			records = append(records, record(fmt.Sprintf("a/a%d.html", 1+week%5), week),
				record(fmt.Sprintf("a/a%d.html", 1+(week+2)%5), week))
		}
		if path := edits[week]; path != "" {
			records = append(records, record(path, week))
		}
		sortRecords(records)
		at := time.Date(2025, 1, 6+7*week, 3, 0, 0, 0, time.UTC)
		if err := b.Add(at, "", records); err != nil {
			t.Fatal(err)
		}
	}
	b.Linked(by)
	b.First(index)
	return b.History()
}

// After eight weekly runs of a job as it comes, at most half of a small site is requested in a usual week,
// and what happens elsewhere is found no later than the next audit, by which nothing goes unobserved for a
// month.
func TestSmallSite(t *testing.T) {
	for _, edits := range []map[int]string{nil, {12: "c/c2.html"}, {14: "f/f3.html", 22: "d/d1.html"}} {
		late := 0
		o := Options{
			Train:   3,
			MaxSkip: 14,
			MaxAge:  30 * 24 * time.Hour,
			After: func(w *World) {
				m := w.Measure()
				if late++; m.Stale == 0 {
					late = 0
				}
				if late > 4 || m.Stale > 1 {
					t.Errorf("version %d: %d pages wrong, for %d weeks", w.Now(), m.Stale, late)
				}
			},
		}
		r, err := Run(smallSite(t, 32, edits), o)
		if err != nil {
			t.Fatal(err)
		}
		asked, most := 0, 0
		for _, s := range r.Steps[8-o.Train:] {
			asked += s.Requests
			if edits == nil {
				most = max(most, s.Requests)
			}
		}
		n := len(r.Steps) - (8 - o.Train)
		t.Logf("%d edits elsewhere: %.1f of 34 requested in the mean week, in a usual one %d at most", len(edits),
			float64(asked)/float64(n), most)
		if most > 17 || 2*asked > n*34 {
			t.Error("more than half is requested")
		}
	}
}

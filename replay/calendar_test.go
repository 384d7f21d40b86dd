// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"testing"
	"time"
)

// release is the number of the last release on a day.
func release(day, every int) int { return day / every }

// released is a site of 10 directories with 20 pages each and an index. All of it is made again by each
// release, and between two nothing changes. It is looked at on some days; a release may fall between any two.
func released(t *testing.T, days []int, every int) *History {
	t.Helper()
	var b Builder
	for n, day := range days {
		made := release(day, every)
		var records []Record
		if n == 0 || made != release(days[n-1], every) {
			records = append(records, Record{Path: "index.html", Blob: fmt.Sprint(made), Size: 100})
			for p := range 200 {
				path := fmt.Sprintf("d%d/p%03d.html", p/20, p)
				records = append(records, Record{Path: path, Blob: fmt.Sprint(made), Size: 100})
			}
		}
		sortRecords(records)
		if err := b.Add(time.Date(2025, 1, 1+day, 3, 0, 0, 0, time.UTC), "", records); err != nil {
			t.Fatal(err)
		}
	}
	return b.History()
}

// A calendar of releases, a month without and then all, is met for any days on which the site is looked at:
// a release is found as a whole by the next run, and a quiet run takes a few requests once one release was
// seen.
func TestReleaseCalendar(t *testing.T) {
	weekly, uneven := make([]int, 60), make([]int, 60)
	for i := range weekly {
		weekly[i] = 7 * i
		if i > 0 { // a day to three weeks later
			uneven[i] = uneven[i-1] + []int{7, 1, 21, 2, 7, 3, 14}[i%7]
		}
	}
	for _, c := range []struct {
		name  string
		days  []int
		every int // days from release to release
	}{
		{"weekly, each month", weekly, 28},
		{"weekly, each quarter", weekly, 91},
		{"at uneven intervals, each month", uneven, 28},
		{"at uneven intervals, each quarter", uneven, 91},
	} {
		h := released(t, c.days, c.every)
		r, err := Run(h, Options{Train: 20})
		if err != nil {
			t.Fatal(err)
		}
		quiet, runs, young, most := 0, 0, 0, 0
		for _, s := range r.Steps {
			switch known := release(c.days[s.Version], c.every); {
			case s.Changes > 0:
			case known < 3:
				young = max(young, s.Requests)
			default:
				quiet, runs, most = quiet+s.Requests, runs+1, max(most, s.Requests)
			}
		}
		mean := float64(quiet) / float64(runs)
		t.Logf("%s: %.1f of 212 in a quiet run, at most %d, before the third release %d; CR %.3f, stale %f",
			c.name, mean, most, young, *r.Total.CR, r.Total.Stale)
		if runs < 10 || most > 21 || young > 21 || *r.Total.CR < 0.99 || r.Total.Stale > 0.001 {
			t.Errorf("%s: that is too much, or too late", c.name)
		}
	}
}

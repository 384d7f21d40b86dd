// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"testing"
	"time"
)

// Pages with a directory for each are planned like the same pages in one directory, on a site of nothing else
// and on one where most directories are of another sort: a probe stands for all of them.
func TestDirectoriesOfOnePage(t *testing.T) {
	asked := func(name string, others int) float64 {
		var b Builder
		for w := range 40 {
			rs := []Record{{Path: "index.html", Blob: fmt.Sprint(w), Size: 100}}
			for o := range others {
				for p := range 2 {
					if w == 0 {
						rs = append(rs, Record{Path: fmt.Sprintf("docs/%03d/%d.html", o, p), Blob: "0", Size: 100})
					}
				}
			}
			for p := range 200 {
				if w == 0 || w == 15 { // all are made again once
					rs = append(rs, Record{Path: fmt.Sprintf(name, p), Blob: fmt.Sprint(w), Size: 100})
				}
			}
			sortRecords(rs)
			if err := b.Add(time.Date(2026, 1, 5+7*w, 6, 0, 0, 0, time.UTC), "", rs); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Run(b.History(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		pages := 0
		for _, s := range r.Steps {
			pages += s.Requests
		}
		return float64(pages) / float64(len(r.Steps))
	}
	for _, others := range []int{0, 250} {
		flat, deep := asked("posts/p%03d.html", others), asked("posts/p%03d/index.html", others)
		t.Logf("%d other directories: %.1f requests a week in one, %.1f in 200", others, flat, deep)
		if deep > 3*flat+10 {
			t.Errorf("%d other directories: %.1f requests a week in one, %.1f in 200", others, flat, deep)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"testing"
	"time"
)

// A site with a directory for each page is planned like one with the same pages in one directory: a probe
// stands for all of them.
func TestDirectoriesOfOnePage(t *testing.T) {
	asked := func(name string) float64 {
		var b Builder
		for w := range 40 {
			rs := []Record{{Path: "index.html", Blob: fmt.Sprint(w), Size: 100}}
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
	flat, deep := asked("posts/p%03d.html"), asked("posts/p%03d/index.html")
	t.Logf("%.1f requests a week in one directory, %.1f in 200", flat, deep)
	if deep > 3*flat+10 {
		t.Errorf("%.1f requests a week in one directory, %.1f in 200", flat, deep)
	}
}

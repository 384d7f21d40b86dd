// SPDX-License-Identifier: Apache-2.0

package living

import (
	"os"
	"strings"
	"testing"
	"time"

	"mirrord/testing/mirrortest"
)

// So many weekly runs are made under the default policy, with an edit a week, of which this share is found in
// its run.
const (
	weeks      = 12
	quietWeeks = 3    // after them, of which the mean counts: style sheets and images take turns
	mostQuiet  = 0.25 // requests of a quiet week, as a share of those of the first run
	foundShare = 0.95
)

// TestWeeks mirrors each program once a week under the default policy, with the clock moved.
func TestWeeks(t *testing.T) {
	t.Parallel()
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("part of the long run")
	}
	for _, x := range programs() {
		t.Run(x.name, func(t *testing.T) {
			p := newPlace(t)
			p.moves()
			x.begin(p)
			p.take()
			m := mirrortest.New(t, nil, "url = \""+p.url+x.start+"\"\nschedule = \"@weekly\"\npolicy = \"adaptive\"\n"+
				x.job+"\n[polite]\nallow_private = true\n[adaptive]\nlearn_for = \"\"\n")
			m.Rests = true
			later := time.Duration(0)
			m.Now = func() time.Time { return time.Now().Add(later) }
			var seen []answer
			week := func() (requests int) {
				m.Run()
				later += 7 * 24 * time.Hour
				p.later(later)
				seen = p.take()
				return len(seen)
			}
			all, found, row := week(), 0, []int{}
			for n := 1; n <= weeks; n++ {
				x.edit(p, n)
				p.take()
				row = append(row, week())
				for _, text := range m.Tree() {
					if strings.Contains(text, marker(n)) {
						found++
						break
					}
				}
			}
			quiet := 0
			for range quietWeeks {
				quiet += week()
			}
			quiet /= quietWeeks
			t.Logf("%s: %d requests first, %v with an edit, %d quiet; %d of %d edits found", x.name, all, row, quiet,
				found, weeks)
			if float64(quiet) > mostQuiet*float64(all) {
				t.Errorf("a quiet week makes %d requests, of %d", quiet, all)
				for _, a := range seen {
					t.Log(a.status, a.uri)
				}
			}
			if float64(found) < foundShare*weeks {
				t.Errorf("%d of %d edits were found in their run", found, weeks)
			}
		})
	}
}

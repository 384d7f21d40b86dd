// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"slices"
	"testing"

	"mirrord/evolution"
	"mirrord/near"
)

// BenchmarkMineRecorded mines 80 versions of the largest recorded site at each of the settings: the pass over
// the history and the mining.
func BenchmarkMineRecorded(b *testing.B) {
	h := sharedHistory(b, "openlayers")
	if h == nil {
		b.Fatal("the recorded history is missing")
	}
	e, err := h.Evolution(80)
	if err != nil {
		b.Fatal(err)
	}
	for name, o := range map[string]near.Options{
		"strict": near.Strict(),
		"third":  near.Third(),
		"best":   near.Best(),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var rules *near.RuleSet
			for b.Loop() {
				if rules, err = near.Mine(e, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(slices.Collect(rules.All()))), "rules")
			b.ReportMetric(float64(e.Dirs().Len()), "dirs")
		})
	}
}

// BenchmarkHistorySize says what the history of change of each recorded site takes on disk: for each changed
// page, and the rest for each directory.
func BenchmarkHistorySize(b *testing.B) {
	for _, site := range sharedSites() {
		b.Run(site, func(b *testing.B) {
			h := sharedHistory(b, site)
			if h == nil {
				b.Fatal("the recorded history is missing")
			}
			var base, all, changes, dirs, named int
			for b.Loop() {
				size := func(n int) (int, *evolution.History) {
					e, err := h.Evolution(n)
					if err != nil {
						b.Fatal(err)
					}
					bytes, err := e.MarshalBinary()
					if err != nil {
						b.Fatal(err)
					}
					return len(bytes), e
				}
				var first, last *evolution.History
				base, first = size(1)
				all, last = size(len(h.Versions))
				dirs, named, changes = last.Dirs().Len()-first.Dirs().Len(), 0, 0
				for d := first.Dirs().Len(); d < last.Dirs().Len(); d++ {
					named += len(last.Dirs().Name(evolution.Dir(d)))
				}
				for _, v := range h.Versions[1:] {
					changes += len(v.Changes)
				}
				base /= first.Dirs().Len()
				all -= base * first.Dirs().Len()
			}
			// new directories and their names in it
			b.ReportMetric(float64(all)/float64(changes), "B/change")
			b.ReportMetric(float64(all-named-6*dirs)/float64(changes), "B/change-alone") // without them
			b.ReportMetric(float64(base), "B/dir")                                       // of the base, names in it
		})
	}
}

// Asking in turn takes time in proportion to the directories, though nearly all of a site is directories:
// names that are hashes.
func BenchmarkInTurn(b *testing.B) {
	h := made(b, 3, func(v int) map[string]string {
		m := map[string]string{}
		for i := range 20_000 {
			m[fmt.Sprintf("%08x/index.html", uint32(i)*2654435761)] = fmt.Sprint(i%10 == v)
		}
		return m
	})
	for b.Loop() {
		if _, err := Run(h, Options{Policy: RoundRobin, Train: 1, Budget: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

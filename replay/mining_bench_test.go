// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"slices"
	"testing"

	"mirrord/near"
	"mirrord/testing/lab/thresholds"
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
		"strict": thresholds.Strict(),
		"third":  near.Third(),
		"best":   thresholds.Best(),
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

// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"fmt"
	"testing"
)

// BenchmarkHistoryStep adds a step with 1000 changed files to the history of a site of 100 000 files, by
// numbers as a store has them.
func BenchmarkHistoryStep(b *testing.B) {
	var h History
	base := h.Record(0)
	for i := range 1000 {
		base.Insert(base.Dir(fmt.Sprintf("section-%02d/topic-%02d/part-%d", i/100, i/10%10, i%10)), 100)
	}
	if err := base.Commit(); err != nil {
		b.Fatal(err)
	}
	var parts []Dir
	for d := range h.Dirs().Len() {
		if h.Dirs().Depth(Dir(d)) == 3 {
			parts = append(parts, Dir(d))
		}
	}
	for b.Loop() {
		r := h.Record(1)
		for i := range 1000 {
			r.Update(parts[i*7919%len(parts)], 1)
		}
		if err := r.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

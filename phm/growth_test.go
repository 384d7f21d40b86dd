// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"fmt"
	"io"
	"testing"

	"mirrord/testing/growth"
)

// TestDeltaGrowthInBulk holds that a delta of twice the files is at most 2.3 times the work: one of which
// all files changed, and an update that has everything.
func TestDeltaGrowthInBulk(t *testing.T) {
	tree := func(number, n int) map[string]string {
		bodies := map[string]string{"index.html": "home"}
		for i := range n {
			bodies[fmt.Sprintf("d%d/f%d.html", i%10, i)] = fmt.Sprint(number, i)
		}
		return bodies
	}
	delta := func(n int) func() {
		base, target := versionOf(t, 1, tree(1, n)), versionOf(t, 2, tree(2, n))
		return func() {
			if _, err := PackDelta(io.Discard, base, target); err != nil {
				t.Fatal(err)
			}
		}
	}
	growth.Check(t, "delta", delta(1000), delta(2000))
	charset := func(string) string { return "" }
	update := func(n int) func() {
		target := versionOf(t, 1, tree(1, n))
		return func() {
			if _, err := PackUpdate(io.Discard, nil, target, UpdateOptions{Charset: charset}); err != nil {
				t.Fatal(err)
			}
		}
	}
	growth.Check(t, "update", update(1000), update(2000))
}

// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 50}, {10 << 20, 50}, {40 << 20, 50}, {80 << 20, 25}, {200 << 20, 10}, {10 << 30, least}} {
		if got := percentFor(c.live, 50, 20<<20); got != c.want {
			t.Errorf("%d MB: %d %%, want %d", c.live>>20, got, c.want)
		}
	}
}

// A large heap may grow by a few percent, and the percentage from before comes back.
func TestBound(t *testing.T) {
	before := debug.SetGCPercent(70)
	defer debug.SetGCPercent(before)
	stop := Bound(60, 1<<20)
	ballast := make([]byte, 32<<20)
	runtime.GC()
	b := bound{percent: 60, most: 1 << 20}
	b.adjust()
	runtime.KeepAlive(ballast)
	if got := debug.SetGCPercent(60); got > 5 {
		t.Errorf("%d %% of 32 MB", got)
	}
	stop()
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("%d %% afterwards", got)
	}
}

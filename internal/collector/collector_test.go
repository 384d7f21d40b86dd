// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPercentFor(t *testing.T) {
	r := Slack{Percent: 50, Most: 20 << 20}
	for _, c := range []struct {
		live   uint64
		always uint64
		want   int
	}{
		{0, 0, 50},
		{10 << 20, 0, 50},
		{40 << 20, 0, 50},
		{80 << 20, 0, 25},
		{200 << 20, 0, 10},
		{10 << 30, 0, least},
		{0, 24 << 20, highest},
		{1 << 20, 24 << 20, highest},
		{8 << 20, 24 << 20, 200},
		{9 << 20, 24 << 20, 160},
		{16 << 20, 24 << 20, 50},
		{23 << 20, 24 << 20, 50},
		{24 << 20, 24 << 20, 50},
		{200 << 20, 24 << 20, 10},
	} {
		if r.Always = c.always; r.percentFor(c.live) != c.want {
			t.Errorf("%d MB of which %d are always allowed: %d %%, want %d", c.live>>20, c.always>>20,
				r.percentFor(c.live), c.want)
		}
	}
}

// A large heap may grow by a few percent, and the percentage from before comes back.
func TestBound(t *testing.T) {
	before := debug.SetGCPercent(70)
	defer debug.SetGCPercent(before)
	limit := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(limit)
	r := Slack{Percent: 60, Most: 1 << 20}
	stop := Bound(r)
	ballast := make([]byte, 32<<20)
	runtime.GC()
	b := bound{slack: r, limits: true}
	b.adjust()
	runtime.KeepAlive(ballast)
	if got := debug.SetMemoryLimit(-1); got < 32<<20 || got > 64<<20 {
		t.Errorf("a limit of %d MB", got>>20)
	}
	if got := debug.SetGCPercent(60); got > 5 {
		t.Errorf("%d %% of 32 MB", got)
	}
	stop()
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("%d %% afterwards", got)
	}
	if got := debug.SetMemoryLimit(1 << 40); got != math.MaxInt64 {
		t.Errorf("a limit of %d afterwards", got)
	}
	defer Bound(r)()
	runtime.GC()
	b.limits = false
	b.adjust()
	if got := debug.SetMemoryLimit(-1); got != 1<<40 {
		t.Errorf("the limit of the environment became %d", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package near

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"mirrord/evolution"
)

// largeHistory is that of a site of 20 pages in each of many directories, 6 deep: in each of 100 steps one
// directory in 200 changes, and a tenth of the site is where nine tenths of that happens.
func largeHistory(b *testing.B, dirs int) *evolution.History {
	b.Helper()
	h := &evolution.History{}
	r := h.Record(0)
	var leaves []evolution.Dir
	for i := range dirs {
		d := r.Dir(fmt.Sprintf("part%d/of%d/the%d/big%d/site%d/n%d", i/100_000, i/10_000%10, i/1000%10, i/100%10,
			i/10%10, i%10))
		r.Insert(d, 20)
		leaves = append(leaves, d)
	}
	if err := r.Commit(); err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 1))
	for step := range 100 {
		r := h.Record(int64(step + 1))
		for range dirs / 200 {
			at := rng.IntN(dirs)
			if rng.IntN(10) > 0 {
				at /= 10
			}
			r.Update(leaves[at], 1)
		}
		if err := r.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	return h
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkLargeSite mines 100 steps of a site of 10 million pages in 500 000 directories and those above
// them, and finds the skips. Memory is stated for each directory: what the history
// takes, and what rules and skips add.
func BenchmarkLargeSite(b *testing.B) {
	var h *evolution.History
	var rules *RuleSet
	var skips *Skips
	before := heap()
	perDir := func(b *testing.B) {
		now := heap()
		b.ReportMetric(float64(now-before)/float64(h.Dirs().Len()), "B/dir")
		before = now
	}
	b.Run("record", func(b *testing.B) {
		for b.Loop() {
			h = largeHistory(b, 500_000)
		}
		b.ReportMetric(float64(h.Dirs().Len()), "dirs")
		b.ReportMetric(float64(h.Files(evolution.Root)), "pages")
		perDir(b)
	})
	b.Run("mine", func(b *testing.B) {
		for b.Loop() {
			var err error
			if rules, err = Mine(h, Best()); err != nil {
				b.Fatal(err)
			}
			skips = rules.Skips()
		}
		b.ReportMetric(float64(rules.Len()), "rules")
		perDir(b)
		if _, skipped := skips.below("part0/of0"); skipped {
			b.Error("the part where nearly everything happens is skipped")
		}
	})
	for _, v := range []any{h, rules, skips} {
		runtime.KeepAlive(v)
	}
}

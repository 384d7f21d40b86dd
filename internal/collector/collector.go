// SPDX-License-Identifier: Apache-2.0

// Package collector bounds the memory that the garbage collector leaves unused.
package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Bound makes the collector run when the heap has grown by so many percent, and by no more than most bytes.
// The tables of a large site are hundreds of megabytes without pointers, which the collector does not read: a
// share of them would be left unused for nothing. The function that it returns ends that and sets the
// percentage from before.
func Bound(percent int, most uint64) (stop func()) {
	b := &bound{percent: percent, most: most}
	before := debug.SetGCPercent(percent)
	b.now.Store(int64(percent))
	b.watch(new(cycle))
	return func() {
		b.stopped.Store(true)
		debug.SetGCPercent(before)
	}
}

type bound struct {
	percent int
	most    uint64
	now     atomic.Int64 // the percentage that is set
	stopped atomic.Bool
}

// cycle is what nobody refers to, so that each cycle of the collector finalizes it.
type cycle struct{ _ *cycle }

func (b *bound) watch(c *cycle) {
	runtime.SetFinalizer(c, func(c *cycle) {
		if !b.stopped.Load() {
			b.adjust()
			b.watch(c)
		}
	})
}

// adjust sets the percentage for the heap as the last cycle left it.
func (b *bound) adjust() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	p := int64(percentFor(live[0].Value.Uint64(), b.percent, b.most))
	if b.now.Swap(p) != p { // it stops the world
		debug.SetGCPercent(int(p))
	}
}

// least is the lowest percentage that is set.
const least = 4

// percentFor returns the percentage for a heap of so many bytes.
func percentFor(live uint64, percent int, most uint64) int {
	return int(min(uint64(percent), max(least, most*100/max(live, 1))))
}

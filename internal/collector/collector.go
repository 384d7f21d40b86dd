// SPDX-License-Identifier: Apache-2.0

// Package collector decides how much memory the garbage collector leaves unused.
package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Slack says how far the heap grows before the collector runs.
type Slack struct {
	// of what lives, in percent
	Percent int
	// bytes beside what lives, however much that is: the tables of a large site are hundreds of megabytes
	// without pointers, which the collector does not read, and a share of them would be left unused for nothing
	Most uint64
	// bytes of a heap that is always allowed: where little lives, a share of it is soon used up, and the
	// collector would run all the time to save a few megabytes
	Always uint64
}

// Bound makes the collector leave the heap a slack. The function that it returns ends that and sets the
// percentage from before.
func Bound(r Slack) (stop func()) {
	b := &bound{slack: r}
	first := r.percentFor(0)
	before := debug.SetGCPercent(first)
	b.now.Store(int64(first))
	b.watch(new(cycle))
	return func() {
		b.stopped.Store(true)
		debug.SetGCPercent(before)
	}
}

type bound struct {
	slack   Slack
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
	p := int64(b.slack.percentFor(live[0].Value.Uint64()))
	if b.now.Swap(p) != p { // it stops the world
		debug.SetGCPercent(int(p))
	}
}

// The lowest and the highest percentage that are set. Above Slack.Percent there are steps, so that it is not
// set after each cycle.
const (
	least   = 4
	highest = 400
	step    = 20
)

// percentFor returns the percentage for a heap of which so many bytes live.
func (r *Slack) percentFor(live uint64) int {
	p := min(uint64(r.Percent), max(least, r.Most*100/max(live, 1)))
	if live < r.Always {
		p = max(p, min(highest, (r.Always-live)*100/max(live, 1))/step*step)
	}
	return int(p)
}

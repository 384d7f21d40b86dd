// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// sortRun is how many keys Sorted holds at a time, and mostSorters how many runs it sorts at a time.
const (
	sortRun     = 1 << 15
	mostSorters = 4
)

// Sorted returns numbers in the order of their keys, which are made as they are needed: the table has URLs
// and paths in a form that is slow to read, and all of them are more than should be in memory. It sorts runs
// of some thousand numbers, several at a time, and merges them. ids is used up.
func Sorted[K any](ids []uint32, key func(id uint32) K, compare func(a, b K) int) []uint32 {
	type keyed struct {
		key K
		id  uint32
	}
	type run struct {
		head keyed
		rest []uint32
	}
	sorters := min(runtime.GOMAXPROCS(0), mostSorters)
	parts := slices.Collect(slices.Chunk(ids, sortRun/sorters))
	runs := make([]run, len(parts)) // a heap
	var begun atomic.Int64
	var wg sync.WaitGroup
	for range min(sorters, len(parts)) {
		wg.Go(func() {
			keys := make([]keyed, 0, len(parts[0]))
			for n := begun.Add(1) - 1; n < int64(len(parts)); n = begun.Add(1) - 1 {
				keys = keys[:0]
				for _, id := range parts[n] {
					keys = append(keys, keyed{key(id), id})
				}
				slices.SortFunc(keys, func(a, b keyed) int { return compare(a.key, b.key) })
				for i := range keys {
					parts[n][i] = keys[i].id
				}
				runs[n] = run{keys[0], parts[n][1:]}
			}
		})
	}
	wg.Wait()
	if len(runs) < 2 {
		return ids
	}
	down := func(i int) {
		for {
			c := 2*i + 1
			if c+1 < len(runs) && compare(runs[c+1].head.key, runs[c].head.key) < 0 {
				c++
			}
			if c >= len(runs) || compare(runs[i].head.key, runs[c].head.key) <= 0 {
				return
			}
			runs[i], runs[c] = runs[c], runs[i]
			i = c
		}
	}
	for i := len(runs)/2 - 1; i >= 0; i-- {
		down(i)
	}
	out := make([]uint32, 0, len(ids))
	for len(runs) > 0 {
		r := &runs[0]
		out = append(out, r.head.id)
		if len(r.rest) > 0 {
			r.head, r.rest = keyed{key(r.rest[0]), r.rest[0]}, r.rest[1:]
		} else {
			runs[0] = runs[len(runs)-1]
			runs = runs[:len(runs)-1]
		}
		down(0)
	}
	return out
}

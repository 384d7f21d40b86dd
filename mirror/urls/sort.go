// SPDX-License-Identifier: Apache-2.0

package urls

import "slices"

// sortRun is how many keys Sorted holds at a time.
const sortRun = 1 << 15

// Sorted returns numbers in the order of their keys, which are made as they are needed: the table has URLs
// and paths in a form that is slow to read, and all of them are more than should be in memory. It sorts runs
// of some thousand numbers and merges them. ids is used up.
func Sorted[K any](ids []uint32, key func(id uint32) K, compare func(a, b K) int) []uint32 {
	type keyed struct {
		key K
		id  uint32
	}
	type run struct {
		head keyed
		rest []uint32
	}
	byKey := func(a, b keyed) int { return compare(a.key, b.key) }
	byHead := func(a, b run) int { return byKey(a.head, b.head) }
	var runs []run
	var keys []keyed
	for part := range slices.Chunk(ids, sortRun) {
		keys = keys[:0]
		for _, id := range part {
			keys = append(keys, keyed{key(id), id})
		}
		slices.SortFunc(keys, byKey)
		for i := range keys {
			part[i] = keys[i].id
		}
		runs = append(runs, run{keys[0], part[1:]})
	}
	if len(runs) < 2 {
		return ids
	}
	slices.SortFunc(runs, byHead)
	out := make([]uint32, 0, len(ids))
	for len(runs) > 0 {
		r := runs[0]
		out = append(out, r.head.id)
		if len(r.rest) == 0 {
			runs = runs[1:]
			continue
		}
		r.head, r.rest = keyed{key(r.rest[0]), r.rest[0]}, r.rest[1:]
		at, _ := slices.BinarySearchFunc(runs[1:], r, byHead)
		copy(runs, runs[1:at+1])
		runs[at] = r
	}
	return out
}

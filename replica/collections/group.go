// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"encoding/binary"
	"slices"

	"mirrord/replica/unionfind"
)

// GroupOptions say which pages resemble one another.
type GroupOptions struct {
	Resemblance     float64 // estimated, at least; 0 means 0.4: votes for directories are verified one by one
	Representatives int     // pages of a bucket that every other page of it is compared with, at most; 0 means 8
}

func (o GroupOptions) withDefaults() GroupOptions {
	if o.Resemblance <= 0 {
		o.Resemblance = 0.4
	}
	if o.Representatives <= 0 {
		o.Representatives = 8
	}
	return o
}

// Grouped is which pages resemble one another.
type Grouped struct {
	Sets       *unionfind.Sets
	Pages      int // with words; others are in no group
	Exact      int // joined because their words are the same
	Candidates int // pairs compared
	Near       int // of which joined two groups
}

// eachBucket calls f with each run of at least one entry that have their upper halves in common.
func eachBucket(sorted []uint64, f func([]uint64)) {
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to]>>32 == sorted[from]>>32 {
			to++
		}
		f(sorted[from:to])
		from = to
	}
}

// Stars returns the candidate pairs of sketches of any kind: in every band of rows entries, the first of
// those that agree in it with each of the others. Each pair comes once, in ascending order.
func Stars(sketches [][]uint64, rows int) [][2]int {
	var out [][2]int
	first := map[string]int{}
	for i, sketch := range sketches {
		for band := 0; band+rows <= len(sketch); band += rows {
			key := binary.LittleEndian.AppendUint64(nil, uint64(band))
			for _, x := range sketch[band : band+rows] {
				key = binary.LittleEndian.AppendUint64(key, x)
			}
			if j, ok := first[string(key)]; ok {
				out = append(out, [2]int{j, i})
			} else {
				first[string(key)] = i
			}
		}
	}
	slices.SortFunc(out, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(out)
}

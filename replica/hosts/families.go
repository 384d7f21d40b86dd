// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"iter"
	"math/bits"
	"slices"
)

// maxBitmap is how many words a bitmap may have to be faster than merging lists.
const maxBitmap = 512

// bitmaps writes the sample of each member as a set of places in the list of what at least two of them have;
// nil when that is too long to gain by it.
func bitmaps(samples [][]uint64, members []uint32) [][]uint64 {
	if len(members) < 8 {
		return nil
	}
	var all []uint64
	for _, m := range members {
		all = append(all, samples[m]...)
	}
	slices.Sort(all)
	n := 0
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to] == all[from] {
			to++
		}
		if to-from >= 2 {
			all[n] = all[from]
			n++
		}
		from = to
	}
	if all = all[:n]; n > 64*maxBitmap {
		return nil
	}
	out := make([][]uint64, len(members))
	for i, m := range members {
		at := 0
		for _, x := range samples[m] {
			for at < n && all[at] < x {
				at++
			}
			if at == n || all[at] != x {
				continue
			}
			for at>>6 >= len(out[i]) {
				out[i] = append(out[i], 0)
			}
			out[i][at>>6] |= 1 << (at & 63)
		}
	}
	return out
}

func commonBits(a, b []uint64) int {
	n := 0
	b = b[:min(len(a), len(b))]
	for i, x := range b {
		n += bits.OnesCount64(x & a[i])
	}
	return n
}

// areSparse says whether it is less work to go through what each two sets have in common than to compare
// every two words of them.
func areSparse(sets [][]uint64) bool {
	on := make([]uint32, placesOf(sets)) // sets that have a place
	common, words := 0.0, 0.0
	for i, set := range sets {
		words += float64(i * len(set))
		for at := range inSet(set) {
			common += float64(on[at])
			on[at]++
		}
	}
	return common < words
}

// eachCommon calls f with every two sets, the lesser number first, that have any place in common, and with
// how many.
func eachCommon(sets [][]uint64, f func(i, j, common int)) {
	on := make([][]uint32, placesOf(sets)) // the sets before that have a place
	count, met := make([]uint16, len(sets)), []uint32(nil)
	for j, set := range sets {
		met = met[:0]
		for at := range inSet(set) {
			for _, i := range on[at] {
				if count[i] == 0 {
					met = append(met, i)
				}
				count[i]++
			}
			on[at] = append(on[at], uint32(j))
		}
		for _, i := range met {
			f(int(i), j, int(count[i]))
			count[i] = 0
		}
	}
}

// placesOf is how many places the sets may have.
func placesOf(sets [][]uint64) int {
	n := 0
	for _, set := range sets {
		n = max(n, 64*len(set))
	}
	return n
}

// inSet yields the places of a set.
func inSet(set []uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at, x := range set {
			for ; x != 0; x &= x - 1 {
				if !yield(at<<6 | bits.TrailingZeros64(x)) {
					return
				}
			}
		}
	}
}

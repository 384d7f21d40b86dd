// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"mirrord/replica/hash"
)

// Permutations is the reference sketch: for each i < n the smallest (a_i*x + b_i) mod 2^61-1 over the set,
// with the constants drawn by H. The share of equal entries estimates the resemblance. An empty set has none.
func Permutations(set hash.Set, n int) []uint64 {
	if len(set) == 0 {
		return nil
	}
	out := make([]uint64, n)
	for i := range out {
		a := hash.H("a"+strconv.Itoa(i))%(mersenne-1) + 1
		b := hash.H("b"+strconv.Itoa(i)) % mersenne
		least := uint64(math.MaxUint64)
		for _, x := range set {
			v := mulMod(a, x%mersenne) + b
			if v >= mersenne {
				v -= mersenne
			}
			least = min(least, v)
		}
		out[i] = least
	}
	return out
}

// OnePermutation is the densified one-permutation sketch of k bins (k a power of two): of each bin, which is
// the top bits of a hash, the least hash; an empty bin takes that of bin H("densify i j") mod k for the first
// j = 1, 2, … that is full. An empty set has none.
func OnePermutation(set hash.Set, k int) []uint64 {
	if len(set) == 0 {
		return nil
	}
	shift := 64
	for 1<<(64-shift) < k {
		shift--
	}
	bins, full := make([]uint64, k), make([]bool, k)
	for _, x := range set {
		i := x >> shift
		if !full[i] || x < bins[i] {
			bins[i], full[i] = x, true
		}
	}
	for i := range bins {
		for j := 1; !full[i]; j++ {
			if donor := hash.H("densify "+strconv.Itoa(i)+" "+strconv.Itoa(j)) % uint64(k); full[donor] {
				bins[i] = bins[donor]
				break
			}
		}
	}
	return bins
}

// mulMod is a*b modulo 2^61-1, for a and b below it.
func mulMod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	r := lo&mersenne + (lo>>61 | hi<<3)
	if r >= mersenne {
		r -= mersenne
	}
	return r
}

// mersenne is the prime 2^61-1.
const mersenne = 1<<61 - 1

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

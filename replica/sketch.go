package replica

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Permutations is the reference sketch: for each i < n the smallest (a_i*x + b_i) mod 2^61-1 over the set, with the constants drawn by H.
// The share of equal entries estimates the resemblance. An empty set has none.
func Permutations(set Set, n int) []uint64 {
	if len(set) == 0 {
		return nil
	}
	out := make([]uint64, n)
	for i := range out {
		a := H("a"+strconv.Itoa(i))%(mersenne-1) + 1
		b := H("b"+strconv.Itoa(i)) % mersenne
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

// OnePermutation is the densified one-permutation sketch of k bins (k a power of two): of each bin, which is the top bits of a hash, the
// least hash; an empty bin takes that of bin H("densify i j") mod k for the first j = 1, 2, … that is full. An empty set has none.
func OnePermutation(set Set, k int) []uint64 {
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
	d := densifier{k: k}
	for i := range bins {
		if !full[i] {
			bins[i] = bins[d.donor(i, func(j int) bool { return full[j] })]
		}
	}
	return bins
}

// Agreement is the share of equal entries of two sketches of the same kind.
func Agreement(a, b []uint64) float64 {
	if len(a) == 0 || len(b) == 0 {
		if len(a) == len(b) {
			return 1
		}
		return 0
	}
	equal := 0
	for i := range a {
		if a[i] == b[i] {
			equal++
		}
	}
	return float64(equal) / float64(len(a))
}

// densifier keeps the bins that each bin asks when it is empty, as far as they were needed.
type densifier struct {
	k     int
	known [][]uint16
}

// donor returns the first full bin of those that bin i asks.
func (d *densifier) donor(i int, full func(int) bool) int {
	if d.known == nil {
		d.known = make([][]uint16, d.k)
	}
	for j := 0; ; j++ {
		if j == len(d.known[i]) {
			d.known[i] = append(d.known[i], uint16(H("densify "+strconv.Itoa(i)+" "+strconv.Itoa(j+1))%uint64(d.k)))
		}
		if n := int(d.known[i][j]); full(n) {
			return n
		}
	}
}

// Bins is the number of bins of a Sketch.
const Bins = 128

// Sketch stands for the shingles of a page: one byte of the least hash of each of 128 bins. Of unrelated pages one byte in 256 is equal.
type Sketch [Bins]byte

// Resemblance estimates the resemblance of two pages from their sketches; the standard error is at most 0.045.
func (s *Sketch) Resemblance(t *Sketch) float64 { return estimate(s.equal(t)) }

// estimate takes off what is equal by chance (Li, König, b-bit minwise hashing, 2010).
func estimate(equal int) float64 {
	const chance = 1.0 / 256
	return max(0, (float64(equal)/Bins-chance)/(1-chance))
}

// equal counts the equal bytes, eight at a time.
func (s *Sketch) equal(t *Sketch) int {
	const low, high = 0x7f7f7f7f7f7f7f7f, 0x0101010101010101
	n := uint64(0)
	for i := 0; i < Bins; i += 8 {
		x := binary.LittleEndian.Uint64(s[i:]) ^ binary.LittleEndian.Uint64(t[i:])
		zero := ^((x&low + low) | x | low) >> 7 // a one at the foot of each byte that is zero in x
		n += zero & high
	}
	sum := uint64(0)
	for i := 0; i < 64; i += 8 {
		sum += n >> i & 0xff
	}
	return int(sum)
}

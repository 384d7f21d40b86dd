// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strconv"

	"mirrord/replica/hash"
)

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
			d.known[i] = append(d.known[i],
				uint16(hash.H("densify "+strconv.Itoa(i)+" "+strconv.Itoa(j+1))%uint64(d.k)))
		}
		if n := int(d.known[i][j]); full(n) {
			return n
		}
	}
}

// Bins is the number of bins of a Sketch.
const Bins = 128

// Sketch stands for the shingles of a page: one byte of the least hash of each of 128 bins. Of unrelated
// pages one byte in 256 is equal.
type Sketch [Bins]byte

// MarshalBinary implements encoding.BinaryMarshaler.
func (s Sketch) MarshalBinary() ([]byte, error) { return s[:], nil }

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (s *Sketch) UnmarshalBinary(b []byte) error {
	if copy(s[:], b); len(b) != Bins {
		return fmt.Errorf("a sketch of %d bytes", len(b))
	}
	return nil
}

// Resemblance estimates the resemblance of two pages from their sketches; the standard error is at most
// 0.045.
func (s *Sketch) Resemblance(t *Sketch) float64 { return estimate(s.Equal(t)) }

// estimate subtracts the bits that are equal by chance (Li, König, b-bit minwise hashing, 2010).
func estimate(equal int) float64 {
	const chance = 1.0 / 256
	return max(0, (float64(equal)/Bins-chance)/(1-chance))
}

// Equal counts the equal bytes.
func (s *Sketch) Equal(t *Sketch) (n int) {
	for i := range s {
		if s[i] == t[i] {
			n++
		}
	}
	return n
}

// The banding of a Sketch: pages that agree in all rows of some band are candidates. With 32 bands of 4 rows
// that is certain in effect at a resemblance of 0.8, and of 87 in 100 pairs at 0.5.
const (
	Bands    = 32
	BandRows = Bins / Bands
)

// LeastEqual is how many equal bytes of two sketches make a resemblance.
func LeastEqual(r float64) int {
	n := 0
	for n < Bins && estimate(n) < r {
		n++
	}
	return n
}

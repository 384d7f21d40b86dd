// SPDX-License-Identifier: Apache-2.0

package evolution

import "math"

// dice are draws that are the same for the same seed: splitmix64 (G. Steele, D. Lea and C. Flood, 2014).
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// share is between 0 and 1, 1 excluded.
func (d *dice) share() float64 { return float64(d.next()>>11) / (1 << 53) }

// normal draws from the normal distribution (G. Box and M. Muller, 1958).
func (d *dice) normal() float64 {
	return math.Sqrt(-2*math.Log(1-d.share())) * math.Cos(2*math.Pi*d.share())
}

// beta draws from a beta distribution.
func (d *dice) beta(a, b float64) float64 {
	x, y := d.gamma(a), d.gamma(b)
	return x / max(x+y, 1e-12)
}

// gamma draws from a gamma distribution (G. Marsaglia and W. Tsang, 2000).
func (d *dice) gamma(a float64) float64 {
	if a < 1 {
		return d.gamma(a+1) * math.Pow(1-d.share(), 1/a)
	}
	shift := a - 1.0/3
	c := 1 / math.Sqrt(9*shift)
	for {
		x := d.normal()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-d.share()) < x*x/2+shift-shift*v+shift*math.Log(v) {
			return shift * v
		}
	}
}

// shares fills a slice with draws of share.
func (d *dice) shares(to []float64) {
	for i := range to {
		to[i] = d.share()
	}
}

// pick picks a place by its weight: the one at a number between 0 and 1, when all weights sum up to 1.
func pick(weights []float64, at float64) int {
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return 0
}

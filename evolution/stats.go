// SPDX-License-Identifier: Apache-2.0

package evolution

import "math"

// Change is how a subtree differs between two versions, in nodes.
type Change struct {
	Inserted, Deleted int // files and directories, the subtree's own root among them
	Updated           int // files with other contents
	Old               int // nodes of the old subtree; 0 when it was not there
}

// Distance is D: how many nodes came, went or, unless structural, were updated.
func (c Change) Distance(structural bool) int {
	if structural {
		return c.Inserted + c.Deleted
	}
	return c.Inserted + c.Deleted + c.Updated
}

// Merged is |old + new|.
func (c Change) Merged() int { return c.Old + c.Inserted }

// DoC is the degree of change, between 0 and 1.
func (c Change) DoC(structural bool) float64 {
	return Frequency{c.Distance(structural), c.Merged()}.Value()
}

// Significant reports whether the subtree changed by at least alpha, and at all.
func (c Change) Significant(alpha float64, structural bool) bool {
	d := c.Distance(structural)
	return d > 0 && Frequency{d, c.Merged()}.Value() >= alpha
}

// Frequency is a share in integer counts: K of N. FoC is one.
type Frequency struct{ K, N int }

// Value is K/N, rounded once, so that 3 of 10 is at least 0.3; 0 of 0 is 0.
func (f Frequency) Value() float64 {
	if f.N == 0 {
		return 0
	}
	return float64(f.K) / float64(f.N)
}

// Table counts the transitions in which X and Y were observed, and those in which each, and both, changed
// significantly.
type Table struct{ N, X, Y, XY int }

// CoC is the correlation of the changes of X and Y: the phi coefficient, between -1 and 1. It is undefined
// when one of them changed in every transition or in none. It is never a negative zero.
func (t Table) CoC() (phi float64, defined bool) {
	if t.X == 0 || t.Y == 0 || t.X == t.N || t.Y == t.N {
		return 0, false
	}
	num := t.N*t.XY - t.X*t.Y
	if num == 0 {
		return 0, true
	}
	// Up to 8191 transitions the product is exact in a float64; beyond that it is rounded before the root is.
	den := float64(t.X) * float64(t.N-t.X) * float64(t.Y) * float64(t.N-t.Y)
	return float64(num) / math.Sqrt(den), true
}

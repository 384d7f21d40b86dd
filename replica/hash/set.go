// SPDX-License-Identifier: Apache-2.0

package hash

import "slices"

// Set is a set of 64-bit hashes, in ascending order.
type Set []uint64

// NewSet sorts hashes and drops duplicates.
func NewSet(hashes []uint64) Set {
	slices.Sort(hashes)
	return slices.Compact(hashes)
}

// Resemblance is the size of the intersection of two sets by that of their union, from 0 to 1: of two empty
// sets 1, of one empty set 0. Sets of equal shingles do not mean equal texts.
func Resemblance(a, b Set) float64 {
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	both := Common(a, b)
	return float64(both) / float64(len(a)+len(b)-both)
}

// Common counts what two sets have in common.
func Common(a, b Set) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			n, i, j = n+1, i+1, j+1
		}
	}
	return n
}

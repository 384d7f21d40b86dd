// SPDX-License-Identifier: Apache-2.0

package policy

// leastFold is how many directories of a subtree hold only their index before these count as pages of the
// ones above. Where they are fewer, each is known better by itself: on two recorded sites, with 13 to 34 in a
// subtree, the curve of prices is a little lower when they count so. A look at each costs more the more there
// are: for 60 twice as many requests, for 200 three times.
const leastFold = 64

// Folds says below which directories such pages count as pages of the ones above: where most directories of
// the site or of a large subtree hold only their index, as with an address for each page that ends with a
// slash. parent is by directory, parents first; live says that something is in it or below it, only that
// this is its index alone.
func Folds(parent []Dir, live, only []bool) []bool {
	folds, below, such := make([]bool, len(parent)), make([]int, len(parent)), make([]int, len(parent))
	for d := len(parent) - 1; d > 0; d-- {
		if up := parent[d]; live[d] {
			below[up], such[up] = below[up]+below[d]+1, such[up]+such[d]
			if only[d] {
				such[up]++
			}
		}
	}
	for d := range folds {
		mostly := 2*such[d] > below[d]
		folds[d] = mostly && such[d] >= leastFold
		if d == int(Root) {
			folds[d] = mostly
		} else if folds[parent[d]] {
			folds[d] = true
		}
	}
	return folds
}

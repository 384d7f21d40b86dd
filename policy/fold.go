// SPDX-License-Identifier: Apache-2.0

package policy

// leastFold is how many directories of a subtree hold only their index before these count as pages of the
// ones above. In fewer, a look at each finds a sweep through all of a site sooner, and costs little.
const leastFold = generated

// Folds says below which directories such pages count as pages of the ones above: where most directories of
// the subtree hold only their index, as with an address for each page that ends with a slash. parent is by
// directory, parents first; live says that something lies in it or below it, only that this is its index
// alone.
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
		folds[d] = such[d] >= leastFold && 2*such[d] > below[d]
		if d > 0 {
			folds[d] = folds[d] || folds[parent[d]]
		}
	}
	return folds
}

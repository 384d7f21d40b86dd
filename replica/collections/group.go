// SPDX-License-Identifier: Apache-2.0

package collections

import "mirrord/replica/unionfind"

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

// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"slices"
	"strings"
)

// Votes are the rules by which directories are found that hold the same pages. The zero value is the default.
// Pages of a group vote for the two directories that are left of their paths when the longest common end is
// stripped, so renamed directories are found as well as partial mirrors, without comparing directories. Where
// the directories as a whole share too little, their subdirectories are looked at. The groups may be wide, by
// a low resemblance: every vote is verified by the digests of its two pages.
type Votes struct {
	Pages  int     // similar pages that two directories must share; 0 means 10
	Share  float64 // of the pages of the smaller one; 0 means 0.5
	Window int     // pages of a group that each of them is paired with, at most; 0 means 32

	Resemblance float64 // of the pages, estimated, at least; 0 means 0.5
}

func (o Votes) withDefaults() Votes {
	if o.Pages <= 0 {
		o.Pages = 10
	}
	if o.Share <= 0 {
		o.Share = 0.5
	}
	if o.Window <= 0 {
		o.Window = 32
	}
	if o.Resemblance <= 0 {
		o.Resemblance = 0.5
	}
	return o
}

// DirPair says that two directories hold the same pages, their subdirectories included.
type DirPair struct {
	A, B     Address // the directories: their paths end in a slash
	Pages    int     // of the one with fewer such pages that resemble one of the other
	OfA, OfB int     // all their pages
	Places   int     // that both have, of a sample
	Same     int     // of these, where they have the same words
	Differ   int     // of these, where they say something else
}

// pairs are the pairs that were accepted and lie in no other, the largest first.
func (d *dirVotes) pairs() []DirPair {
	slices.SortFunc(d.out, func(x, y DirPair) int {
		return cmp.Or(x.A.compare(y.A), x.B.compare(y.B), cmp.Compare(y.Pages, x.Pages))
	})
	d.out = outermost(slices.CompactFunc(d.out, func(x, y DirPair) bool { return x.A == y.A && x.B == y.B }))
	sortPairs(d.out)
	return d.out
}

// sortPairs puts the largest pairs first.
func sortPairs(all []DirPair) {
	slices.SortFunc(all, func(x, y DirPair) int {
		return cmp.Or(cmp.Compare(y.Pages, x.Pages), x.A.compare(y.A), x.B.compare(y.B))
	})
}

// outermost leaves out the pairs of which each directory is below one of another pair, or is it.
func outermost(all []DirPair) []DirPair {
	known := make(map[uint64]struct{}, len(all))
	for _, p := range all {
		known[unordered(p.A.key(), p.B.key())] = struct{}{}
	}
	var above [2][]uint64 // the keys of the directories above a pair's, and of these
	return slices.DeleteFunc(all, func(p DirPair) bool {
		for i, dir := range [2]Address{p.A, p.B} {
			above[i] = above[i][:0]
			eachDir(dir.Host, dir.Path, func(key uint64) { above[i] = append(above[i], key) })
		}
		for i, a := range above[0] {
			for j, b := range above[1] {
				if _, ok := known[unordered(a, b)]; ok && (i < len(above[0])-1 || j < len(above[1])-1) {
					return true
				}
			}
		}
		return false
	})
}

// unordered is a key of two directories by theirs.
func unordered(x, y uint64) uint64 { return keyOf(min(x, y), max(x, y)) }

func (a Address) compare(b Address) int {
	return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Path, b.Path))
}

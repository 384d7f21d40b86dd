// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"mirrord/replica/text"
	"mirrord/replica/unionfind"
)

// grouped is what a Finder joins.
func grouped(t testing.TB, digests []text.ContentDigest, o GroupOptions) Grouped {
	t.Helper()
	f := NewFinder(&memorySpill{}, FinderOptions{FindOptions: FindOptions{Group: o}})
	for _, d := range digests {
		if err := f.Add(Address{"h.test", "/"}, d); err != nil {
			t.Fatal(err)
		}
	}
	g, err := f.group()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	return g
}

// plainPairs finds the directories that a Finder finds, with all votes in memory.
func plainPairs(pages []Address, digests []text.ContentDigest, groups *unionfind.Sets, o Votes) []DirPair {
	o = o.withDefaults()
	d := newDirVotes(o, 1<<30)
	d.at = func(page uint32) Address { return pages[page] }
	for _, a := range pages {
		d.totals.add(a)
	}
	d.totals.settle()
	var plain, flat []vote
	w := newPairing(o, &d.totals, func(isFlat bool, v vote) {
		if isFlat {
			flat = append(flat, v)
		} else {
			plain = append(plain, v)
		}
	})
	for _, members := range groups.All(2) {
		pairUp(&w, pages, digests, members)
	}
	eachKey(plain, o.Pages, func(votes []vote) { d.count(votes, rootsOf) })
	eachKey(flat, o.Pages, d.countFlat)
	return d.pairs()
}

// pairUp adds the votes of a group.
func pairUp(w *pairing, pages []Address, digests []text.ContentDigest, members []uint32) {
	slices.SortFunc(members, func(a, b uint32) int {
		if c := compareEnds(pages[a].Path, pages[b].Path); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(pages[a].Host, pages[b].Host), cmp.Compare(a, b))
	})
	w.begin()
	for _, p := range members {
		w.add(member{
			page:   p,
			at:     pages[p],
			text:   digests[p].Text,
			words:  digests[p].Words,
			sketch: &digests[p].Sketch,
		})
	}
}

// eachKey calls f with the votes of each key that are least or more.
func eachKey(votes []vote, least int, f func([]vote)) {
	slices.SortFunc(votes, vote.compare)
	for from := 0; from < len(votes); {
		to := from + 1
		for to < len(votes) && votes[to].key == votes[from].key {
			to++
		}
		if to-from >= least {
			f(votes[from:to])
		}
		from = to
	}
}

// compareEnds orders paths by their last bytes first, those that differ only in what commonEnds passes over
// together.
func compareEnds(a, b string) int {
	i, j := len(a)-extension(a), len(b)-extension(b)
	for i > 0 && j > 0 {
		i, j = i-1, j-1
		if c, d := small(a[i]), small(b[j]); c != d {
			return less(c < d)
		}
	}
	if i != j {
		return less(i < j)
	}
	for i, j = len(a), len(b); i > 0 && j > 0; {
		i, j = i-1, j-1
		if a[i] != b[j] {
			return less(a[i] < b[j])
		}
	}
	return cmp.Compare(i, j)
}

func sameEnds(a, b string) bool {
	n, _ := commonEnds(a, b)
	return n > 0
}

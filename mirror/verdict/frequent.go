// SPDX-License-Identifier: Apache-2.0

package verdict

import "cmp"

// mostCounted is how many groups frequent counts at once. A group that matters has half of all pages.
const mostCounted = 1024

// frequent counts the pages of groups in a memory that does not depend on how many groups there are: of more
// than mostCounted it forgets the smallest (Misra, Gries, Finding repeated elements, 1982). The zero value is
// empty.
type frequent struct {
	n map[groupKey]int
	// so many pages of any group may have gone uncounted: n is that much too small at most
	lost int
}

// add counts a page.
func (f *frequent) add(k groupKey) {
	if f.n == nil {
		f.n = map[groupKey]int{}
	}
	if _, known := f.n[k]; known || len(f.n) < mostCounted {
		f.n[k]++
		return
	}
	f.lost++
	for k, n := range f.n {
		if f.n[k] = n - 1; n == 1 {
			delete(f.n, k)
		}
	}
}

// recount returns an empty count of the groups that f has.
func (f *frequent) recount() frequent {
	again := frequent{n: make(map[groupKey]int, len(f.n))}
	for k := range f.n {
		again.n[k] = 0
	}
	return again
}

// addKnown counts a page of a group that is being counted.
func (f *frequent) addKnown(k groupKey) {
	if _, known := f.n[k]; known {
		f.n[k]++
	}
}

// largest returns the group with most pages, of equal ones the one with the smallest key.
func (f *frequent) largest() (best groupKey, n int) {
	for k, x := range f.n {
		more := cmp.Or(cmp.Compare(x, n), cmp.Compare(best.shape, k.shape), cmp.Compare(best.like, k.like))
		if more > 0 {
			best, n = k, x
		}
	}
	return best, n
}

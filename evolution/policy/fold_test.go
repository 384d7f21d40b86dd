// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

// Directories of only an index count as pages where most of the site are such, or most of a large subtree,
// regardless of the rest of the site.
func TestFolds(t *testing.T) {
	for _, c := range []struct {
		what              string
		such, others      int // below one directory
		dead              int // of the others, so many hold nothing now
		elsewhere         int // directories of more than an index
		subtree, wholeOne bool
	}{
		{"nearly all of the site", 12, 1, 0, 3, true, true},
		{"those of a subtree", 80, 79, 0, 90, true, false},
		{"half of a subtree", 80, 80, 0, 90, false, false},
		{"half, but for dead ones", 80, 80, 1, 90, true, false},
		{"too few", leastFold - 1, 0, 0, 80, false, false},
	} {
		parent, live, only := []Dir{Root, Root}, []bool{true, true}, []bool{false, false}
		add := func(up Dir, n int, isLive, isOnly bool) {
			for range n {
				parent, live, only = append(parent, up), append(live, isLive), append(only, isOnly)
			}
		}
		add(1, c.such, true, true)
		add(1, c.dead, false, false)
		add(1, c.others-c.dead, true, false)
		add(Root, c.elsewhere, true, false)
		got := Folds(parent, live, only)
		last := got[len(got)-1] // elsewhere, or in the subtree
		if got[Root] != c.wholeOne || got[1] != c.subtree || got[2] != c.subtree ||
			(c.elsewhere > 0 && last != c.wholeOne) {
			t.Errorf("%s: root %v, subtree %v and %v, elsewhere %v", c.what, got[Root], got[1], got[2], last)
		}
	}
}

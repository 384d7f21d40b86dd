// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"testing"
)

// What previews of real sites come to: the documentation of eight Debian packages, as their first requests
// show it.
func TestMoreFiles(t *testing.T) {
	held := 0
	sites := []struct {
		name               string
		total, known, left int64
		counts             []int64
	}{
		{"debian-policy", 61, 44, 25, []int64{34, 1, 3, 1, 1, 1, 1, 1}},
		{"perl-policy", 9, 9, 0, []int64{8, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"jsr330", 43, 43, 24, []int64{1, 12, 28, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"jsoup", 277, 156, 137, []int64{22, 125, 0, 2, 1, 0, 1, 1, 1, 1, 1}},
		{"git", 216, 198, 179, []int64{188, 0, 1, 2, 0, 0, 1, 3, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0}},
		{"gtk", 473, 364, 345, []int64{345, 0, 4, 3, 1, 0, 10}},
		{"postgresql", 1171, 261, 242, []int64{113, 1, 0, 0, 0, 0, 0, 0, 1, 20, 0, 0, 0, 125, 0, 0, 0}},
		{"python", 549, 69, 50, []int64{35, 1, 29, 3, 0}},
	}
	for _, s := range sites {
		most := s.known + moreFiles(s.counts, s.left)
		holds := s.known <= s.total && s.total <= most
		if holds {
			held++
		}
		t.Logf("%s: %d to %d, in truth %d: %v", s.name, s.known, most, s.total, holds)
	}
	if 10*held < 8*len(sites) {
		t.Errorf("the range holds for %d of %d sites", held, len(sites))
	}
	if moreFiles(nil, 9) != 0 || moreFiles([]int64{5}, 0) != 0 {
		t.Error("a page that was not read, or read as a whole, adds files")
	}
	if got := moreFiles([]int64{33}, 20); got != 300 {
		t.Errorf("a single page and 20 more lead to %d", got)
	}
}

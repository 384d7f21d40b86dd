// SPDX-License-Identifier: Apache-2.0

package unionfind

import (
	"slices"
	"testing"
)

func TestSetsAll(t *testing.T) {
	s := New(6)
	s.Union(4, 1)
	s.Union(5, 4)
	s.Union(3, 2)
	var got [][]uint32
	for root, members := range s.All(2) {
		if root != members[0] {
			t.Errorf("root %d of %v", root, members)
		}
		got = append(got, members)
	}
	if want := [][]uint32{{1, 4, 5}, {2, 3}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

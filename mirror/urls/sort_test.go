// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 1000, 2*sortRun + 7} {
		ids, keys := make([]uint32, n), make([]int, n)
		for i, id := range r.Perm(n) {
			ids[i], keys[i] = uint32(id), r.Int()
		}
		key := func(id uint32) int { return keys[id] }
		want := slices.SortedFunc(slices.Values(ids), func(a, b uint32) int { return cmp.Compare(key(a), key(b)) })
		if got := Sorted(ids, key, cmp.Compare[int]); !slices.Equal(got, want) {
			t.Errorf("%d numbers are not in order", n)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package numbered

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// Values are a map that yields its numbers in order.
func TestValues(t *testing.T) {
	var l Values[int]
	want := map[uint32]int{}
	for range 20_000 {
		id := rand.Uint32N(1 << (1 + rand.Uint32N(18)))
		if v := rand.IntN(3); v == 0 {
			delete(want, id)
			l.Put(id, 0)
		} else {
			want[id] = v
			l.Put(id, v)
		}
		if other := rand.Uint32N(1 << 19); l.Of(other) != want[other] {
			t.Fatalf("of %d: %d, want %d", other, l.Of(other), want[other])
		}
	}
	if got := maps.Collect(l.All()); !maps.Equal(got, want) {
		t.Errorf("%d are kept, want %d", len(got), len(want))
	}
	var ids []uint32
	for id := range l.All() {
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) {
		t.Error("not in order")
	}
	for id := range l.All() {
		if id != ids[0] {
			t.Error("continues after the last one that was wanted")
		}
		break
	}
}

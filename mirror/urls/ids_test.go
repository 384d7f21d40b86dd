// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestIDSet(t *testing.T) {
	var s IDSet
	s.Put(500, false)
	if len(s) > 0 {
		t.Error("removing a number takes memory")
	}
	s.Put(3, true)
	s.Put(64, true)
	s.Put(3, false)
	for _, id := range []uint32{0, 3, 63, 64, 65, 100_000} {
		if got, want := s.Has(id), id == 64; got != want {
			t.Errorf("%d: %v, want %v", id, got, want)
		}
	}
}

// What a set yields from a number on is what it has, in order.
func TestIDSetFrom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var s IDSet
	for range 60 {
		s.Put(r.Uint32N(500), true)
	}
	var want []uint32
	for id := range uint32(500) {
		if s.Has(id) {
			want = append(want, id)
		}
	}
	if got := slices.Collect(s.All()); !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

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

// SPDX-License-Identifier: Apache-2.0

package hash

import (
	"math"
	"slices"
	"testing"
)

// Resemblance and common hashes are those of the definition.
func TestResemblance(t *testing.T) {
	for _, c := range []struct {
		a, b   []uint64
		common int
		want   float64
	}{
		{nil, nil, 0, 1},
		{[]uint64{1}, nil, 0, 0},
		{[]uint64{3, 1, 2, 1}, []uint64{2, 3, 1}, 3, 1},
		{[]uint64{1, 2, 3}, []uint64{3, 4, 5}, 1, 0.2},
		{[]uint64{1, 2}, []uint64{math.MaxUint64, 0}, 0, 0},
	} {
		a, b := NewSet(slices.Clone(c.a)), NewSet(slices.Clone(c.b))
		if n, r := Common(a, b), Resemblance(a, b); n != c.common || r != c.want {
			t.Errorf("%v and %v: %d in common, resemblance %v, want %d, %v", a, b, n, r, c.common, c.want)
		}
		if n, r := Common(b, a), Resemblance(b, a); n != c.common || r != c.want {
			t.Errorf("%v and %v: %d in common, resemblance %v, want %d, %v", b, a, n, r, c.common, c.want)
		}
	}
}

// Samples by H must be those of other programs; the hash of a path can be had from the hash of its
// beginning.
func TestHashes(t *testing.T) {
	if got := H(""); got != 0xe3b0c44298fc1c14 {
		t.Errorf("H of nothing is %x, which is not the beginning of its SHA-256", got)
	}
	h := uint64(TokenSeed)
	for _, c := range []byte("/a/b") {
		h = (h ^ uint64(c)) * TokenPrime
	}
	if EndToken(h) != Token("/a/b") || Token("/a/b") != Token([]byte("/a/b")) {
		t.Error("the hash of a path is not that of its bytes one after the other")
	}
}

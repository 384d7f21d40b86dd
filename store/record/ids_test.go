// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestUnion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) []uint32 {
			return rapid.SliceOf(rapid.Uint32Range(0, 40)).Draw(rt, name)
		}
		a, b := draw("a"), draw("b")
		got := SetOf(slices.Clone(a)...).union(SetOf(slices.Clone(b)...))
		want := SetOf(append(a, b...)...)
		if !slices.Equal(got, want) {
			rt.Fatalf("%v and %v: %v, want %v", a, b, got, want)
		}
	})
}

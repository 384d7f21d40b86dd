// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every two hosts of a family are compared.
func TestFamilies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		hosts, kinds, leaves := 3+r.IntN(2+n*2), 1<<r.IntN(16), 1+r.IntN(leafSample)
		samples, members := make([][]uint64, hosts), make([]uint32, hosts)
		for i := range samples {
			members[i] = uint32(i)
			for range leaves {
				samples[i] = append(samples[i], 1+r.Uint64N(uint64(kinds)))
			}
			slices.Sort(samples[i])
			samples[i] = slices.Compact(samples[i])
		}
		want := pairs{}
		for i := range members {
			for j := range i {
				want.compare(samples, uint32(j), uint32(i))
			}
		}
		got := pairs{}
		if n := got.compareAll(samples, members, maxPairs); n != len(want) || !maps.Equal(got, want) {
			t.Errorf("%d hosts, %d of %d leaves: %d pairs, want %d", hosts, leaves, kinds, n, len(want))
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package near

import (
	"math/rand/v2"
	"testing"
)

// Below 11 directories that changed each in its own steps, most of them in nearly all, every directory has
// thousands of chains above it. They are kept for a bounded number of directories; the others have those of
// the directories above.
func TestChainsThatAreKeptAreBounded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	const steps = 63
	f := &finder{
		Options: &Options{MaxChains: 4096},
		n:       steps,
		least:   3,
		states:  [][]chain{nil},
		next:    map[[2]int32]int32{},
		room:    mostChains,
	}
	class := func() int32 {
		v := uint64(1)<<steps - 1
		for i := range steps {
			if rnd.IntN(8) == 0 {
				v &^= 1 << i
			}
		}
		f.classes = append(f.classes, vector{[]uint64{v}, []uint64{1<<steps - 1}})
		return int32(len(f.classes) - 1)
	}
	deep := int32(0)
	for range 11 {
		deep = f.step(deep, class())
	}
	if n := len(f.states[deep]); n < 1000 {
		t.Fatalf("%d chains above: the test shows nothing", n)
	}
	last := deep
	for range 250 {
		last = f.step(deep, class())
	}
	kept := 0
	for _, s := range f.states {
		kept += len(s)
	}

	if kept > mostChains+f.MaxChains || !f.truncated {
		t.Errorf("%d chains were kept, truncated: %v", kept, f.truncated)
	}
	if last != deep {
		t.Errorf("state %d when there is no room, want that of the directory above, %d", last, deep)
	}
}

// SPDX-License-Identifier: Apache-2.0

package near

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Where a chain of two says the same as a later single directory, the rule has the single one.
func TestShortestChain(t *testing.T) {
	o := Best().withDefaults()
	f := &finder{
		Options: &o,
		n:       4,
		least:   1,
		next:    map[[2]int32]int32{},
		found:   map[[2]int32]int32{},
		states:  [][]chain{nil},
		room:    mostChains,
	}
	for _, bits := range []uint64{0b1110, 0b1101, 0b1100, 0} {
		f.classes = append(f.classes, vector{[]uint64{bits}, []uint64{0b1111}})
	}
	s := f.step(f.step(f.step(0, 0), 1), 2)
	if len(f.states[s]) != 3 { // 1110, 1101, and 1100 once
		t.Fatalf("%d chains, want 3", len(f.states[s]))
	}
	for _, c := range f.states[s] {
		if c.changed[0] == 0b1100 && !slices.Equal(c.classes, []int32{2}) {
			t.Errorf("1100 is the chain of classes %v, want 2 alone", c.classes)
		}
	}
	if again := f.step(s, 1); again != s {
		t.Error("a class that is on the path already makes another state")
	}
}

// The number of rules grows as 2 to the depth; the best ones are found all the same.
func TestDeepChains(t *testing.T) {
	path := strings.Repeat("d/", 200)
	var versions []string
	for i := range 6 {
		versions = append(versions, fmt.Sprintf("%sx=%d %sold/y=1", path, i, path))
	}
	h := history(t, versions...)
	rules, err := Mine(h, Best())
	if err != nil {
		t.Fatal(err)
	}
	if rules.Len() != 1 || rules.Truncated {
		t.Errorf("%d rules, want 1", rules.Len())
	}
	if r, ok := rules.For(dir(t, h, path+"old")); !ok || len(r.Antecedent) != 1 {
		t.Errorf("the rule is %+v, want one of a single directory", r)
	}
}

// A site on which every directory of a path changed in other steps has as many chains as it has sets of
// directories; they are bounded, and that is said.
func TestChainsAreBounded(t *testing.T) {
	o := Options{
		MinDoC:        0.4,
		MinFoC:        0.01,
		MinConfidence: 0.5,
		MaxChains:     50,
	}
	f := &finder{
		Options: &o,
		n:       64,
		least:   1,
		next:    map[[2]int32]int32{},
		found:   map[[2]int32]int32{},
		states:  [][]chain{nil},
		room:    mostChains,
	}
	state := int32(0)
	for i := range 20 {
		f.classes = append(f.classes, vector{[]uint64{^(uint64(0b101) << (3 * i))}, []uint64{^uint64(0)}})
		state = f.step(state, int32(i))
	}
	if len(f.states[state]) != 50 || !f.truncated {
		t.Errorf("%d chains, truncated %v, want 50", len(f.states[state]), f.truncated)
	}
}

package replica

import (
	"math/rand/v2"
	"testing"
)

// sameTrivial holds trivial clusters against the definition.
func sameTrivial(t *testing.T, pages []ChunkedPage, threshold int) {
	t.Helper()
	want := NewSets(len(pages))
	for i := range pages {
		for j := range i {
			if pages[i].Entire == pages[j].Entire || Common(pages[i].Chunks, pages[j].Chunks) > threshold {
				want.Union(uint32(i), uint32(j))
			}
		}
	}
	got := TrivialClusters(pages, threshold)
	for i := range pages {
		if got.Find(uint32(i)) != want.Find(uint32(i)) {
			t.Fatalf("page %d of %d, threshold %d: in set %d, want %d", i, len(pages), threshold, got.Find(uint32(i)), want.Find(uint32(i)))
		}
	}
}

func TestTrivialClustersByDefinition(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		pages := make([]ChunkedPage, 1+r.IntN(maxPosting))
		words := 40 + r.IntN(4000)
		for i := range pages {
			var chunks []uint64
			for range r.IntN(30) {
				chunks = append(chunks, r.Uint64N(uint64(words)))
			}
			if i > 0 && r.IntN(3) == 0 {
				chunks = append(append([]uint64{}, pages[r.IntN(i)].Chunks...), chunks[:min(len(chunks), 3)]...)
			}
			pages[i] = ChunkedPage{newSet(chunks), r.Uint64N(2000)}
		}
		sameTrivial(t, pages, r.IntN(16))
	}
}

// Pages that are nearly the same take time in proportion to their number: with its square this would take hours.
func TestManyAlmostIdenticalPages(t *testing.T) {
	many, some := 250_000, 20_000
	if raceEnabled {
		many, some = 10_000, 3_000
	}
	template := make([]uint64, 20)
	for i := range template {
		template[i] = uint64(i) << 33
	}
	for name, tc := range map[string]struct {
		n, sets int
		page    func(i int) ChunkedPage
	}{
		"of one text":          {many, 1, func(int) ChunkedPage { return ChunkedPage{template, 1} }},
		"of one set of chunks": {some, 1, func(i int) ChunkedPage { return ChunkedPage{template, uint64(i)} }},
		"with the address in it": {many, 1, func(i int) ChunkedPage {
			return ChunkedPage{append([]uint64{uint64(i) + 1}, template[1:]...), uint64(i)}
		}},
		"half of it of their own":   {some, some, func(i int) ChunkedPage { return ChunkedPage{halfOwn(i, template), uint64(i)} }},
		"in drifts, each like next": {some, 1, func(i int) ChunkedPage { return ChunkedPage{drift(i), uint64(i)} }},
	} {
		t.Run(name, func(t *testing.T) {
			pages := make([]ChunkedPage, tc.n)
			for i := range pages {
				pages[i] = tc.page(i)
			}
			sets, got := TrivialClusters(pages, 15), 0
			for i := range pages {
				if sets.Find(uint32(i)) == uint32(i) {
					got++
				}
			}
			if got != tc.sets {
				t.Errorf("%d pages: %d sets, want %d", tc.n, got, tc.sets)
			}
		})
	}
}

// halfOwn has ten chunks that nobody else has.
func halfOwn(i int, template []uint64) Set {
	out := make(Set, 0, 20)
	for j := range 10 {
		out = append(out, uint64(i)*10+uint64(j)+1)
	}
	return append(out, template[10:]...)
}

// drift has all chunks but one of the page before, and one of its own.
func drift(i int) Set {
	out := make(Set, 0, 20)
	for j := range 20 {
		out = append(out, uint64(i+j))
	}
	return out
}

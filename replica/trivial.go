package replica

import (
	"cmp"
	"slices"
)

// ChunkedPage is a page by its chunks and the fingerprint of all of it.
type ChunkedPage struct {
	Chunks Set
	Entire uint64
}

// TrivialClusters joins pages that have more than threshold chunks in common, or the same text (Cho, Shivakumar, Garcia-Molina, section
// 4.1). The second clause is not in the paper; without it a short page would not be like its own copy. It is exact, and pages that have
// only common chunks in common are seldom compared: two pages with more than threshold common chunks have one among all but the threshold
// most frequent chunks of either. Many pages that are nearly the same, but not quite, take time with their square: Group does not.
func TrivialClusters(pages []ChunkedPage, threshold int) *Sets {
	sets := NewSets(len(pages))
	first := map[uint64]uint32{}
	for i := range pages {
		if j, ok := first[pages[i].Entire]; ok {
			sets.Union(j, uint32(i))
		} else {
			first[pages[i].Entire] = uint32(i)
		}
	}
	frequency := map[uint64]int{}
	for i := range pages {
		if first[pages[i].Entire] == uint32(i) {
			for _, c := range pages[i].Chunks {
				frequency[c]++
			}
		}
	}
	index := map[uint64][]uint32{}
	common := map[uint32]int{}
	for i := range pages {
		if first[pages[i].Entire] != uint32(i) || len(pages[i].Chunks) <= threshold {
			continue
		}
		rare := slices.Clone(pages[i].Chunks)
		slices.SortFunc(rare, func(a, b uint64) int {
			if c := cmp.Compare(frequency[a], frequency[b]); c != 0 {
				return c
			}
			return cmp.Compare(a, b)
		})
		clear(common)
		for _, c := range rare[:len(rare)-threshold] {
			for _, j := range index[c] {
				common[j]++
			}
			index[c] = append(index[c], uint32(i))
		}
		for j := range common {
			if sets.Find(j) != sets.Find(uint32(i)) && Common(pages[i].Chunks, pages[j].Chunks) > threshold {
				sets.Union(j, uint32(i))
			}
		}
	}
	return sets
}

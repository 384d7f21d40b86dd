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

// maxPosting is how many pages a chunk is looked up by, at most: the first ones that have it among their rare chunks, and the last ones.
const maxPosting = 256

// TrivialClusters joins pages that have more than threshold chunks in common, or the same text (Cho, Shivakumar, Garcia-Molina, section
// 4.1). The second clause is not in the paper; without it a short page would not be like its own copy. Pages that have only common chunks in
// common are seldom compared: two pages with more than threshold common chunks have one among all but the threshold most frequent chunks of
// either. It is exact as long as no chunk is among these of more than 256 pages. Of those that are, pages are compared with 128 that came
// first and 128 that came last, so that the time is in proportion to the pages, whatever they hold.
func TrivialClusters(pages []ChunkedPage, threshold int) *Sets {
	sets := NewSets(len(pages))
	first := make(map[uint64]uint32, len(pages))
	for i := range pages {
		if j, ok := first[pages[i].Entire]; ok {
			sets.Union(j, uint32(i))
		} else {
			first[pages[i].Entire] = uint32(i)
		}
	}
	frequency := map[uint64]uint32{}
	known := func(i int) bool { // the first page of the same text has the same chunks, which line ends may alter
		j := int(first[pages[i].Entire])
		return j != i && slices.Equal(pages[i].Chunks, pages[j].Chunks)
	}
	for i := range pages {
		if !known(i) {
			for _, c := range pages[i].Chunks {
				frequency[c]++
			}
		}
	}
	index := map[uint64]*posting{}
	compared := make([]uint32, len(pages)) // with which page last, counted from 1
	var rare []rareChunk
	for i := range pages {
		page := uint32(i)
		if len(pages[i].Chunks) <= threshold || known(i) {
			continue
		}
		rare = rare[:0]
		for _, c := range pages[i].Chunks {
			rare = append(rare, rareChunk{c, frequency[c]})
		}
		slices.SortFunc(rare, rareChunk.compare)
		for _, c := range rare[:len(rare)-threshold] {
			if c.pages < 2 {
				continue
			}
			p := index[c.chunk]
			if p == nil {
				p = new(posting)
				index[c.chunk] = p
			}
			for _, j := range p.pages {
				if compared[j] == page+1 || sets.Find(j) == sets.Find(page) {
					continue
				}
				compared[j] = page + 1
				if Common(pages[i].Chunks, pages[j].Chunks) > threshold {
					sets.Union(j, page)
				}
			}
			p.add(page)
		}
	}
	return sets
}

// rareChunk is a chunk and how many pages have it.
type rareChunk struct {
	chunk uint64
	pages uint32
}

func (a rareChunk) compare(b rareChunk) int {
	return cmp.Or(cmp.Compare(a.pages, b.pages), cmp.Compare(a.chunk, b.chunk))
}

// posting is the pages that a chunk is looked up by.
type posting struct {
	pages []uint32
	more  uint32 // that came when it was full
}

func (p *posting) add(page uint32) {
	if len(p.pages) < maxPosting {
		p.pages = append(p.pages, page)
		return
	}
	p.pages[maxPosting/2+p.more%(maxPosting/2)] = page
	p.more++
}

// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"cmp"
	"slices"

	"mirrord/store/record"
)

// growth knows which pages of a preview were the first to name how many URLs.
type growth struct {
	pages []uint32         // that were read
	first map[uint32]int64 // URLs, by the page that named them first
	read  int64            // bodies, pages included
}

// see takes in a URL that belongs to the mirror.
func (g *growth) see(r *record.Resource) {
	if g.first == nil {
		g.first = map[uint32]int64{}
	}
	if r.Referrer > 0 {
		g.first[r.Referrer-1]++
	}
	if r.Body == record.NoBody {
		return
	}
	g.read++
	if r.MIME == "text/html" || r.MIME == "application/xhtml+xml" {
		g.pages = append(g.pages, r.ID)
	}
}

// more is how many files a mirror may have beyond those that are known.
func (g *growth) more(known int64) int64 {
	slices.SortFunc(g.pages, cmp.Compare) // URLs are numbered as they are found
	counts := make([]int64, len(g.pages))
	for i, id := range g.pages {
		counts[i] = g.first[id]
	}
	return moreFiles(counts, known-g.read)
}

// mostOfFew is how many URLs one of very few pages is taken to lead to.
const mostOfFew = 30

// sitemapSize is what the sitemaps of a preview list.
type sitemapSize struct {
	children int64 // sitemaps that indexes name
	read     int64 // sitemaps that were read
	urls     int64 // in these
}

// all is how many URLs all sitemaps list together, as far as those that were read tell; 0 when they tell
// nothing.
func (s sitemapSize) all() int64 {
	if s.read == 0 || s.children <= s.read {
		return 0
	}
	return s.urls / s.read * s.children
}

// moreFiles estimates how many files are not known yet, of how many each page that was read was the first to
// name, and how many known ones were not requested. The first half of the pages are entry pages and indexes,
// and one page of the second half may be another index: the others show how many files a page adds on
// average: the next pages may each add twice as many. Of the sites in the test, this bounds seven of eight.
// Of very few pages, whose style sheets took the other requests, half of their files are counted.
func moreFiles(counts []int64, left int64) int64 {
	half := counts[len(counts)/2:]
	if len(half) == 0 || left <= 0 {
		return 0
	}
	var sum int64
	if len(half) < 2 {
		for _, n := range counts {
			sum += min(n, mostOfFew)
		}
		return sum * left / int64(2*len(counts))
	}
	for _, n := range half {
		sum += n
	}
	mean := float64(sum-slices.Max(half)+1) / float64(len(half)) // one more, because what was not seen may be
	return int64(2 * mean * float64(left))
}

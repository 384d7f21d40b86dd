// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"slices"
	"strings"

	"mirrord/replica/hash"
	"mirrord/replica/text"
)

// A manual may lie in one place as a directory of chapters, and in another as one page that holds all of
// them, or as pages each of which was split into several. No two pages resemble one another then, and none of
// the small ones is a large enough part of the large one to be seen in a sketch of it. The union of the small
// ones is: each bin of the large page's sketch has the least hash of one of its parts, and so the byte that
// this part has in the same bin. Other directories have it by chance, the more often the more pages they
// have: of 64 pages in 22 bins of 100, of 400 in 79, and nothing is said.
const (
	joinedWords     = 1000 // that a page and a directory have at least, in all
	joinedPages     = 4096 // longest pages that are looked at
	joinedDirs      = 512  // directories whose pages may be joined ones, those of the most words
	joinedUnions    = 8192 // directories whose pages may be parts, those of the most words
	joinedSample    = 16   // pages of a directory that are looked at
	joinedEnough    = 8    // of these, which say something themselves
	joinedOwn       = 32   // bins of their own that they have
	joinedOfPage    = 0.7  // of what a page says that the parts say, estimated
	joinedOfDir     = 0.75 // of the pages of the sample, of which that is true
	joinedOfParts   = 0.5  // of the words of the parts that are on the joined pages
	joinedDeviation = 6    // standard deviations from chance; of each page of a sample half of it
	partMost        = 3    // the words of all parts by those of the longest
	partsByPage     = 1.5  // parts by joined pages, at least
	partsAtOnce     = 128  // directories whose unions are made together, at least
	joinedFound     = 4096 // pairs of places that are kept
)

// Joined says that what the pages of one directory say stands elsewhere on fewer, longer pages.
type Joined struct {
	Parts Address // the directory; its path ends in a slash
	Pages int     // below it
	At    Address // the one page that has all, or a directory
	On    int     // pages there: 1 is a page
	Share float64 // of the text there that the parts have, estimated
	// of the words of the parts those that are there, at least: what all of them repeat, such as a menu, is
	// counted in each
	OfParts float64
}

// placeRef is a directory above a page, or the page: so many bytes of its path. Addresses may be long.
type placeRef struct {
	page   uint32
	length int
}

const wholePath = -1

// longPage is a page that may say what many smaller ones say.
type longPage struct {
	page, words uint32
	sketch      text.Sketch
}

// joinedDir is a directory whose pages may each say what several smaller ones say.
type joinedDir struct {
	at     placeRef
	key    uint64
	pages  int
	words  uint64
	sample []placedPage
	own    []bins // what those of the sample say themselves
}

// partsSide is the union of the sketches of the pages below a directory, without those that are so long that
// they may be the joined ones themselves.
type partsSide struct {
	at      placeRef
	pages   int // all
	all     uint64
	used    int // that are in the union
	words   uint64
	longest uint64
	has     [text.Bins][4]uint64 // the bytes of each bin
	n       [text.Bins]int       // how many these are
}

const partsSize = text.Bins*(4+1)*8 + 128

// joiners looks for joined pages.
type joiners struct {
	f     *Finder
	words map[uint64]uint64 // by the key of the directory
	long  []longPage
	dirs  []joinedDir
	found []joinedRef
}

// joinedRef is a Joined of places that are not read yet.
type joinedRef struct {
	Joined
	parts, at placeRef
}

// joined finds the directories whose pages are joined elsewhere, besides those that are known to be copies.
func (f *Finder) joined(known FoundPairs) ([]Joined, error) {
	j := joiners{f: f, words: map[uint64]uint64{}}
	if err := j.count(); err != nil {
		return nil, err
	}
	parts := j.choose()
	first := true
	for some := range slices.Chunk(parts, max(f.budget/8/partsSize, partsAtOnce)) {
		if err := j.compare(some, first); err != nil {
			return nil, err
		}
		first = false
	}
	found, err := j.places()
	if err != nil {
		return nil, err
	}
	return best(slices.DeleteFunc(found, func(x Joined) bool {
		return x.isKnown(known.Copies) || x.isKnown(known.Related)
	})), nil
}

// count sums up the words of directories, and takes the longest pages.
func (j *joiners) count() error {
	totals := &j.f.votes.totals
	longest := func() {
		slices.SortStableFunc(j.long, func(a, b longPage) int { return cmp.Compare(b.words, a.words) })
		j.long = j.long[:min(len(j.long), joinedPages)]
	}
	err := j.f.eachPage("count words", func(a Address, digest []byte) error {
		words := wordsOf(digest)
		eachDir(a.Host, dirOf(a.Path), func(key uint64) {
			if totals.of(key) >= j.f.Votes.Pages {
				j.words[key] += uint64(words)
			}
		})
		full := len(j.long) >= joinedPages && words <= j.long[joinedPages-1].words
		if words < joinedWords || full {
			return nil
		}
		j.long = append(j.long, longPage{uint32(j.f.done), words, sketchOf(digest)})
		if len(j.long) == 2*joinedPages {
			longest()
		}
		return nil
	})
	longest()
	return err
}

// choose returns the keys of the directories whose pages may be parts, and those whose pages may be joined.
func (j *joiners) choose() []uint64 {
	byWords := make([]uint64, 0, len(j.words))
	for key, n := range j.words {
		if n >= joinedWords {
			byWords = append(byWords, key)
		}
	}
	slices.SortFunc(byWords, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(j.words[b], j.words[a]), cmp.Compare(a, b))
	})
	for _, key := range byWords[:min(len(byWords), joinedDirs)] {
		j.dirs = append(j.dirs, joinedDir{key: key, words: j.words[key], pages: j.f.votes.totals.of(key)})
	}
	var parts []uint64
	for _, key := range byWords {
		if len(parts) < joinedUnions && j.mayBeParts(j.words[key], j.f.votes.totals.of(key)) {
			parts = append(parts, key)
		}
	}
	return parts
}

// mayBeParts reports whether there are joined pages of fitting size for a directory of so many words and
// pages, of which those that are too long do not count.
func (j *joiners) mayBeParts(words uint64, pages int) bool {
	most := uint64(float64(words) / joinedOfPage)
	least := uint64(joinedOfParts * float64(words) / partMost)
	at, _ := slices.BinarySearchFunc(j.long, most, func(p longPage, n uint64) int {
		return cmp.Compare(n, uint64(p.words))
	})
	if at < len(j.long) && uint64(j.long[at].words) >= least {
		return true
	}
	return slices.ContainsFunc(j.dirs, func(d joinedDir) bool {
		return d.words <= most && d.words >= least && partsByPage*float64(d.pages) <= float64(pages)
	})
}

// compare reads the pages of some directories, and compares these with all that may be joined of them. The
// first time it takes the samples of the others, too.
func (j *joiners) compare(keys []uint64, first bool) error {
	unions, sampled := make(map[uint64]*partsSide, len(keys)), map[uint64]*joinedDir{}
	for _, key := range keys {
		unions[key] = &partsSide{pages: j.f.votes.totals.of(key), all: j.words[key]}
	}
	if first {
		for i := range j.dirs {
			sampled[j.dirs[i].key] = &j.dirs[i]
		}
	}
	err := j.f.eachPage("compare joined pages", func(a Address, digest []byte) error {
		eachDirOf(a, func(key uint64, length int) {
			at := placeRef{uint32(j.f.done), length}
			if p := unions[key]; p != nil {
				p.add(at, digest)
			}
			if d := sampled[key]; d != nil {
				d.at = at
				d.sample = addPlaced(d.sample, newPlacedPage(hash.Token(a.Path[length:]), digest), joinedSample)
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range sampled {
		d.template()
	}
	for _, key := range keys {
		p := unions[key]
		if p.used < j.f.Votes.Pages {
			continue
		}
		p.settle()
		for i := range j.long {
			if d := &j.long[i]; fits(p, uint64(d.words)) && 2*p.longest <= uint64(d.words) {
				at := placeRef{d.page, wholePath}
				j.keep(p, at, 1, uint64(d.words), p.share(&d.sketch, allBins(), joinedDeviation))
			}
		}
		for i := range j.dirs {
			if d := &j.dirs[i]; fits(p, d.words) && float64(p.used) >= partsByPage*float64(d.pages) {
				j.keep(p, d.at, d.pages, d.words, d.shareOf(p))
			}
		}
		if err := j.f.tick(len(j.long)); err != nil {
			return err
		}
	}
	return nil
}

// add takes a page into the union.
func (p *partsSide) add(at placeRef, digest []byte) {
	p.at = at
	words := uint64(wordsOf(digest))
	if words == 0 || partMost*words > p.all {
		return
	}
	p.used++
	p.words += words
	p.longest = max(p.longest, words)
	for i, b := range digest[8 : 8+text.Bins] {
		p.has[i][b/64] |= 1 << (b % 64)
	}
}

// settle counts the bytes of the bins.
func (p *partsSide) settle() {
	for i := range p.has {
		for _, word := range p.has[i] {
			p.n[i] += bits.OnesCount64(word)
		}
	}
}

// template finds what the pages of the sample say themselves: the bins that differ from those of the others.
func (d *joinedDir) template() {
	for i := range d.sample {
		var own bins
		for at, b := range d.sample[i].sketch {
			others := 0
			for k := range d.sample {
				if k != i && d.sample[k].sketch[at] == b {
					others++
				}
			}
			if others < siblingsLeast {
				own[at/64] |= 1 << (at % 64)
			}
		}
		d.own = append(d.own, own)
	}
}

// fits reports whether so many words can be most of those of the parts.
func fits(p *partsSide, words uint64) bool {
	return joinedOfParts*float64(p.words) <= float64(words) && joinedOfPage*float64(words) <= float64(p.words)
}

// keep keeps a pair of places whose share is enough.
func (j *joiners) keep(p *partsSide, at placeRef, on int, words uint64, share float64) {
	ofParts := min(1, share*float64(words)/float64(p.words))
	if share < joinedOfPage || ofParts < joinedOfParts || len(j.found) == joinedFound {
		return
	}
	j.found = append(j.found, joinedRef{
		parts: p.at,
		at:    at,
		Joined: Joined{
			Pages:   p.pages,
			On:      on,
			Share:   share,
			OfParts: ofParts,
		},
	})
}

// allBins are those of a whole sketch.
func allBins() bins { return bins{math.MaxUint64, math.MaxUint64} }

// share estimates how much of a page the parts say, by some bins of its sketch; 0 when chance may be all.
func (p *partsSide) share(s *text.Sketch, of bins, deviation float64) float64 {
	n, equal, bytes := 0, 0, 0
	for i, word := range of {
		for ; word != 0; word &= word - 1 {
			at := 64*i + bits.TrailingZeros64(word)
			n++
			bytes += p.n[at]
			equal += int(p.has[at][s[at]/64] >> (s[at] % 64) & 1)
		}
	}
	if n == 0 {
		return 0
	}
	chance := float64(bytes) / float64(256*n)
	above := float64(equal)/float64(n) - chance
	if above <= deviation*math.Sqrt(chance*(1-chance)/float64(n)) {
		return 0
	}
	return above / (1 - chance)
}

// shareOf is how much of the pages of the sample the parts say; 0 when it is too little of too many.
func (d *joinedDir) shareOf(p *partsSide) float64 {
	n, good, sum := 0, 0, 0.0
	for i := range d.sample {
		if d.own[i].count() < joinedOwn {
			continue
		}
		n++
		share := p.share(&d.sample[i].sketch, d.own[i], joinedDeviation/2)
		if sum += share; share >= joinedOfPage {
			good++
		}
		if float64(n-good) > (1-joinedOfDir)*joinedSample {
			return 0
		}
	}
	if n < joinedEnough || float64(good) < joinedOfDir*float64(n) {
		return 0
	}
	return sum / float64(n)
}

// places reads the addresses of what was found, and leaves out directories below one another.
func (j *joiners) places() ([]Joined, error) {
	var err error
	address := func(r placeRef) Address {
		a, failed := j.f.address(r.page)
		if err = errors.Join(err, failed); err == nil && r.length != wholePath {
			a.Path = a.Path[:r.length]
		}
		return a
	}
	var out []Joined
	for _, x := range j.found {
		if x.Parts, x.At = address(x.parts), address(x.at); !x.atOverlaps(x.Parts) {
			out = append(out, x.Joined)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// isKnown reports whether both places lie in ones that are known to be copies, or around them.
func (j *Joined) isKnown(pairs []DirPair) bool {
	return slices.ContainsFunc(pairs, func(k DirPair) bool {
		return (overlap(k.A, j.Parts) && j.atOverlaps(k.B)) || (overlap(k.B, j.Parts) && j.atOverlaps(k.A))
	})
}

// atOverlaps reports whether the joined pages lie in a directory, or it in theirs.
func (j *Joined) atOverlaps(dir Address) bool {
	return j.At.liesIn(dir) || (j.On > 1 && dir.liesIn(j.At))
}

func (a Address) liesIn(dir Address) bool {
	return a.Host == dir.Host && strings.HasPrefix(a.Path, dir.Path)
}

// overlap reports whether of two directories one is below the other.
func overlap(a, b Address) bool { return a.liesIn(b) || b.liesIn(a) }

// best leaves, of pairs of places of which those of one lie in those of the other, the one that says most
// nearly the same, and of equal ones the deepest; those of most pages first.
func best(found []Joined) []Joined {
	slices.SortFunc(found, func(a, b Joined) int {
		return cmp.Or(cmp.Compare(b.Share*b.OfParts, a.Share*a.OfParts),
			cmp.Compare(len(b.Parts.Path)+len(b.At.Path), len(a.Parts.Path)+len(a.At.Path)), a.compare(b))
	})
	var out []Joined
	for _, x := range found {
		if !slices.ContainsFunc(out, func(y Joined) bool {
			return overlap(x.Parts, y.Parts) && (x.At == y.At || (x.On > 1 && y.On > 1 && overlap(x.At, y.At)))
		}) {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b Joined) int { return cmp.Or(cmp.Compare(b.Pages, a.Pages), a.compare(b)) })
	return out
}

func (j Joined) compare(k Joined) int { return cmp.Or(j.Parts.compare(k.Parts), j.At.compare(k.At)) }

package replica

import (
	"encoding/binary"
	"slices"
)

// GroupOptions say which pages resemble one another.
type GroupOptions struct {
	Resemblance     float64 // estimated, at least; 0 means 0.8
	Representatives int     // pages of a bucket that every other page of it is compared with, at most; 0 means 8
}

func (o GroupOptions) withDefaults() GroupOptions {
	if o.Resemblance <= 0 {
		o.Resemblance = 0.8
	}
	if o.Representatives <= 0 {
		o.Representatives = 8
	}
	return o
}

// The banding of a Sketch: pages that agree in all rows of some band are candidates. With 32 bands of 4 rows that is certain in effect at a
// resemblance of 0.8, and of 87 in 100 pairs at 0.5.
const (
	bands    = 32
	bandRows = Bins / bands
)

// Grouped is what Group did.
type Grouped struct {
	Sets       *Sets
	Pages      int // with words; others are in no group
	Exact      int // joined because their words are the same
	Candidates int // pairs compared
	Near       int // of which joined two groups
}

// Group joins the pages that resemble one another, and those that resemble these. Pages without words stay alone. The time is in proportion
// to the pages, whatever they hold: pages of the same words count once, and the pages of a bucket are compared with a few of them. Beside
// the digests it takes 21 bytes a page.
func Group(digests []Digest, o GroupOptions) Grouped {
	o = o.withDefaults()
	g := Grouped{Sets: NewSets(len(digests))}
	var columns [bandsAtOnce][]uint32
	for i := range columns {
		columns[i] = make([]uint32, len(digests))
	}
	b := bucketer{limit: len(digests), pages: newBitmap(len(digests))}
	sameText(digests, &b, columns[0], &g)
	least := leastEqual(o.Resemblance)
	b.emit = func(sorted []uint64) error {
		g.Sets.mixed(sorted, &b.parents, func(bucket []uint64) error {
			joinBucket(digests, bucket, least, o.Representatives, &g)
			return nil
		})
		return nil
	}
	for band := 0; band < bands; band += bandsAtOnce {
		for i := range digests { // of a sketch's bytes those that lie together are read together
			s := digests[i].Sketch[band*bandRows:]
			for j := range columns {
				columns[j][i] = binary.LittleEndian.Uint32(s[j*bandRows:])
			}
		}
		for _, keys := range columns {
			b.band(wholeColumn(keys), g.Pages-g.Exact)
		}
	}
	return g
}

// bandsAtOnce is how many keys of a page are read at once.
const bandsAtOnce = 2

func wholeColumn(keys []uint32) column {
	return func(visit func(int, []uint32) error) error { return visit(0, keys) }
}

// leastEqual is how many equal bytes of two sketches make a resemblance.
func leastEqual(r float64) int {
	n := 0
	for n < Bins && estimate(n) < r {
		n++
	}
	return n
}

// sameText joins the pages of the same words, and leaves one of each in b.
func sameText(digests []Digest, b *bucketer, keys []uint32, g *Grouped) {
	for i := range digests {
		if keys[i] = uint32(digests[i].Text >> 32); digests[i].Words > 0 {
			b.pages.add(i)
			g.Pages++
		}
	}
	var same []uint32
	b.emit = func(sorted []uint64) error {
		eachBucket(sorted, func(bucket []uint64) {
			same = same[:0] // equal in the upper half of the fingerprint: seldom more than one text
			for _, e := range bucket {
				page := uint32(e)
				at := slices.IndexFunc(same, func(p uint32) bool {
					return digests[p].Text == digests[page].Text && digests[p].Words == digests[page].Words
				})
				if at < 0 {
					same = append(same, page)
					continue
				}
				g.Sets.Union(same[at], page)
				g.Exact++
				b.pages.remove(int(page))
			}
		})
		return nil
	}
	b.band(wholeColumn(keys), g.Pages)
}

// joinBucket compares the pages of a bucket with its representatives: the first page, and each that resembles no representative before it.
func joinBucket(digests []Digest, bucket []uint64, least, most int, g *Grouped) {
	var reps [64]uint32
	most = min(most, len(reps))
	n := 0
	for _, e := range bucket {
		page, alike := uint32(e), false
		for _, rep := range reps[:n] {
			if g.Sets.Find(rep) == g.Sets.Find(page) {
				alike = true
				break
			}
			g.Candidates++
			if digests[rep].Sketch.equal(&digests[page].Sketch) >= least {
				g.Sets.Union(rep, page)
				g.Near++
				alike = true
			}
		}
		if !alike && n < most {
			reps[n] = page
			n++
		}
	}
}

// eachBucket calls f with each run of at least one entry that have their upper halves in common.
func eachBucket(sorted []uint64, f func([]uint64)) {
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to]>>32 == sorted[from]>>32 {
			to++
		}
		f(sorted[from:to])
		from = to
	}
}

// Stars returns the candidate pairs of sketches of any kind: in every band of rows entries, the first of those that agree in it with each
// of the others. Each pair comes once, in ascending order.
func Stars(sketches [][]uint64, rows int) [][2]int {
	var out [][2]int
	first := map[string]int{}
	for i, sketch := range sketches {
		for band := 0; band+rows <= len(sketch); band += rows {
			key := binary.LittleEndian.AppendUint64(nil, uint64(band))
			for _, x := range sketch[band : band+rows] {
				key = binary.LittleEndian.AppendUint64(key, x)
			}
			if j, ok := first[string(key)]; ok {
				out = append(out, [2]int{j, i})
			} else {
				first[string(key)] = i
			}
		}
	}
	slices.SortFunc(out, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(out)
}

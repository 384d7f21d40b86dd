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
// the digests it takes 24 bytes a page.
func Group(digests []Digest, o GroupOptions) Grouped {
	o = o.withDefaults()
	g := Grouped{Sets: NewSets(len(digests))}
	distinct := sameText(digests, &g)
	least := leastEqual(o.Resemblance)
	entries, spare := make([]uint64, len(distinct)), make([]uint64, len(distinct))
	for band := range bands {
		for i, page := range distinct {
			entries[i] = uint64(binary.LittleEndian.Uint32(digests[page].Sketch[band*bandRows:]))<<32 | uint64(page)
		}
		eachBucket(sortHigh(entries, spare), func(bucket []uint64) {
			joinBucket(digests, bucket, least, o.Representatives, &g)
		})
	}
	return g
}

// leastEqual is how many equal bytes of two sketches make a resemblance.
func leastEqual(r float64) int {
	n := 0
	for n < Bins && estimate(n) < r {
		n++
	}
	return n
}

// sameText joins the pages of the same words and returns one of each, in ascending order.
func sameText(digests []Digest, g *Grouped) []uint32 {
	entries := make([]uint64, 0, len(digests))
	for i := range digests {
		if digests[i].Words > 0 {
			entries = append(entries, digests[i].Text&^0xffffffff|uint64(i))
		}
	}
	g.Pages = len(entries)
	distinct := make([]uint32, 0, len(entries))
	var same []uint32
	eachBucket(sortHigh(entries, make([]uint64, len(entries))), func(bucket []uint64) {
		same = same[:0] // equal in the upper half of the fingerprint: seldom more than one text
		for _, e := range bucket {
			page := uint32(e)
			at := slices.IndexFunc(same, func(p uint32) bool {
				return digests[p].Text == digests[page].Text && digests[p].Words == digests[page].Words
			})
			if at >= 0 {
				g.Sets.Union(same[at], page)
				g.Exact++
			} else {
				same = append(same, page)
			}
		}
		distinct = append(distinct, same...)
	})
	slices.Sort(distinct)
	return distinct
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

// sortHigh sorts entries by their upper halves and keeps the order of equal ones: a radix sort. Either slice is the result, the other is
// overwritten.
func sortHigh(entries, spare []uint64) []uint64 {
	const bits, mask = 11, 1<<11 - 1
	if len(entries) < 1024 {
		slices.SortStableFunc(entries, func(a, b uint64) int {
			switch a, b = a>>32, b>>32; {
			case a < b:
				return -1
			case a > b:
				return 1
			}
			return 0
		})
		return entries
	}
	var count [3][mask + 1]uint32
	for _, e := range entries {
		count[0][e>>32&mask]++
		count[1][e>>(32+bits)&mask]++
		count[2][e>>(32+2*bits)]++
	}
	from, to := entries, spare[:len(entries)]
	for pass := range count {
		at := uint32(0)
		for i, n := range count[pass] {
			count[pass][i], at = at, at+n
		}
		shift := 32 + pass*bits
		for _, e := range from {
			place := &count[pass][e>>shift&mask]
			to[*place] = e
			*place++
		}
		from, to = to, from
	}
	return from
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

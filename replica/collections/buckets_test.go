// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"mirrord/replica/hash"
	"mirrord/replica/text"
	"mirrord/replica/unionfind"
)

// plainBuckets are the buckets of a band, in the obvious way: those of several pages, in order.
func plainBuckets(keys []uint32, pages []bool) [][]uint64 {
	var entries []uint64
	for i, k := range keys {
		if pages[i] {
			entries = append(entries, uint64(k)<<32|uint64(i))
		}
	}
	slices.Sort(entries)
	var out [][]uint64
	eachBucket(entries, func(b []uint64) {
		if len(b) > 1 {
			out = append(out, b)
		}
	})
	return out
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

// plainGroup is what a Finder joins, in the obvious way: all entries of a band are sorted.
func plainGroup(digests []text.ContentDigest, o GroupOptions) Grouped {
	o = o.withDefaults()
	g := Grouped{Sets: unionfind.New(len(digests))}
	type words struct {
		hash  uint64
		words uint32
	}
	first := map[words]uint32{}
	distinct := make([]bool, len(digests))
	for i, d := range digests {
		if d.Words == 0 {
			continue
		}
		g.Pages++
		if p, ok := first[words{d.Text, d.Words}]; ok {
			g.Exact++
			g.Sets.Union(p, uint32(i))
			continue
		}
		first[words{d.Text, d.Words}] = uint32(i)
		distinct[i] = true
	}
	keys := make([]uint32, len(digests))
	for band := range text.Bands {
		for i := range digests {
			keys[i] = binary.LittleEndian.Uint32(digests[i].Sketch[band*text.BandRows:])
		}
		for _, bucket := range plainBuckets(keys, distinct) {
			joinBucket(digests, bucket, text.LeastEqual(o.Resemblance), o.Representatives, &g)
		}
	}
	return g
}

// joinBucket compares the pages of a bucket with its representatives: the first page, and each that resembles
// no representative before it.
func joinBucket(digests []text.ContentDigest, bucket []uint64, least, most int, g *Grouped) {
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
			if digests[rep].Sketch.Equal(&digests[page].Sketch) >= least {
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

// Groups are those of the obvious way, to the number of comparisons.
func TestGroupAsObvious(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		digests := make([]text.ContentDigest, 200+r.IntN(6000))
		for i := range digests {
			d := &digests[i]
			*d = text.ContentDigest{Words: 1 + r.Uint32N(2), Text: hash.Mix(uint64(i))}
			switch k := r.IntN(10); {
			case k == 0:
				*d = text.ContentDigest{}
			case k < 3 || i == 0:
				for j := range d.Sketch {
					d.Sketch[j] = byte(r.UintN(256))
				}
			case k < 5: // agrees with many in a band, and with no other
				for j := range d.Sketch {
					d.Sketch[j] = byte(r.UintN(256))
				}
				copy(d.Sketch[r.IntN(text.Bands)*text.BandRows:], "same")
			case k < 7:
				*d = digests[r.IntN(i)]
			default:
				d.Sketch = digests[r.IntN(i)].Sketch
				for range r.IntN(100) {
					d.Sketch[r.IntN(text.Bins)]++
				}
			}
		}
		o := GroupOptions{Resemblance: 0.3 + r.Float64()/2, Representatives: r.IntN(100)}
		want := plainGroup(digests, o)
		for _, memory := range []int64{1, 0} {
			got := grouped(t, digests, o, memory)
			if got.Pages != want.Pages || got.Exact != want.Exact || got.Candidates != want.Candidates ||
				got.Near != want.Near {
				t.Errorf("seed %d: %d pages, %d exact, %d candidates, %d near; want %d, %d, %d, %d", seed, got.Pages,
					got.Exact, got.Candidates, got.Near, want.Pages, want.Exact, want.Candidates, want.Near)
			}
			for i := range digests {
				if got.Sets.Find(uint32(i)) != want.Sets.Find(uint32(i)) {
					t.Fatalf("seed %d: page %d is in set %d, want %d", seed, i, got.Sets.Find(uint32(i)),
						want.Sets.Find(uint32(i)))
				}
			}
		}
		if want.Near == 0 || want.Exact == 0 {
			t.Errorf("seed %d: nothing to find", seed)
		}
	}
}

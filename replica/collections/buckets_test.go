// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"mirrord/replica/hash"
	"mirrord/replica/text"
	"mirrord/replica/unionfind"
)

// plainBuckets is what a bucketer does, in the obvious way: the buckets of several pages, in order.
func plainBuckets(keys []uint32, pages bitmap) [][]uint64 {
	var entries []uint64
	for i, k := range keys {
		if pages.has(i) {
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

// For all keys and memory sizes, the buckets are those of the obvious way, and no more entries are held
// than may be.
func TestBuckets(t *testing.T) {
	kinds := map[string]func(r *rand.Rand, i int) uint32{
		"all differ":        func(r *rand.Rand, i int) uint32 { return uint32(i) * 0x9e3779b1 },
		"random":            func(r *rand.Rand, i int) uint32 { return r.Uint32() },
		"few":               func(r *rand.Rand, i int) uint32 { return r.Uint32N(50) * 0x9e3779b1 },
		"one":               func(r *rand.Rand, i int) uint32 { return 0xffffffff },
		"none but zero":     func(r *rand.Rand, i int) uint32 { return 0 },
		"small":             func(r *rand.Rand, i int) uint32 { return r.Uint32N(3000) },
		"large":             func(r *rand.Rand, i int) uint32 { return -r.Uint32N(3000) },
		"half of one":       func(r *rand.Rand, i int) uint32 { return uint32(i%2) * r.Uint32() },
		"one and its likes": func(r *rand.Rand, i int) uint32 { return 0x12345678 ^ r.Uint32N(2)<<(i%32) },
	}
	for kind, key := range kinds {
		for _, n := range []int{0, 1, 2, 130, 5000, 60_000} {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			keys, pages := make([]uint32, n), newBitmap(n)
			for i := range keys {
				if keys[i] = key(r, i); r.IntN(9) > 0 {
					pages.add(i)
				}
			}
			want := plainBuckets(keys, pages)
			for _, limit := range []int{16, 1000, n} {
				if limit == 0 || n/limit > 400 {
					continue
				}
				const chunk = 777
				var got [][]uint64
				b := bucketer{limit: limit, pages: pages}
				b.emit = func(sorted []uint64) error {
					if n > limit && len(sorted) > limit+chunk {
						t.Fatalf("%s: %d entries at once, at most %d are held", kind, len(sorted), limit)
					}
					eachBucket(sorted, func(b []uint64) {
						if last := len(got) - 1; last >= 0 && got[last][0]>>32 == b[0]>>32 {
							got[last] = append(got[last], b...)
						} else {
							got = append(got, slices.Clone(b))
						}
					})
					return nil
				}
				b.large = b.emit
				err := b.band(func(visit func(int, []uint32) error) error {
					from := 0
					for part := range slices.Chunk(keys, chunk) {
						if err := visit(from, part); err != nil {
							return err
						}
						from += len(part)
					}
					return nil
				}, n)
				got = slices.DeleteFunc(got, func(b []uint64) bool { return len(b) < 2 })
				if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s, %d pages, limit %d: %v, %d buckets, want %d", kind, n, limit, err, len(got), len(want))
				}
				if len(b.entries) > limit+chunk {
					t.Errorf("%s, %d pages: %d entries were held, at most %d", kind, n, len(b.entries), limit)
				}
			}
		}
	}
}

// An error of the file or of what takes the buckets ends it.
func TestBucketsEnd(t *testing.T) {
	pages := newBitmap(1000)
	for i := range 1000 {
		pages.add(i)
	}
	for _, limit := range []int{10, 1000} {
		for end := range 4 {
			n := 0
			stop := func() error {
				if n++; n > end {
					return errSpill
				}
				return nil
			}
			b := bucketer{limit: limit, pages: pages, emit: func([]uint64) error { return stop() }}
			b.large = b.emit
			err := b.band(func(visit func(int, []uint32) error) error {
				if err := stop(); err != nil {
					return err
				}
				return visit(0, make([]uint32, 1000))
			}, 1000)
			if limit == 1000 && end == 3 {
				err = errSpill // it takes three steps
			}
			if err != errSpill {
				t.Errorf("limit %d, end %d: %v", limit, end, err)
			}
		}
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
	distinct := newBitmap(len(digests))
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
		distinct.add(i)
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
		got, want := grouped(t, digests, o), plainGroup(digests, o)
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
		if want.Near == 0 || want.Exact == 0 {
			t.Errorf("seed %d: nothing to find", seed)
		}
	}
}

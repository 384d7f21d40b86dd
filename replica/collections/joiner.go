// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"mirrord/replica/text"
	"mirrord/replica/unionfind"
)

// joiner compares the pages of buckets as joinBucket does, with sketches that lie on disk. Entries come in
// order; a window of them is looked at together, so that the sketches that are needed are read in the order
// in which they lie.
type joiner struct {
	digests     *pile
	sets        *unionfind.Sets
	least, most int
	limit       int // entries of a window
	g           *Grouped
	tick        func(n int) error // receives the pages read or compared; an error ends it

	window []uint64
	// entries of the window whose sketches may be needed: page in the upper half, place in the window in the
	// lower
	need, spare []uint64
	got         []text.Sketch // of the entries of the window, if needed
	has         bitmap        // whose sketches were needed
	block       []byte

	key   uint64 // of the bucket that is looked at
	reps  [64]uint32
	known [64]bool // whose sketches are in of
	of    [64]text.Sketch
	n     int
}

// windowSize is what an entry of a window takes.
const windowSize = 8 + 2*8 + text.Bins

// begin forgets the bucket before: entries of another band follow.
func (j *joiner) begin() { j.window, j.n = j.window[:0], 0 }

// add takes the entries of a bucket, or some of them when the others follow.
func (j *joiner) add(bucket []uint64) error {
	for len(bucket) > 0 {
		n := min(len(bucket), j.limit-len(j.window))
		j.window = append(j.window, bucket[:n]...)
		if bucket = bucket[n:]; len(j.window) == j.limit {
			if err := j.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *joiner) flush() error {
	if len(j.window) == 0 {
		return nil
	}
	j.need, j.has = j.need[:0], j.has[:0]
	for range (len(j.window) + 63) / 64 {
		j.has = append(j.has, 0)
	}
	at := 0
	eachBucket(j.window, func(part []uint64) {
		if j.mixed(part) {
			for i, e := range part {
				j.need = append(j.need, e<<32|uint64(at+i))
			}
		}
		at += len(part)
	})
	if len(j.got) < len(j.window) {
		n := min(j.limit, 2*len(j.window))
		j.spare, j.got = make([]uint64, n), make([]text.Sketch, n)
	}
	if err := j.load(sortHigh(j.need, j.spare)); err != nil {
		return err
	}
	for i, e := range j.window {
		if err := j.join(e, i); err != nil {
			return err
		}
		if err := j.tick(1); err != nil {
			return err
		}
	}
	j.window = j.window[:0]
	return nil
}

// mixed says whether a part of a bucket, or what came of the bucket before it, is of several sets: only then
// sketches are compared.
func (j *joiner) mixed(part []uint64) bool {
	set := j.sets.Find(uint32(part[0]))
	if j.n > 0 && part[0]>>32 == j.key {
		for _, rep := range j.reps[:j.n] {
			if j.sets.Find(rep) != set {
				return true
			}
		}
	}
	for _, e := range part[1:] {
		if j.sets.Find(uint32(e)) != set {
			return true
		}
	}
	return false
}

// load reads the sketches that are needed, those that lie near to one another at once.
func (j *joiner) load(need []uint64) error {
	const most, gap = 256 << 10, 24 // bytes of a block; pages between two that are read for nothing
	if j.block == nil {
		j.block = make([]byte, most)
	}
	for from := 0; from < len(need); {
		first := need[from] >> 32
		to := from + 1
		for to < len(need) && need[to]>>32-need[to-1]>>32 <= gap && int(need[to]>>32-first+1)*digestSize <= most {
			to++
		}
		block := j.block[:int(need[to-1]>>32-first+1)*digestSize]
		if _, err := j.digests.ReadAt(block, int64(first)*digestSize); err != nil {
			return err
		}
		for _, e := range need[from:to] {
			place := int(uint32(e))
			copy(j.got[place][:], block[int(e>>32-first)*digestSize+8:])
			j.has.add(place)
		}
		if err := j.tick(len(block) / digestSize); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// sketch gives that of a page: of those that were loaded, or, rarely, from disk.
func (j *joiner) sketch(page uint32, s *text.Sketch) error {
	_, err := j.digests.ReadAt(s[:], int64(page)*digestSize+8)
	return err
}

// join compares one page with the representatives of its bucket.
func (j *joiner) join(e uint64, place int) error {
	if e>>32 != j.key {
		j.n = 0
	}
	j.key = e >> 32
	page, most := uint32(e), min(j.most, len(j.reps))
	alike, read := false, j.has.has(place)
	var own *text.Sketch
	if read {
		own = &j.got[place]
	}
	for i, rep := range j.reps[:j.n] {
		if j.sets.Find(rep) == j.sets.Find(page) {
			alike = true
			break
		}
		if !j.known[i] {
			if err := j.sketch(rep, &j.of[i]); err != nil {
				return err
			}
			j.known[i] = true
		}
		j.g.Candidates++
		if j.of[i].Equal(own) >= j.least {
			j.sets.Union(rep, page)
			j.g.Near++
			alike = true
		}
	}
	if !alike && j.n < most {
		j.reps[j.n], j.known[j.n] = page, read
		if read {
			j.of[j.n] = *own
		}
		j.n++
	}
	return nil
}

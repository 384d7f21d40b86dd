package replica

import (
	"slices"
)

// joiner compares the pages of buckets as joinBucket does, with sketches that lie on disk. Entries come in order; a window of them is looked
// at together, so that the sketches that are needed are read in the order in which they lie.
type joiner struct {
	digests     *pile
	sets        *Sets
	least, most int
	limit       int // entries of a window
	g           *Grouped

	window []uint64
	need   []uint32 // pages of the window whose sketches may be asked for, ascending
	got    []Sketch // theirs
	block  []byte

	key   uint64 // of the bucket that is looked at
	reps  [64]uint32
	known [64]bool // whose sketches are in sketch
	of    [64]Sketch
	n     int
}

// begin forgets the bucket before: entries of another band follow.
func (j *joiner) begin() { j.window, j.n = j.window[:0], 0 }

func (j *joiner) add(e uint64) error {
	j.window = append(j.window, e)
	if len(j.window) >= j.limit {
		return j.flush()
	}
	return nil
}

func (j *joiner) flush() error {
	j.need = j.need[:0]
	eachBucket(j.window, func(part []uint64) {
		if first := j.sets.Find(uint32(part[0])); j.mixed(part, first) {
			for _, e := range part {
				j.need = append(j.need, uint32(e))
			}
		}
	})
	slices.Sort(j.need)
	if err := j.load(); err != nil {
		return err
	}
	for _, e := range j.window {
		if err := j.join(e); err != nil {
			return err
		}
	}
	j.window = j.window[:0]
	return nil
}

// mixed says whether a part of a bucket, or what came of the bucket before it, is of several sets: only then sketches are compared.
func (j *joiner) mixed(part []uint64, set uint32) bool {
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
func (j *joiner) load() error {
	const most, gap = 256 << 10, 32 // bytes of a block; pages between two that are read for nothing
	j.got = j.got[:0]
	for from := 0; from < len(j.need); {
		to := from + 1
		for to < len(j.need) && j.need[to]-j.need[to-1] <= gap && int(j.need[to]-j.need[from]+1)*digestSize <= most {
			to++
		}
		first := j.need[from]
		size := int(j.need[to-1]-first+1) * digestSize
		j.block = slices.Grow(j.block[:0], size)[:size]
		if _, err := j.digests.ReadAt(j.block, int64(first)*digestSize); err != nil {
			return err
		}
		for _, page := range j.need[from:to] {
			j.got = append(j.got, Sketch(j.block[int(page-first)*digestSize+8:][:Bins]))
		}
		from = to
	}
	return nil
}

// sketch gives that of a page: of those that were loaded, or, seldom, from disk.
func (j *joiner) sketch(page uint32) (s Sketch, err error) {
	if i, ok := slices.BinarySearch(j.need, page); ok {
		return j.got[i], nil
	}
	_, err = j.digests.ReadAt(s[:], int64(page)*digestSize+8)
	return s, err
}

// join compares one page with the representatives of its bucket.
func (j *joiner) join(e uint64) error {
	if e>>32 != j.key {
		j.n = 0
	}
	j.key = e >> 32
	page, most := uint32(e), min(j.most, len(j.reps))
	var own Sketch
	read, alike := false, false
	for i, rep := range j.reps[:j.n] {
		if j.sets.Find(rep) == j.sets.Find(page) {
			alike = true
			break
		}
		var err error
		if !j.known[i] {
			if j.of[i], err = j.sketch(rep); err != nil {
				return err
			}
			j.known[i] = true
		}
		if !read {
			if own, err = j.sketch(page); err != nil {
				return err
			}
			read = true
		}
		j.g.Candidates++
		if j.of[i].equal(&own) >= j.least {
			j.sets.Union(rep, page)
			j.g.Near++
			alike = true
		}
	}
	if !alike && j.n < most {
		j.reps[j.n], j.known[j.n], j.of[j.n] = page, read, own
		j.n++
	}
	return nil
}

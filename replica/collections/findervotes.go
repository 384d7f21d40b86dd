// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bufio"
	"io"

	"mirrord/replica/text"
	"mirrord/replica/unionfind"
)

// vote adds the votes of all groups: their members are sorted, and each is paired with those that follow it.
func (f *Finder) vote(sets *unionfind.Sets) error {
	if err := f.readMembers(sets); err != nil {
		return err
	}
	var failed error
	w := newPairing(f.Votes, &f.votes.totals, func(flat bool, v vote) {
		to := &f.plain
		if flat {
			to = &f.flat
		}
		if failed == nil {
			failed = to.add(v)
		}
	})
	if err := f.begin("compare directories", f.pages); err != nil {
		return err
	}
	sketches := make([]text.Sketch, min(w.most, f.pages)+1) // those of the window
	group := uint32(0)
	for s, err := range f.members.all() {
		if err != nil {
			return err
		}
		set, m := s.unpack(&sketches[f.done%len(sketches)])
		if set != group {
			group = set
			w.begin()
		}
		w.add(m)
		f.done++
		if failed == nil {
			failed = f.tick(len(w.last))
		}
		if failed != nil {
			return failed
		}
	}
	return inTurn(f.members.close, f.plain.settle, f.flat.settle)
}

// readMembers reads the pages again, for those that are not alone.
func (f *Finder) readMembers(sets *unionfind.Sets) error {
	if err := f.begin("read pages again", f.pages); err != nil {
		return err
	}
	together := newBitmap(f.pages)
	for i := range f.pages {
		if err := f.tick(1); err != nil {
			return err
		}
		if root := sets.Find(uint32(i)); root != uint32(i) {
			together.add(i)
			together.add(int(root))
		}
	}
	again := f.votes.totals.again()
	places := placeReader{places: &f.places, size: 64 << 10}
	digests := bufio.NewReaderSize(io.NewSectionReader(&f.digests, 0, f.digests.len()), 64<<10)
	for f.done = 0; f.done < f.pages; f.done++ {
		i := f.done
		if err := f.tick(1); err != nil {
			return err
		}
		if err := places.next(); err != nil {
			return err
		}
		digest, err := take(digests, digestSize)
		if err != nil {
			return err
		}
		switch {
		case !again:
		case places.sameDir:
			f.votes.totals.n++
		default:
			f.votes.totals.add(Address{string(places.host), string(places.path)})
		}
		if !together.has(i) {
			continue
		}
		if err := f.addMember(sets.Find(uint32(i)), uint32(i), places.host, places.path, digest); err != nil {
			return err
		}
	}
	f.votes.totals.settle()
	return nil
}

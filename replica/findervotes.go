package replica

import (
	"bufio"
	"io"
	"slices"
)

// vote adds the votes of all groups: their members are sorted, and each is paired with those that follow it.
func (f *Finder) vote(sets *Sets) error {
	if err := f.readMembers(sets); err != nil {
		return err
	}
	var failed error
	w := pairing{least: f.votes.least, most: f.o.Votes.Window, keep: func(flat bool, v vote) {
		to := &f.plain
		if flat {
			to = &f.flat
		}
		if failed == nil {
			failed = to.add(v)
		}
	}}
	if err := f.begin("compare directories", f.pages); err != nil {
		return err
	}
	sketches := make([]Sketch, w.most+1) // those of the window
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
			failed = f.tick(w.most / 4)
		}
		if failed != nil {
			return failed
		}
	}
	return inTurn(f.members.close, f.digests.close, f.plain.settle, f.flat.settle)
}

// readMembers reads the pages again, for those that are not alone.
func (f *Finder) readMembers(sets *Sets) error {
	if err := f.begin("read pages again", f.pages); err != nil {
		return err
	}
	together := newBitmap(f.pages)
	for i := range f.pages {
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

// count takes the votes by key, and as many of them at a time as fit, with the addresses of their pages.
func (f *Finder) count(votes *sorter[vote], count func([]vote)) error {
	const voteSize = 16 + 2*100 // with the addresses of two pages
	limit := max(f.budget/8/voteSize, 64)
	var batch []vote
	flush := func() error {
		var pages []uint32
		for _, v := range batch {
			pages = append(pages, v.p, v.q)
		}
		slices.Sort(pages)
		pages = slices.Compact(pages)
		places, err := f.places.of(pages, f.tick)
		if err != nil {
			return err
		}
		f.votes.at = func(page uint32) Address {
			i, _ := slices.BinarySearch(pages, page)
			return places[i]
		}
		for from := 0; from < len(batch); {
			to := from + 1
			for to < len(batch) && batch[to].key == batch[from].key {
				to++
			}
			count(batch[from:to])
			from = to
		}
		batch = batch[:0]
		return nil
	}
	err := eachKey(votes.all(), f.o.Votes.Pages, func(same []vote) error {
		if f.votes.bothSides(same) < f.o.Votes.Pages {
			return f.tick(len(same))
		}
		if batch = append(batch, same...); len(batch) >= limit {
			return flush()
		}
		return f.tick(len(same))
	})
	if err != nil {
		return err
	}
	return inTurn(flush, votes.close)
}

// SPDX-License-Identifier: Apache-2.0

package collections

import "mirrord/replica/unionfind"

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
	group := uint32(0)
	for s, err := range f.members.all() {
		if err != nil {
			return err
		}
		if s.set() != group {
			group = s.set()
			w.begin()
		}
		w.add(s.unpack())
		f.done++
		if failed == nil {
			failed = f.tick(len(w.last))
		}
		if failed != nil {
			return failed
		}
	}
	return f.members.close()
}

// readMembers reads the pages again, for those that are not alone.
func (f *Finder) readMembers(sets *unionfind.Sets) error {
	together := make([]bool, f.pages)
	for i := range f.pages {
		if root := sets.Find(uint32(i)); root != uint32(i) {
			together[i], together[root] = true, true
		}
	}
	again := f.votes.totals.again()
	err := f.eachPage("read pages again", func(a Address, digest []byte) error {
		if again {
			f.votes.totals.add(a)
		}
		if !together[f.done] {
			return nil
		}
		page := uint32(f.done)
		return f.members.add(packMember(sets.Find(page), page, a, digest))
	})
	f.votes.totals.settle()
	return err
}

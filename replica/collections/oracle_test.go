// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"mirrord/replica/text"
	"mirrord/replica/unionfind"
)

// grouped is what a Finder joins.
func grouped(t testing.TB, digests []text.ContentDigest, o GroupOptions, memory int64) Grouped {
	t.Helper()
	f := NewFinder(&memorySpill{}, FinderOptions{FindOptions: FindOptions{Group: o}, Memory: memory})
	for _, d := range digests {
		if err := f.Add(Address{"h.test", "/"}, d); err != nil {
			t.Fatal(err)
		}
	}
	g, err := f.group()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	return g
}

// plainPairs finds the directories that a Finder finds, with all votes in memory.
func plainPairs(pages []Address, digests []text.ContentDigest, groups *unionfind.Sets, o Votes) []DirPair {
	o = o.withDefaults()
	d := plainVotes{
		dirVotes: newDirVotes(o, 1<<30),
		at:       func(page uint32) Address { return pages[page] },
	}
	for _, a := range pages {
		d.totals.add(a)
	}
	d.totals.settle()
	var plain, flat []vote
	w := newPairing(o, &d.totals, func(isFlat bool, v vote) {
		if isFlat {
			flat = append(flat, v)
		} else {
			plain = append(plain, v)
		}
	})
	for _, members := range groups.All(2) {
		pairUp(&w, pages, digests, members)
	}
	eachKey(plain, o.Pages, d.count)
	eachKey(flat, o.Pages, d.countFlat)
	return d.pairs()
}

// pairUp adds the votes of a group.
func pairUp(w *pairing, pages []Address, digests []text.ContentDigest, members []uint32) {
	slices.SortFunc(members, func(a, b uint32) int {
		if c := plainEnds(pages[a].Path, pages[b].Path); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(pages[a].Host, pages[b].Host), cmp.Compare(a, b))
	})
	w.begin()
	for _, p := range members {
		w.add(member{
			page:   p,
			at:     pages[p],
			text:   digests[p].Text,
			words:  digests[p].Words,
			sketch: &digests[p].Sketch,
		})
	}
}

// eachKey calls f with the votes of each key that are least or more.
func eachKey(votes []vote, least int, f func([]vote)) {
	slices.SortFunc(votes, vote.compare)
	for from := 0; from < len(votes); {
		to := from + 1
		for to < len(votes) && votes[to].key == votes[from].key {
			to++
		}
		if to-from >= least {
			f(votes[from:to])
		}
		from = to
	}
}

// plainEnds orders paths by their last bytes first, those that differ only in what commonEnds passes over
// together.
func plainEnds(a, b string) int {
	i, j := len(a)-extension(a), len(b)-extension(b)
	for i > 0 && j > 0 {
		i, j = i-1, j-1
		if c, d := small(a[i]), small(b[j]); c != d {
			return cmp.Compare(c, d)
		}
	}
	if i != j {
		return cmp.Compare(i, j)
	}
	return strings.Compare(a, b)
}

func sameEnds(a, b string) bool {
	n, _ := commonEnds(a, b)
	return n > 0
}

// plainVotes is dirVotes with all addresses of the votes of a key in memory, sorted by path.
type plainVotes struct {
	dirVotes
	at     func(page uint32) Address
	placed []placedVote // of the two directories that are compared
}

// placedVote is a vote with the paths of its pages.
type placedVote struct {
	vote
	path, other string
}

// place looks up the addresses of the pages of votes, and leaves out those that fit says no to: their key is
// that of others by chance, or by intention.
func (d *plainVotes) place(votes []vote, fits func(p, q Address) bool) {
	d.placed = d.placed[:0]
	for _, v := range votes {
		if p, q := d.at(v.p), d.at(v.q); fits(p, q) {
			d.placed = append(d.placed, placedVote{v, p.Path, q.Path})
		}
	}
	slices.SortFunc(d.placed, func(x, y placedVote) int {
		if c := strings.Compare(x.path, y.path); c != 0 {
			return c
		}
		return x.vote.compare(y.vote)
	})
}

// count looks at the votes for two directories: accepted as a whole, or else by their
// subdirectories of the same name.
func (d *plainVotes) count(votes []vote) {
	if d.bothSides(votes) < d.Pages {
		return
	}
	a, b := rootsOf(d.at(votes[0].p), d.at(votes[0].q))
	d.place(votes, func(p, q Address) bool { return belongs(a, b, p, q) })
	d.descend(a, b, d.placed)
}

// descend looks at votes for a and b, by path.
func (d *plainVotes) descend(a, b Address, votes []placedVote) {
	shared := d.shared(votes)
	ofA, ofB := d.totals.below(a), d.totals.below(b)
	if shared < d.Pages || ofA == 0 || ofB == 0 { // not counted: too deep
		return
	}
	if d.enough(shared, ofA, ofB) {
		d.accept(a, b, votes[0].path, votes[0].other, shared)
		return
	}
	child := func(v *placedVote) (here, there string) {
		return childOf(v.path[len(a.Path):]), childOf(v.other[len(b.Path):])
	}
	slices.SortStableFunc(votes, func(v, w placedVote) int {
		x, y := child(&v)
		z, u := child(&w)
		return cmp.Or(strings.Compare(x, z), strings.Compare(y, u))
	})
	for from := 0; from < len(votes); {
		x, y := child(&votes[from])
		to := from + 1
		for ; to < len(votes); to++ {
			if z, u := child(&votes[to]); z != x || u != y {
				break
			}
		}
		if x != "" {
			d.descend(Address{a.Host, a.Path + x}, Address{b.Host, b.Path + y}, votes[from:to])
		}
		from = to
	}
}

// countFlat looks at the votes for a host and a directory b elsewhere whose files are named in another way:
// they may come from a whole tree, whose root is the deepest directory of the host that has most of them.
func (d *plainVotes) countFlat(votes []vote) {
	if d.bothSides(votes) < d.Pages {
		return
	}
	a, b := d.at(votes[0].p), d.at(votes[0].q)
	b.Path = dirOf(b.Path)
	d.place(votes, func(p, q Address) bool {
		return p.Host == a.Host && q.Host == b.Host && dirOf(q.Path) == b.Path
	})
	below := dirCounts{}
	for from := 0; from < len(d.placed); {
		dir := dirOf(d.placed[from].path)
		to := from + 1
		for to < len(d.placed) && dirOf(d.placed[to].path) == dir {
			to++
		}
		for range d.placed[from:to] {
			below.add(dir)
		}
		from = to
	}
	a.Path = below.root(len(d.placed))
	d.placed = slices.DeleteFunc(d.placed, func(v placedVote) bool { return !strings.HasPrefix(v.path, a.Path) })
	d.acceptFlat(a, b, d.shared(d.placed))
}

// acceptFlat keeps a tree and a directory that its files lie in under other names, if they share enough.
func (d *plainVotes) acceptFlat(a, b Address, shared int) {
	if a.Path == "" ||
		(a.Host == b.Host && (strings.HasPrefix(a.Path, b.Path) || strings.HasPrefix(b.Path, a.Path))) {
		return
	}
	ofA, ofB := d.totals.below(a), d.totals.below(b)
	if !d.enough(shared, ofA, ofB) {
		return
	}
	d.found(DirPair{
		A:     a,
		B:     b,
		Pages: shared,
		OfA:   ofA,
		OfB:   ofB,
	})
}

// shared is bothSides of votes that are by path.
func (d *plainVotes) shared(votes []placedVote) int {
	if len(votes) < d.Pages {
		return 0
	}
	n := len(votes)
	for _, of := range []func(v *placedVote) uint32{
		func(v *placedVote) uint32 { return v.p }, func(v *placedVote) uint32 { return v.q },
	} {
		d.pages = d.pages[:0]
		for i := range votes {
			d.pages = append(d.pages, of(&votes[i]))
		}
		slices.Sort(d.pages)
		n = min(n, len(slices.Compact(d.pages)))
	}
	return n
}

// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"slices"
	"strings"
)

// dirVotes makes pairs of directories of votes.
type dirVotes struct {
	Votes
	totals dirTotals
	at     func(page uint32) Address // of a page that there is a vote for
	out    []DirPair

	placed []placedVote // of the two directories that are looked at
	pages  []uint32
}

// placedVote is a vote with the paths of its pages.
type placedVote struct {
	vote
	path, other string
}

func newDirVotes(o Votes, dirs int) dirVotes {
	return dirVotes{Votes: o, totals: newDirTotals(o.Pages, dirs)}
}

// place looks up the addresses of the pages of votes, and leaves out those that fit says no to: their key is
// that of others by chance, or by intention.
func (d *dirVotes) place(votes []vote, fits func(p, q Address) bool) {
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

// rootsOf are the directories that a vote for two pages is for: their paths without their common ends.
func rootsOf(p, q Address) (a, b Address) {
	if n, m := commonEnds(p.Path, q.Path); n > 0 {
		return Address{p.Host, p.Path[:len(p.Path)-n]}, Address{q.Host, q.Path[:len(q.Path)-m]}
	}
	return Address{p.Host, dirOf(p.Path)}, Address{q.Host, dirOf(q.Path)}
}

// belongs says whether a vote for two pages is one for a and b: what the paths have behind these is the same
// but for what commonEnds passes over, or are names of files.
func belongs(a, b, p, q Address) bool {
	if p.Host != a.Host || q.Host != b.Host || !strings.HasPrefix(p.Path, a.Path) ||
		!strings.HasPrefix(q.Path, b.Path) {
		return false
	}
	x, y := p.Path[len(a.Path):], q.Path[len(b.Path):]
	return sameRelative(x, y) || (childOf(x) == "" && childOf(y) == "")
}

// count looks at the votes for the two directories that roots says: accepted as a whole, or else by their
// subdirectories of the same name.
func (d *dirVotes) count(votes []vote, roots func(p, q Address) (a, b Address)) {
	if d.bothSides(votes) < d.Pages {
		return
	}
	a, b := roots(d.at(votes[0].p), d.at(votes[0].q))
	d.place(votes, func(p, q Address) bool { return belongs(a, b, p, q) })
	d.descend(a, b, d.placed)
}

// descend looks at votes for a and b, by path.
func (d *dirVotes) descend(a, b Address, votes []placedVote) {
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

// enough says whether two directories of so many pages share enough.
func (d *dirVotes) enough(shared, ofA, ofB int) bool {
	return shared >= d.Pages && ofA > 0 && ofB > 0 && float64(shared) >= d.Share*float64(min(ofA, ofB))
}

// accept keeps a pair of directories. Where all of it is in one subdirectory, that is the root; path and
// other are of pages that there is a vote for.
func (d *dirVotes) accept(a, b Address, path, other string, shared int) {
	ofA, ofB := d.totals.below(a), d.totals.below(b)
	for {
		name := childOf(path[len(a.Path):])
		if !sameFold(name, childOf(other[len(b.Path):])) {
			break
		}
		x, y := Address{a.Host, a.Path + name}, Address{b.Host, other[:len(b.Path)+len(name)]}
		if name == "" || d.totals.below(x) != ofA || d.totals.below(y) != ofB {
			break
		}
		a, b = x, y
	}
	d.found(DirPair{
		A:     a,
		B:     b,
		Pages: shared,
		OfA:   ofA,
		OfB:   ofB,
	})
}

// found keeps a pair, the directory with the lesser key first: it may be found by votes for others above it,
// and by those for itself.
func (d *dirVotes) found(p DirPair) {
	if p.B.key() < p.A.key() {
		p = DirPair{
			A:     p.B,
			B:     p.A,
			Pages: p.Pages,
			OfA:   p.OfB,
			OfB:   p.OfA,
		}
	}
	d.out = append(d.out, p)
}

// countFlat looks at the votes for a host and a directory b elsewhere whose files are named in another way:
// they may come from a whole tree, whose root is the deepest directory of the host that has most of them.
func (d *dirVotes) countFlat(votes []vote) {
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
		below.add(dir, to-from)
		from = to
	}
	a.Path = below.root(len(d.placed))
	d.placed = slices.DeleteFunc(d.placed, func(v placedVote) bool { return !strings.HasPrefix(v.path, a.Path) })
	d.acceptFlat(a, b, d.shared(d.placed))
}

// acceptFlat keeps a tree and a directory that its files lie in under other names, if they share enough.
func (d *dirVotes) acceptFlat(a, b Address, shared int) {
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

// dirCounts are numbers of votes below directories of a host.
type dirCounts map[string]int

func (c dirCounts) add(dir string, n int) {
	for ; ; dir = dirOf(dir[:len(dir)-1]) {
		c[dir] += n
		if len(dir) <= 1 {
			return
		}
	}
}

// root is the deepest directory that has most of n votes; "" without one.
func (c dirCounts) root(n int) string {
	root := ""
	for dir, m := range c {
		if len(dir) > len(root) && float64(m) >= most*float64(n) {
			root = dir
		}
	}
	return root
}

// most is the share of the votes that the root of a renamed tree has.
const most = 0.9

// childOf is the first directory of a relative path, with its slash; "" of a file.
func childOf(rel string) string { return rel[:strings.IndexByte(rel, '/')+1] }

// bothSides is how many pages of the one directory, or of the other if these are fewer, there are votes for.
// Votes are by p.
func (d *dirVotes) bothSides(votes []vote) int {
	n, last := 0, uint32(0)
	d.pages = d.pages[:0]
	for i := range votes {
		if v := &votes[i]; i == 0 || v.p != last {
			n, last = n+1, v.p
		}
		d.pages = append(d.pages, votes[i].q)
	}
	if n < d.Pages {
		return n
	}
	slices.Sort(d.pages)
	return min(n, len(slices.Compact(d.pages)))
}

// shared is bothSides of votes that are by path.
func (d *dirVotes) shared(votes []placedVote) int {
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

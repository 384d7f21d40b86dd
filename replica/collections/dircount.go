// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"slices"
	"strings"

	"mirrord/replica/hash"
)

// dirVotes makes pairs of directories of votes.
type dirVotes struct {
	Votes
	totals dirTotals
	at     func(page uint32) (Address, error) // of a page that there is a vote for
	err    error                              // of at
	out    []DirPair
	pages  []uint32
}

func newDirVotes(o Votes, dirs int) dirVotes {
	return dirVotes{Votes: o, totals: newDirTotals(o.Pages, dirs)}
}

// place is where a page lies, nowhere after an error.
func (d *dirVotes) place(page uint32) (a Address) {
	if d.err == nil {
		a, d.err = d.at(page)
	}
	return a
}

// keep drops the votes that fits says no to: their key is that of others by chance, or by intention.
func (d *dirVotes) keep(votes []vote, fits func(v *vote, p, q Address) bool) []vote {
	n := 0
	for _, v := range votes {
		p, q := d.place(v.p), d.place(v.q)
		if d.err == nil && fits(&v, p, q) {
			votes[n] = v
			n++
		}
	}
	return votes[:n]
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

// count looks at the votes for two directories.
func (d *dirVotes) count(votes []vote) {
	if d.bothSides(votes) >= d.Pages {
		a, b := rootsOf(d.place(votes[0].p), d.place(votes[0].q))
		d.descend(a, b, votes)
	}
}

// descend looks at votes for a and b: accepted as a whole, or else by their subdirectories of the same name.
func (d *dirVotes) descend(a, b Address, votes []vote) {
	var path, other string
	votes = d.keep(votes, func(v *vote, p, q Address) bool {
		if !belongs(a, b, p, q) {
			return false
		}
		path, other, v.key = p.Path, q.Path, 0
		if name := childOf(p.Path[len(a.Path):]); name != "" {
			v.key = keyOf(hash.Token(name), hash.Token(childOf(q.Path[len(b.Path):])))
		}
		return true
	})
	shared, ofA, ofB := d.bothSides(votes), d.totals.below(a), d.totals.below(b)
	if d.enough(shared, ofA, ofB) {
		d.accept(a, b, path, other, shared)
		return
	}
	if shared < d.Pages || ofA == 0 || ofB == 0 {
		return
	}
	slices.SortFunc(votes, vote.compare)
	for same := range runs(votes, func(v, w vote) bool { return v.key == w.key }) {
		if same[0].key == 0 || d.bothSides(same) < d.Pages {
			continue
		}
		p, q := d.place(same[0].p), d.place(same[0].q)
		if d.err != nil {
			return
		}
		d.descend(Address{a.Host, a.Path + childOf(p.Path[len(a.Path):])},
			Address{b.Host, b.Path + childOf(q.Path[len(b.Path):])}, same)
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
	a, b := d.place(votes[0].p), d.place(votes[0].q)
	b.Path = dirOf(b.Path)
	below := dirCounts{}
	votes = d.keep(votes, func(_ *vote, p, q Address) bool {
		fits := p.Host == a.Host && q.Host == b.Host && dirOf(q.Path) == b.Path
		if fits {
			below.add(dirOf(p.Path))
		}
		return fits
	})
	if a.Path = below.root(len(votes)); a.Path == "" ||
		(a.Host == b.Host && (strings.HasPrefix(a.Path, b.Path) || strings.HasPrefix(b.Path, a.Path))) {
		return
	}
	votes = d.keep(votes, func(_ *vote, p, _ Address) bool { return strings.HasPrefix(p.Path, a.Path) })
	shared, ofA, ofB := d.bothSides(votes), d.totals.below(a), d.totals.below(b)
	if d.enough(shared, ofA, ofB) {
		d.found(DirPair{
			A:     a,
			B:     b,
			Pages: shared,
			OfA:   ofA,
			OfB:   ofB,
		})
	}
}

// dirCounts are numbers of votes below directories of a host.
type dirCounts map[string]int

func (c dirCounts) add(dir string) {
	for ; ; dir = dirOf(dir[:len(dir)-1]) {
		c[dir]++
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

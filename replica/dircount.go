package replica

import (
	"slices"
	"strings"
)

// dirVotes makes pairs of directories of votes.
type dirVotes struct {
	o      Votes
	least  int // equal bytes of two sketches
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
	return dirVotes{o: o, least: leastEqual(o.Resemblance), totals: newDirTotals(o.Pages, dirs)}
}

// place looks up the addresses of the pages of votes, and leaves out those that fit says no to: their key is that of others by chance, or because
// somebody made it so.
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

// count looks at the votes for two directories: accepted as a whole, or else by their subdirectories of the same name.
func (d *dirVotes) count(votes []vote) {
	if d.bothSides(votes) < d.o.Pages {
		return
	}
	a, b := d.at(votes[0].p), d.at(votes[0].q)
	if n := commonEnd(a.Path, b.Path); n > 0 {
		a.Path, b.Path = a.Path[:len(a.Path)-n], b.Path[:len(b.Path)-n]
	} else {
		a.Path, b.Path = dirOf(a.Path), dirOf(b.Path)
	}
	d.place(votes, func(p, q Address) bool {
		if p.Host != a.Host || q.Host != b.Host || !strings.HasPrefix(p.Path, a.Path) || !strings.HasPrefix(q.Path, b.Path) {
			return false
		}
		x, y := p.Path[len(a.Path):], q.Path[len(b.Path):]
		return x == y || childOf(x) == "" && childOf(y) == ""
	})
	d.descend(a, b, d.placed)
}

// descend looks at votes below a and b, by path. What the pages have behind these is the same, or are names of files.
func (d *dirVotes) descend(a, b Address, votes []placedVote) {
	shared := d.shared(votes)
	ofA, ofB := d.totals.below(a), d.totals.below(b)
	if shared < d.o.Pages || ofA == 0 || ofB == 0 { // not counted: too deep
		return
	}
	if float64(shared) >= d.o.Share*float64(min(ofA, ofB)) {
		d.accept(a, b, votes[0].path, shared)
		return
	}
	for from := 0; from < len(votes); {
		name := childOf(votes[from].path[len(a.Path):])
		to := from + 1
		for to < len(votes) && childOf(votes[to].path[len(a.Path):]) == name {
			to++
		}
		if name != "" {
			d.descend(Address{a.Host, a.Path + name}, Address{b.Host, b.Path + name}, votes[from:to])
		}
		from = to
	}
}

// accept keeps a pair of directories. Where all of it lies in one subdirectory, that is the root; path is that of some page of a.
func (d *dirVotes) accept(a, b Address, path string, shared int) {
	ofA, ofB := d.totals.below(a), d.totals.below(b)
	for {
		name := childOf(path[len(a.Path):])
		x, y := Address{a.Host, a.Path + name}, Address{b.Host, b.Path + name}
		if name == "" || d.totals.below(x) != ofA || d.totals.below(y) != ofB {
			break
		}
		a, b = x, y
	}
	d.out = append(d.out, DirPair{A: a, B: b, Pages: shared, OfA: ofA, OfB: ofB})
}

// countFlat looks at the votes for a host and a directory b elsewhere whose files are named in another way: they may come from a whole tree,
// whose root is the deepest directory of the host that has most of them.
func (d *dirVotes) countFlat(votes []vote) {
	if d.bothSides(votes) < d.o.Pages {
		return
	}
	a, b := d.at(votes[0].p), d.at(votes[0].q)
	b.Path = dirOf(b.Path)
	d.place(votes, func(p, q Address) bool { return p.Host == a.Host && q.Host == b.Host && dirOf(q.Path) == b.Path })
	below := map[string]int{}
	for from := 0; from < len(d.placed); {
		in := dirOf(d.placed[from].path)
		to := from + 1
		for to < len(d.placed) && dirOf(d.placed[to].path) == in {
			to++
		}
		for dir := in; ; dir = dirOf(dir[:len(dir)-1]) {
			below[dir] += to - from
			if len(dir) <= 1 {
				break
			}
		}
		from = to
	}
	root := ""
	for dir, n := range below {
		if len(dir) > len(root) && float64(n) >= most*float64(len(d.placed)) {
			root = dir
		}
	}
	a.Path = root
	if root == "" || a.Host == b.Host && (strings.HasPrefix(a.Path, b.Path) || strings.HasPrefix(b.Path, a.Path)) {
		return
	}
	d.placed = slices.DeleteFunc(d.placed, func(v placedVote) bool { return !strings.HasPrefix(v.path, root) })
	shared := d.shared(d.placed)
	ofA, ofB := d.totals.below(a), d.totals.below(b)
	if shared < d.o.Pages || ofA == 0 || ofB == 0 || float64(shared) < d.o.Share*float64(min(ofA, ofB)) {
		return
	}
	pair := DirPair{A: a, B: b, Pages: shared, OfA: ofA, OfB: ofB}
	if b.key() < a.key() {
		pair = DirPair{A: b, B: a, Pages: shared, OfA: ofB, OfB: ofA}
	}
	d.out = append(d.out, pair)
}

// most is the share of the votes that the root of a renamed tree has.
const most = 0.9

// childOf is the first directory of a relative path, with its slash; "" of a file.
func childOf(rel string) string { return rel[:strings.IndexByte(rel, '/')+1] }

// bothSides is how many pages of the one directory, or of the other if these are fewer, there are votes for. Votes are by p.
func (d *dirVotes) bothSides(votes []vote) int {
	n, last := 0, uint32(0)
	d.pages = d.pages[:0]
	for i := range votes {
		if v := &votes[i]; i == 0 || v.p != last {
			n, last = n+1, v.p
		}
		d.pages = append(d.pages, votes[i].q)
	}
	if n < d.o.Pages {
		return n
	}
	slices.Sort(d.pages)
	return min(n, len(slices.Compact(d.pages)))
}

// shared is bothSides of votes that are by path.
func (d *dirVotes) shared(votes []placedVote) int {
	if len(votes) < d.o.Pages {
		return 0
	}
	n := len(votes)
	for _, of := range []func(v *placedVote) uint32{func(v *placedVote) uint32 { return v.p }, func(v *placedVote) uint32 { return v.q }} {
		d.pages = d.pages[:0]
		for i := range votes {
			d.pages = append(d.pages, of(&votes[i]))
		}
		slices.Sort(d.pages)
		n = min(n, len(slices.Compact(d.pages)))
	}
	return n
}

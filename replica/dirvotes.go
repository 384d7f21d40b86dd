package replica

import (
	"cmp"
	"slices"
	"strings"
)

// Votes are the rules by which directories are found that hold the same pages. The zero value is the default.
type Votes struct {
	Pages  int     // similar pages that two directories must share; 0 means 10
	Share  float64 // of the pages of the smaller one; 0 means 0.5
	Window int     // pages of a group that each of them is paired with, at most; 0 means 32

	Resemblance float64 // of the pages, estimated, at least; 0 means 0.5

	MaxVotes int // held at a time, of 16 bytes each; 0 means 64 million. When there are more, they are taken in several passes, which takes longer
}

func (o Votes) withDefaults() Votes {
	if o.Pages <= 0 {
		o.Pages = 10
	}
	if o.Share <= 0 {
		o.Share = 0.5
	}
	if o.Window <= 0 {
		o.Window = 32
	}
	if o.Resemblance <= 0 {
		o.Resemblance = 0.5
	}
	if o.MaxVotes <= 0 {
		o.MaxVotes = 64 << 20
	}
	return o
}

// DirPair says that two directories hold the same pages, their subdirectories included.
type DirPair struct {
	A, B     Address // the directories: their paths end in a slash
	Pages    int     // of the one with fewer such pages that resemble one of the other
	OfA, OfB int     // all their pages
}

// vote says that page p of one directory resembles q of another. The pages count below these directories by what is behind them in p's path.
type vote struct {
	key  uint64 // of the two directories
	p, q uint32
}

func (a vote) compare(b vote) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.p, b.p), cmp.Compare(a.q, b.q))
}

// DirPairs finds the directories that hold the same pages. Pages of a group vote for the two directories that are left of their paths when
// the longest common end is stripped, so renamed directories are found as well as partial mirrors, without comparing directories. Where the
// directories as a whole share too little, their subdirectories are looked at. The groups may be wide, by a low resemblance: every vote is
// verified by the digests of its two pages.
func DirPairs(pages []Address, digests []Digest, groups *Sets, o Votes) []DirPair {
	o = o.withDefaults()
	p := votePasses{dirVotes: newDirVotes(o), pages: pages, digests: digests}
	p.at = func(page uint32) Address { return pages[page] }
	p.keep = p.add
	for _, a := range pages {
		p.addTotal(a)
	}
	for p.passes = 1; !p.run(groups); p.passes *= 2 {
		p.out = nil
	}
	return p.pairs()
}

// pairs are the pairs that were accepted and lie in no other, the largest first.
func (d *dirVotes) pairs() []DirPair {
	slices.SortFunc(d.out, func(x, y DirPair) int {
		return cmp.Or(x.A.compare(y.A), x.B.compare(y.B), cmp.Compare(y.Pages, x.Pages))
	})
	d.out = outermost(slices.CompactFunc(d.out, func(x, y DirPair) bool { return x.A == y.A && x.B == y.B }))
	slices.SortFunc(d.out, func(x, y DirPair) int {
		return cmp.Or(cmp.Compare(y.Pages, x.Pages), x.A.compare(y.A), x.B.compare(y.B))
	})
	return d.out
}

// outermost leaves out the pairs of which each directory lies in one of another pair, or is it.
func outermost(all []DirPair) []DirPair {
	known := make(map[[2]Address]bool, len(all))
	for _, p := range all {
		known[[2]Address{p.A, p.B}], known[[2]Address{p.B, p.A}] = true, true
	}
	return slices.DeleteFunc(all, func(p DirPair) bool {
		for a := p.A; ; a.Path = dirOf(a.Path[:len(a.Path)-1]) {
			for b := p.B; ; b.Path = dirOf(b.Path[:len(b.Path)-1]) {
				if known[[2]Address{a, b}] && (a != p.A || b != p.B) {
					return true
				}
				if len(b.Path) <= 1 {
					break
				}
			}
			if len(a.Path) <= 1 {
				return false
			}
		}
	})
}

// run takes the votes pass by pass; false when a pass had more than may be held.
func (d *votePasses) run(groups *Sets) bool {
	for d.pass = 0; d.pass < d.passes; d.pass++ {
		d.votes, d.flat = d.votes[:0], d.flat[:0]
		for _, members := range groups.All(2) {
			d.pair(members)
			if len(d.votes)+len(d.flat) > d.o.MaxVotes && d.passes < 1<<16 {
				return false
			}
		}
		d.each(d.votes, d.count)
		d.each(d.flat, d.countFlat)
	}
	return true
}

// add keeps a vote of this pass.
func (d *votePasses) add(flat bool, v vote) {
	switch {
	case mix(v.key)%d.passes != d.pass:
	case flat:
		d.flat = append(d.flat, v)
	default:
		d.votes = append(d.votes, v)
	}
}

// each calls f with the votes of each key that are enough.
func (d *votePasses) each(votes []vote, f func([]vote)) {
	slices.SortFunc(votes, vote.compare)
	for from := 0; from < len(votes); {
		to := from + 1
		for to < len(votes) && votes[to].key == votes[from].key {
			to++
		}
		if to-from >= d.o.Pages {
			f(votes[from:to])
		}
		from = to
	}
}

func (a Address) compare(b Address) int {
	return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Path, b.Path))
}

// dirVotes makes votes of the pages of groups, and pairs of directories of votes.
type dirVotes struct {
	o     Votes
	least int                       // equal bytes of two sketches
	total map[uint64]uint32         // pages below a directory, by its key
	at    func(page uint32) Address // of a page that there is a vote for
	keep  func(flat bool, v vote)   // takes a vote; flat ones are by a host and a directory elsewhere, of pages whose names differ
	out   []DirPair
}

func newDirVotes(o Votes) dirVotes {
	return dirVotes{o: o, least: leastEqual(o.Resemblance), total: map[uint64]uint32{}}
}

// addTotal counts a page in all directories above it.
func (d *dirVotes) addTotal(a Address) {
	host := tokenHash(a.Host) * rollPrime
	h := uint64(tokenSeed)
	if !strings.HasPrefix(a.Path, "/") {
		d.total[mix(host+endToken(h))]++
	}
	for i := 0; i < len(a.Path); i++ {
		if h = (h ^ uint64(a.Path[i])) * tokenPrime; a.Path[i] == '/' {
			d.total[mix(host+endToken(h))]++
		}
	}
}

// pagesBelow counts the pages of a directory.
func (d *dirVotes) pagesBelow(a Address) int { return int(d.total[a.key()]) }

// votePasses are votes that are held in memory.
type votePasses struct {
	dirVotes
	pages        []Address
	digests      []Digest
	passes, pass uint64
	votes, flat  []vote
}

// member is a page of a group.
type member struct {
	page   uint32
	at     Address
	text   uint64
	sketch *Sketch
}

// pair adds the votes of a group: each page is paired with those that follow it when paths are read from their ends, so that what has most
// of its path in common comes together.
func (d *votePasses) pair(members []uint32) {
	slices.SortFunc(members, func(a, b uint32) int {
		return cmp.Or(compareEnds(d.pages[a].Path, d.pages[b].Path), strings.Compare(d.pages[a].Host, d.pages[b].Host), cmp.Compare(a, b))
	})
	of := func(p uint32) member { return member{p, d.pages[p], d.digests[p].Text, &d.digests[p].Sketch} }
	for i, p := range members {
		first := of(p)
		for _, q := range members[i+1 : min(len(members), i+1+d.o.Window)] {
			second := of(q)
			d.between(&first, &second)
		}
	}
}

// between adds the votes of two pages of a group.
func (d *dirVotes) between(p, q *member) {
	a, b := p.at, q.at
	n := commonEnd(a.Path, b.Path)
	dirA, dirB := Address{a.Host, a.Path[:len(a.Path)-n]}, Address{b.Host, b.Path[:len(b.Path)-n]}
	if n == 0 {
		dirA.Path, dirB.Path = dirOf(a.Path), dirOf(b.Path)
	}
	if dirA.Host == dirB.Host && (strings.HasPrefix(dirA.Path, dirB.Path) || strings.HasPrefix(dirB.Path, dirA.Path)) {
		return // one within the other
	}
	if p.text != q.text && p.sketch.equal(q.sketch) < d.least {
		return
	}
	if n == 0 {
		d.keep(true, vote{mix(tokenHash(dirA.Host))*rollPrime + dirB.key(), p.page, q.page})
		d.keep(true, vote{mix(tokenHash(dirB.Host))*rollPrime + dirA.key(), q.page, p.page})
	}
	if x, y := dirA.key(), dirB.key(); x < y {
		d.keep(false, vote{mix(x)*rollPrime + y, p.page, q.page})
	} else {
		d.keep(false, vote{mix(y)*rollPrime + x, q.page, p.page})
	}
}

func (a Address) key() uint64 { return mix(tokenHash(a.Host)*rollPrime + tokenHash(a.Path)) }

// compareEnds orders paths by their last bytes first.
func compareEnds(a, b string) int {
	i, j := len(a), len(b)
	for i > 0 && j > 0 {
		i, j = i-1, j-1
		if a[i] != b[j] {
			return cmp.Compare(a[i], b[j])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// commonEnd is how many bytes of whole segments two paths have in common at their ends, the slash before them not counted.
func commonEnd(a, b string) int {
	n := 0
	for i := 1; i <= len(a) && i <= len(b) && a[len(a)-i] == b[len(b)-i]; i++ {
		if a[len(a)-i] == '/' {
			n = i - 1
		}
	}
	return n
}

// count looks at the votes for two directories: accepted as a whole, or else by their subdirectories of the same name.
func (d *dirVotes) count(votes []vote) {
	p, q := d.at(votes[0].p), d.at(votes[0].q)
	n := commonEnd(p.Path, q.Path)
	a, b := Address{p.Host, p.Path[:len(p.Path)-n]}, Address{q.Host, q.Path[:len(q.Path)-n]}
	if n == 0 {
		a.Path, b.Path = dirOf(p.Path), dirOf(q.Path)
	}
	votes = slices.Clone(votes)
	slices.SortFunc(votes, func(x, y vote) int {
		return cmp.Or(strings.Compare(d.at(x.p).Path, d.at(y.p).Path), cmp.Compare(x.p, y.p))
	})
	d.descend(a, b, votes)
}

func (d *dirVotes) descend(a, b Address, votes []vote) {
	if len(votes) < d.o.Pages {
		return
	}
	shared := min(distinct(votes, func(v vote) uint32 { return v.p }), distinct(votes, func(v vote) uint32 { return v.q }))
	if shared < d.o.Pages {
		return
	}
	ofA, ofB := d.pagesBelow(a), d.pagesBelow(b)
	if float64(shared) >= d.o.Share*float64(min(ofA, ofB)) {
		for { // where all of it lies in one subdirectory, that is the root
			name := childOf(d.at(votes[0].p).Path[len(a.Path):])
			x, y := Address{a.Host, a.Path + name}, Address{b.Host, b.Path + name}
			if name == "" || d.pagesBelow(x) != ofA || d.pagesBelow(y) != ofB {
				break
			}
			a, b = x, y
		}
		d.out = append(d.out, DirPair{A: a, B: b, Pages: shared, OfA: ofA, OfB: ofB})
		return
	}
	for from := 0; from < len(votes); {
		name := childOf(d.at(votes[from].p).Path[len(a.Path):])
		to := from + 1
		for to < len(votes) && childOf(d.at(votes[to].p).Path[len(a.Path):]) == name {
			to++
		}
		if name != "" && strings.HasPrefix(d.at(votes[from].q).Path[len(b.Path):], name) {
			d.descend(Address{a.Host, a.Path + name}, Address{b.Host, b.Path + name}, votes[from:to])
		}
		from = to
	}
}

// countFlat looks at the votes for a host and a directory b elsewhere whose files are named in another way: they may come from a whole tree,
// whose root is the deepest directory of the host that has most of them.
func (d *dirVotes) countFlat(votes []vote) {
	first := d.at(votes[0].p)
	b := Address{d.at(votes[0].q).Host, dirOf(d.at(votes[0].q).Path)}
	if min(distinct(votes, func(v vote) uint32 { return v.p }), distinct(votes, func(v vote) uint32 { return v.q })) < d.o.Pages {
		return
	}
	below := map[string]int{}
	for _, v := range votes {
		for dir := dirOf(d.at(v.p).Path); ; dir = dirOf(dir[:len(dir)-1]) {
			below[dir]++
			if len(dir) <= 1 {
				break
			}
		}
	}
	root := ""
	for dir, n := range below {
		if len(dir) > len(root) && float64(n) >= most*float64(len(votes)) {
			root = dir
		}
	}
	a := Address{first.Host, root}
	if root == "" || a.Host == b.Host && (strings.HasPrefix(a.Path, b.Path) || strings.HasPrefix(b.Path, a.Path)) {
		return
	}
	votes = slices.DeleteFunc(votes, func(v vote) bool { return !strings.HasPrefix(d.at(v.p).Path, root) })
	shared := min(distinct(votes, func(v vote) uint32 { return v.p }), distinct(votes, func(v vote) uint32 { return v.q }))
	ofA, ofB := d.pagesBelow(a), d.pagesBelow(b)
	if shared < d.o.Pages || float64(shared) < d.o.Share*float64(min(ofA, ofB)) {
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

func distinct(votes []vote, of func(vote) uint32) int {
	all := make([]uint32, len(votes))
	for i, v := range votes {
		all[i] = of(v)
	}
	slices.Sort(all)
	return len(slices.Compact(all))
}

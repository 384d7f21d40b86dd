package replica

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
)

// Votes are the rules by which directories are found that hold the same pages. The zero value is the default.
type Votes struct {
	Pages  int     // similar pages that two directories must share; 0 means 10
	Share  float64 // of the pages of the smaller one; 0 means 0.5
	Window int     // pages of a group that each of them is paired with, at most; 0 means 32

	Resemblance float64 // of the pages, estimated, at least; 0 means 0.5

	MaxVotes int // held at a time, of 32 bytes each; 0 means 64 million. When there are more, they are taken in several passes, which takes longer
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

// DirPairs finds the directories that hold the same pages. Pages of a group vote for the two directories that are left of their paths when
// the longest common end is stripped, so renamed directories are found as well as partial mirrors, without comparing directories. Where the
// directories as a whole share too little, their subdirectories are looked at. The groups may be wide, by a low resemblance: every vote is
// verified by the digests of its two pages.
func DirPairs(pages []Address, digests []Digest, groups *Sets, o Votes) []DirPair {
	o = o.withDefaults()
	p := votePasses{dirVotes: newDirVotes(o, max(1<<20, len(pages)/8)), pages: pages, digests: digests}
	p.at = func(page uint32) Address { return pages[page] }
	p.votes, p.flat = heldVotes(), heldVotes()
	for _, a := range pages {
		p.totals.add(a)
	}
	if p.totals.again() {
		for _, a := range pages {
			p.totals.add(a)
		}
		p.totals.settle()
	}
	if p.passes = 1; !p.run(groups) {
		p.passes = min(uint64(2*p.made/o.MaxVotes)+1, maxPasses)
		p.run(groups)
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
	known := make(map[uint64]struct{}, len(all))
	for _, p := range all {
		known[unordered(p.A.key(), p.B.key())] = struct{}{}
	}
	var above [2][]uint64 // the keys of the directories above a pair's, and of these
	return slices.DeleteFunc(all, func(p DirPair) bool {
		for i, dir := range [2]Address{p.A, p.B} {
			above[i] = above[i][:0]
			eachDir(dir.Host, dir.Path, func(key uint64) { above[i] = append(above[i], key) })
		}
		for i, a := range above[0] {
			for j, b := range above[1] {
				if _, ok := known[unordered(a, b)]; ok && (i < len(above[0])-1 || j < len(above[1])-1) {
					return true
				}
			}
		}
		return false
	})
}

// unordered is a key of two directories by theirs.
func unordered(x, y uint64) uint64 { return keyOf(min(x, y), max(x, y)) }

// votePasses are votes that are held in memory.
type votePasses struct {
	dirVotes
	pages        []Address
	digests      []Digest
	passes, pass uint64
	votes, flat  sorter[vote]
	made         int // votes of the first pass, held or not
}

func heldVotes() sorter[vote] {
	return sorter[vote]{order: voteOrder(), limit: math.MaxInt, tick: func(int) error { return nil }}
}

// maxPasses bounds the passes, each of which compares all pages of groups again.
const maxPasses = 1 << 10

// run takes the votes pass by pass; false when they are to be taken in one, and are too many. In one of several passes there may be more, for a single pair
// of directories: what has the same key cannot be divided.
func (d *votePasses) run(groups *Sets) bool {
	w := newPairing(d.o, &d.totals, d.keep)
	for d.pass = 0; d.pass < d.passes; d.pass++ {
		d.votes.clear()
		d.flat.clear()
		for _, members := range groups.All(2) {
			d.pair(&w, members)
		}
		if d.passes == 1 && d.made > d.o.MaxVotes {
			return false
		}
		for _, votes := range []struct {
			*sorter[vote]
			take func([]vote)
		}{{&d.votes, func(votes []vote) { d.count(votes, rootsOf) }}, {&d.flat, d.countFlat}} {
			_ = eachKey(votes.all(), d.o.Pages, func(same []vote) error { // in memory nothing fails
				votes.take(same)
				return nil
			})
		}
	}
	return true
}

// keep keeps a vote of this pass.
func (d *votePasses) keep(flat bool, v vote) {
	if d.passes == 1 {
		d.made++
	}
	switch {
	case d.passes == 1 && d.made > d.o.MaxVotes: // counted only
	case mix(v.key)%d.passes != d.pass:
	case flat:
		_ = d.flat.add(v)
	default:
		_ = d.votes.add(v)
	}
}

// pair adds the votes of a group.
func (d *votePasses) pair(w *pairing, members []uint32) {
	slices.SortFunc(members, func(a, b uint32) int {
		if c := compareEnds(d.pages[a].Path, d.pages[b].Path); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(d.pages[a].Host, d.pages[b].Host), cmp.Compare(a, b))
	})
	w.begin()
	for _, p := range members {
		w.add(member{page: p, at: d.pages[p], text: d.digests[p].Text, sketch: &d.digests[p].Sketch})
	}
}

// eachKey calls f with the votes of each key that are least or more. The slice is valid until the next call.
func eachKey(votes iter.Seq2[vote, error], least int, f func([]vote) error) error {
	var same []vote
	flush := func() error {
		if len(same) < least {
			return nil
		}
		return f(same)
	}
	for v, err := range votes {
		if err != nil {
			return err
		}
		if len(same) > 0 && same[0].key != v.key {
			if err := flush(); err != nil {
				return err
			}
			same = same[:0]
		}
		same = append(same, v)
	}
	return flush()
}

func (a Address) compare(b Address) int {
	return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Path, b.Path))
}

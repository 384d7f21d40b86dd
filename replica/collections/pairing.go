// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"mirrord/replica/hash"
	"mirrord/replica/text"
)

// vote says that page p of one directory resembles q of another. The pages count below these directories by
// the part of p's path below them.
type vote struct {
	key  uint64 // of the two directories
	p, q uint32
}

func (v vote) compare(w vote) int {
	return cmp.Or(cmp.Compare(v.key, w.key), cmp.Compare(v.p, w.p), cmp.Compare(v.q, w.q))
}

// member is a page of a group.
type member struct {
	page   uint32
	at     Address
	text   uint64
	words  uint32
	sketch *text.Sketch

	host, dir uint64 // hash of the host, key of the directory
	pages     int    // in the directory
	onHost    int    // on the host
	// keys that there is a vote for with this page, of those whose votes do not lie elsewhere below the two
	// directories
	voted []uint64

	own   bins // of the sketch, without the template of its host
	known bool // that template is known
}

// pairing makes the votes of a group: its members are paired with those that follow them when paths are read
// from their ends, so that what has most of its path in common comes together.
type pairing struct {
	least   int        // equal bytes of two sketches
	renamed int        // …, of pages whose names differ: pages of one template are alike, too
	part    int        // …, of pages of which one may be a part of the other
	most    int        // members that each is paired with, at most
	total   *dirTotals // of all pages
	pages   int        // that two directories must share: of those that have fewer nothing is said
	// takes a vote; flat ones are by a host and a directory elsewhere, of pages whose names differ
	keep func(flat bool, v vote)
	last []member // the last of the group
	n    int      // members of the group up to now

	around templates // of the group
}

// everyVote is how many members of a group have all their flat votes, by which the root of a tree is found.
// Of a million error pages each would have as many as it is paired with pages: beyond these, one that names
// two pages that have been named for the same says nothing new.
const everyVote = 1024

// renamedResemblance is what pages of other names must resemble one another by, to vote.
const renamedResemblance = 0.7

func newPairing(o Votes, total *dirTotals, keep func(flat bool, v vote)) pairing {
	return pairing{
		least:   text.LeastEqual(o.Resemblance),
		renamed: text.LeastEqual(max(o.Resemblance, renamedResemblance)),
		part:    text.LeastEqual(heldShare - heldWithin),
		most:    o.Window,
		total:   total,
		pages:   o.Pages,
		keep:    keep,
		around:  templates{},
	}
}

// begin says that another group follows.
func (w *pairing) begin() {
	w.last, w.n = w.last[:0], 0
	clear(w.around)
}

// add takes the next member.
func (w *pairing) add(m member) {
	if len(w.last) > w.most {
		m.voted = w.last[0].voted[:0]
		w.last = w.last[:copy(w.last, w.last[1:])]
	} else if n := len(w.last); n < cap(w.last) {
		m.voted = w.last[:n+1][n].voted[:0]
	}
	w.n++
	m.host = hash.Token(m.at.Host)
	m.dir = dirKey(m.host, dirOf(m.at.Path))
	m.pages, m.onHost = w.total.of(m.dir), w.total.of(dirKey(m.host, "/"))
	if !strings.HasPrefix(m.at.Path, "/") {
		m.onHost = w.total.of(dirKey(m.host, ""))
	}
	m.own, m.known = w.around.own(&m)
	w.last = append(w.last, m)
	q := &w.last[len(w.last)-1]
	for i := range w.last[:len(w.last)-1] {
		w.between(&w.last[i], q)
	}
}

// between adds the votes of two pages of a group.
func (w *pairing) between(p, q *member) {
	if p.onHost < w.pages || q.onHost < w.pages {
		return
	}
	a, b := p.at, q.at
	n, m := commonEnds(a.Path, b.Path)
	if n > 0 {
		a.Path, b.Path = a.Path[:len(a.Path)-n], b.Path[:len(b.Path)-m]
	} else {
		a.Path, b.Path = dirOf(a.Path), dirOf(b.Path)
	}
	if a.Host == b.Host && (strings.HasPrefix(a.Path, b.Path) || strings.HasPrefix(b.Path, a.Path)) {
		return // one within the other
	}
	if tooDeep(a.Path) || tooDeep(b.Path) {
		return
	}
	if a.Host == b.Host && n == 0 && p.text != q.text {
		return // on one host, pages of other names that are only alike are made of one template
	}
	if n > 0 {
		x, y := dirKey(p.host, a.Path), dirKey(q.host, b.Path)
		if w.total.of(x) >= w.pages && w.total.of(y) >= w.pages && w.says(p, q, w.least) {
			w.plain(x, y, p, q)
		}
		return
	}
	both, forP, forQ := unordered(p.dir, q.dir), keyOf(p.host, q.dir), keyOf(q.host, p.dir)
	all := w.n <= everyVote
	ofP, ofQ := p.pages >= w.pages, q.pages >= w.pages
	isNew := [3]bool{ofP && ofQ && p.vote(both, q), ofQ && (all || p.vote(forP, q)),
		ofP && (all || p.vote(forQ, q))}
	if isNew == [3]bool{} || !w.says(p, q, w.renamed) {
		return
	}
	for i, key := range [3]uint64{both, forP, forQ} {
		if isNew[i] {
			p.voted, q.voted = append(p.voted, key), append(q.voted, key)
		}
	}
	if isNew[0] {
		w.plain(p.dir, q.dir, p, q)
	}
	if isNew[1] {
		w.keep(true, vote{forP, p.page, q.page})
	}
	if isNew[2] {
		w.keep(true, vote{forQ, q.page, p.page})
	}
}

// vote says whether a vote for two pages tells something new about one of them.
func (p *member) vote(key uint64, q *member) bool {
	return !slices.Contains(p.voted, key) || !slices.Contains(q.voted, key)
}

// says reports whether two pages say the same, resemble one another by so many equal bytes, or are one a part
// of the other; and not only by the templates of their hosts.
func (w *pairing) says(p, q *member, least int) bool {
	if p.text == q.text {
		return true
	}
	n := p.sketch.Equal(q.sketch)
	return (n >= least || (n >= w.part && p.holds(q))) && p.sharesOwn(q) && q.sharesOwn(p)
}

// Of two pages one holds the other when their resemblance is what the one's share of the other's words makes
// it: so are the two pages into which one was split, or the one that two were joined on.
const (
	heldShare   = 0.4  // of the words of the longer one that the shorter one has, at least
	heldMost    = 0.9  // …, at most: more of it are two pages that are alike
	heldWithin  = 0.12 // by which the resemblance may be less
	heldWords   = 20   // that a page has at least: of shorter ones a sketch says little
	heldOfShort = 0.8  // of the shorter one's shingles that are in the longer one, estimated, at least
)

// holds reports whether one of two pages is a part of the other.
func (p *member) holds(q *member) bool {
	short, long := float64(min(p.words, q.words)), float64(max(p.words, q.words))
	share := short / long
	if short < heldWords || share < heldShare || share > heldMost {
		return false
	}
	r := p.sketch.Resemblance(q.sketch)
	return r >= share-heldWithin && r/(1+r)*(1+long/short) >= heldOfShort
}

// sharesOwn reports whether another page has enough of what this one says itself.
func (p *member) sharesOwn(q *member) bool {
	if !p.known {
		return true
	}
	n := p.own.count()
	return n > 0 && float64(p.own.equal(p.sketch, q.sketch)) >= ownShare*float64(n)
}

// plain keeps a vote for two directories by their keys, the lesser first.
func (w *pairing) plain(x, y uint64, p, q *member) {
	if x < y {
		w.keep(false, vote{keyOf(x, y), p.page, q.page})
	} else {
		w.keep(false, vote{keyOf(y, x), q.page, p.page})
	}
}

func keyOf(x, y uint64) uint64 { return hash.Mix(x)*hash.RollPrime + y }

// commonEnds is how many bytes of whole segments two paths have in common at their ends, the slash before
// them not counted: in the case of ASCII letters they may differ, and in what follows the last dot, as they
// do where files were renamed.
func commonEnds(a, b string) (ofA, ofB int) {
	if n := commonEnd(a, b); n > 0 {
		return n, n
	}
	x, y := stem(a), stem(b)
	if n := commonEnd(x, y); n > 0 && (len(x) < len(a) || len(y) < len(b)) {
		return n + len(a) - len(x), n + len(b) - len(y)
	}
	return 0, 0
}

func commonEnd(a, b string) int {
	n := 0
	for i := 1; i <= len(a) && i <= len(b); i++ {
		c, d := a[len(a)-i], b[len(b)-i]
		if !sameLetter(c, d) {
			break
		}
		if c == '/' {
			n = i - 1
		}
	}
	return n
}

// stem is a path without the extension of its file.
func stem(path string) string { return path[:len(path)-extension(path)] }

// extension is the length of a file's extension with its dot: at most five letters and digits after the last
// dot, which is not the first thing in the name.
func extension[T string | []byte](path T) int {
	for n := 1; n <= 6 && n < len(path); n++ {
		switch c := path[len(path)-n]; {
		case c == '.' && path[len(path)-n-1] != '/':
			return n
		case !text.IsLetter(c) && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// compareEnds orders paths by their last bytes first, those that differ only in what commonEnds passes over
// together.
func compareEnds(a, b []byte) int {
	x, y := len(a)-extension(a), len(b)-extension(b)
	for i := 1; i <= min(x, y); i++ {
		if c, d := small(a[x-i]), small(b[y-i]); c != d {
			return cmp.Compare(c, d)
		}
	}
	return cmp.Or(cmp.Compare(x, y), bytes.Compare(a, b))
}

func small(c byte) byte {
	if text.IsLetter(c) {
		return c | 0x20
	}
	return c
}

// sameRelative says whether two relative paths are the same but for what commonEnds passes over.
func sameRelative(a, b string) bool { return sameFold(a, b) || sameFold(stem(a), stem(b)) }

// sameFold says whether two strings are the same but for the case of ASCII letters.
func sameFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if !sameLetter(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameLetter(c, d byte) bool { return c == d || (c|0x20 == d|0x20 && text.IsLetter(c)) }

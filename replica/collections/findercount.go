// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"mirrord/replica/hash"
)

// voteCount takes the votes of a sorter by key, many keys at a time, as far as their votes fit, with the
// addresses of their pages. A key that has more votes than that is counted without addresses first, and
// looked at when the sorter is done with: subdirectories that have many votes too are looked at meanwhile,
// and theirs, down to maxDepth.
type voteCount struct {
	*Finder
	limit int                               // votes held at a time
	roots func(p, q Address) (a, b Address) // which directories a vote is for; nil: flat votes

	batch []vote // of whole keys
	same  []vote // the last ones of a key
	key   uint64
	large *largeKey // what came before same, if the key is large

	pile  pile // votes of large keys
	later []largeKey
	seen  bitmap // of the pages q of the large key that is gone through
}

// count looks at all votes of a sorter, and closes it.
func (f *Finder) count(votes *sorter[vote], roots func(p, q Address) (a, b Address)) error {
	const voteSize = 3*16 + 3*48 // with what placing it takes beside the addresses
	c := voteCount{Finder: f, limit: f.budget / 8 / voteSize, roots: roots}
	for c.limit > 64 && c.limit*voteSize+f.places.most(2*c.limit) > f.budget/8 {
		c.limit -= c.limit / 4
	}
	c.limit = max(c.limit, 64)
	c.pile = newPile(f.spill, f.budget/4/maxDepth)
	defer func() { _ = c.pile.close() }() // nothing is lost with it
	for v, err := range votes.all() {
		if err != nil {
			return err
		}
		if v.key != c.key {
			if err := c.finish(); err != nil {
				return err
			}
			c.key = v.key
		}
		if c.same = append(c.same, v); len(c.same) == c.limit {
			if err := c.keepLarge(); err != nil {
				return err
			}
		}
		if err := f.tick(1); err != nil {
			return err
		}
	}
	if err := inTurn(c.finish, c.flush, votes.close, c.pile.settle); err != nil {
		return err
	}
	c.batch, c.same, c.seen = nil, nil, nil
	for i := range c.later {
		if err := c.countLarge(&c.later[i]); err != nil {
			return err
		}
	}
	return nil
}

// finish says that a key has no more votes.
func (c *voteCount) finish() error {
	if c.large != nil {
		err := c.keepLarge()
		if l := c.large; min(l.p, l.q) >= c.Votes.Pages {
			c.later = append(c.later, *l)
		}
		c.large = nil
		return err
	}
	if len(c.same) >= c.Votes.Pages && c.votes.bothSides(c.same) >= c.Votes.Pages {
		if len(c.batch)+len(c.same) > c.limit {
			if err := c.flush(); err != nil {
				return err
			}
		}
		c.batch = append(c.batch, c.same...)
	}
	c.same = c.same[:0]
	return nil
}

// flush counts the votes in memory.
func (c *voteCount) flush() error {
	places, err := c.addresses(c.batch, true)
	if err != nil {
		return err
	}
	c.votes.at = places
	for from := 0; from < len(c.batch); {
		to := from + 1
		for to < len(c.batch) && c.batch[to].key == c.batch[from].key {
			to++
		}
		if c.roots == nil {
			c.votes.countFlat(c.batch[from:to])
		} else {
			c.votes.count(c.batch[from:to], c.roots)
		}
		if err := c.tick(to - from); err != nil {
			return err
		}
		from = to
	}
	c.batch = c.batch[:0]
	return nil
}

// addresses reads those of the pages of votes.
func (f *Finder) addresses(votes []vote, both bool) (func(page uint32) Address, error) {
	pages := make([]uint32, 0, 2*len(votes))
	for _, v := range votes {
		if pages = append(pages, v.p); both {
			pages = append(pages, v.q)
		}
	}
	slices.Sort(pages)
	pages = slices.Compact(pages)
	places, err := f.places.of(pages, f.tick)
	return func(page uint32) Address {
		i, _ := slices.BinarySearch(pages, page)
		return places[i]
	}, err
}

// largeKey is the votes of a key that has many.
type largeKey struct {
	from  int64 // where they are in the pile
	n     int   // votes
	first vote

	p, q  int // pages that there are votes for
	lastP uint32
}

const largeVote = 8 // bytes on disk

// keepLarge puts the votes of a key that are held with those that came before.
func (c *voteCount) keepLarge() error {
	if len(c.same) == 0 {
		return nil
	}
	if c.large == nil {
		c.large = &largeKey{from: c.pile.len(), first: c.same[0]}
		c.forget(c.large)
	}
	l := c.large
	for _, v := range c.same {
		c.see(l, v)
		var b [largeVote]byte
		binary.LittleEndian.PutUint32(b[:], v.p)
		binary.LittleEndian.PutUint32(b[4:], v.q)
		if err := c.pile.add(b[:]); err != nil {
			return err
		}
	}
	l.n += len(c.same)
	c.same = c.same[:0]
	return c.tick(c.limit)
}

// see counts the pages of a vote. Votes come by p.
func (c *voteCount) see(l *largeKey, v vote) {
	if l.p == 0 || v.p != l.lastP {
		l.p, l.lastP = l.p+1, v.p
	}
	if !c.seen.has(int(v.q)) {
		c.seen.add(int(v.q))
		l.q++
	}
}

// forget begins to count the pages of a key.
func (c *voteCount) forget(l *largeKey) {
	l.p, l.q = 0, 0
	if c.seen == nil {
		c.seen = newBitmap(c.pages)
	}
	clear(c.seen)
}

// each reads the votes of a large key again, as many at a time as may be held, with the addresses of p, or of
// both.
func (c *voteCount) each(l *largeKey, both bool, f func(v vote, at func(uint32) Address) error) error {
	b, batch := make([]byte, largeVote*min(c.limit, l.n)), make([]vote, 0, min(c.limit, l.n))
	for from := 0; from < l.n; from += len(batch) {
		b = b[:largeVote*min(c.limit, l.n-from)]
		if _, err := c.pile.ReadAt(b, l.from+int64(from)*largeVote); err != nil {
			return err
		}
		batch = batch[:0]
		for i := 0; i < len(b); i += largeVote {
			batch = append(batch,
				vote{l.first.key, binary.LittleEndian.Uint32(b[i:]), binary.LittleEndian.Uint32(b[i+4:])})
		}
		at, err := c.addresses(batch, both)
		if err != nil {
			return err
		}
		for _, v := range batch {
			if err := f(v, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// countLarge does what dirVotes.count does, or countFlat, for a key of many votes.
func (c *voteCount) countLarge(l *largeKey) error {
	at, err := c.addresses([]vote{l.first}, true)
	if err != nil {
		return err
	}
	p, q := at(l.first.p), at(l.first.q)
	if c.roots == nil {
		return c.countLargeFlat(l, p, q)
	}
	a, b := c.roots(p, q)
	ofA, ofB := c.votes.totals.below(a), c.votes.totals.below(b)
	switch {
	case ofA == 0 || ofB == 0:
		return nil
	case c.votes.enough(min(l.p, l.q), ofA, ofB):
		c.votes.accept(a, b, p.Path, q.Path, min(l.p, l.q))
		return nil
	}
	children := sorter[vote]{
		order: voteOrder(),
		spill: c.spill,
		limit: max(c.budget/64, 4096),
		tick:  c.tick,
	}
	err = c.each(l, true, func(v vote, at func(uint32) Address) error {
		p, q := at(v.p), at(v.q)
		if !belongs(a, b, p, q) {
			return nil
		}
		if name := childOf(p.Path[len(a.Path):]); name != "" {
			return children.add(vote{keyOf(hash.Token(name), hash.Token(childOf(q.Path[len(b.Path):]))), v.p, v.q})
		}
		return nil
	})
	if err == nil {
		err = c.count(&children, func(p, q Address) (Address, Address) {
			return Address{a.Host, a.Path + childOf(p.Path[len(a.Path):])},
				Address{b.Host, b.Path + childOf(q.Path[len(b.Path):])}
		})
	}
	return errors.Join(err, children.close())
}

// countLargeFlat looks at flat votes: where the pages of the host lie, and how many lie there.
func (c *voteCount) countLargeFlat(l *largeKey, a, b Address) error {
	below := dirCounts{}
	b.Path = dirOf(b.Path)
	err := c.each(l, false, func(v vote, at func(uint32) Address) error {
		below.add(dirOf(at(v.p).Path), 1)
		return nil
	})
	if err != nil {
		return err
	}
	a.Path = below.root(l.n)
	c.forget(l)
	err = c.each(l, false, func(v vote, at func(uint32) Address) error {
		if p := at(v.p); p.Host == a.Host && strings.HasPrefix(p.Path, a.Path) {
			c.see(l, v)
		}
		return nil
	})
	if err == nil {
		c.votes.acceptFlat(a, b, min(l.p, l.q))
	}
	return err
}

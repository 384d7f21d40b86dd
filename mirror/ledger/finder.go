// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"iter"

	"github.com/zeebo/xxh3"

	"mirrord/site"
)

// Finder finds the numbers of the URLs that documents name, and remembers what it found last: the pages of a
// site have many links in common. A number never gets another URL, so the table need not be locked for those.
// One goroutine uses it at a time. The zero value remembers nothing.
type Finder struct {
	recent []recent // by the hash of the URL
	named  []named  // by the last document
}

// NewFinder returns a Finder.
func NewFinder() *Finder { return &Finder{recent: make([]recent, recently)} }

// recent is a URL that was found not long ago.
type recent struct {
	hash    uint64
	id      uint32
	settled bool // see Mark.Settled
	url     []byte
}

// recently is how many of them are remembered: what most pages of a site have in common.
const recently = 2048

// named is a URL of a list.
type named struct {
	hash    uint64
	id      uint32
	known   bool
	settled bool
}

// Deciding is what is decided of the URLs of a list, by their places in it.
type Deciding struct {
	// Settled takes a URL of which Mark.Settled was said. It reports whether that holds for this one; else it
	// is decided again.
	Settled func(i int, id uint32) bool
	// Decide and Unknown are called while the table waits. Decide is that of Table.Mark, Unknown takes a URL
	// that has no number.
	Decide  func(i int, id uint32, s State, u site.URL) Mark
	Unknown func(i int)
}

// MarkNamed is Table.Mark for URLs of which the numbers are not known.
func (f *Finder) MarkNamed(t *Table, list iter.Seq2[int, []byte], by Deciding) {
	if !f.look(list, by.Settled) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for i, u := range list {
		l := &f.named[n]
		if n++; l.settled {
			continue
		}
		if !l.known {
			id, ok := t.urls.findHash(l.hash, u)
			if !ok {
				by.Unknown(i)
				continue
			}
			l.id = id
		}
		e := t.urls.at(l.id)
		m := by.Decide(i, l.id, State{*e}, t.unqueued(l.id, e))
		e.mark(m)
		if !l.known || m.Settled {
			f.remember(l, u, m.Settled)
		}
	}
}

// look finds what it can of a list without the table. It reports whether there is something to decide.
func (f *Finder) look(list iter.Seq2[int, []byte], settled func(i int, id uint32) bool) (left bool) {
	f.named = f.named[:0]
	for i, u := range list {
		n := named{hash: xxh3.Hash(u)}
		if f.recent != nil {
			r := &f.recent[n.hash%recently]
			n.id, n.known = r.id, r.hash == n.hash && bytes.Equal(r.url, u)
			n.settled = n.known && r.settled && settled(i, r.id)
		}
		left = left || !n.settled
		f.named = append(f.named, n)
	}
	return left
}

// remember remembers the number of a URL, and whether that is settled.
func (f *Finder) remember(l *named, u []byte, settled bool) {
	if f.recent == nil || len(u) > usual {
		return
	}
	r := &f.recent[l.hash%recently]
	if !l.known {
		r.hash, r.id, r.url = l.hash, l.id, append(r.url[:0], u...)
	}
	if r.hash == l.hash && r.id == l.id {
		r.settled = settled
	}
}

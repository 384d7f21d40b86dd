// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"bytes"
	"slices"

	"mirrord/site"
)

// Lookups remembers the numbers of the URLs that documents named last: the pages of a site have many links in
// common. A number never gets another URL, so that those need no wait for the table. One
// goroutine uses it at a time. The zero value remembers nothing.
type Lookups struct {
	recent []recent // by the hash of the URL
	named  []named  // by the last document
}

// NewLookups returns a Lookups.
func NewLookups() *Lookups { return &Lookups{recent: make([]recent, recently)} }

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

// Deciding has the decisions on the URLs of a list, by their places in it.
type Deciding struct {
	URL func(i int) []byte // which one it is
	// Settled takes a URL of which Mark.Settled was said: there is nothing to decide.
	Settled func(i int, id uint32)
	// Decide and Unknown are called while the table waits. Decide is that of Table.Mark, Unknown takes a URL
	// that has no number.
	Decide  func(i int, id uint32, s State, u site.URL) Mark
	Unknown func(i int)
}

// look finds what it can of a list without the table. It reports whether there is something to decide.
func (l *Lookups) look(urls int, by Deciding) (left bool) {
	l.named = slices.Grow(l.named[:0], urls)
	for i := range urls {
		u := by.URL(i)
		n := named{hash: hashOf(u)}
		if l.recent != nil {
			r := &l.recent[n.hash%recently]
			n.id, n.known = r.id, r.hash == n.hash && bytes.Equal(r.url, u)
			n.settled = n.known && r.settled
		}
		if n.settled {
			by.Settled(i, n.id)
		}
		left = left || !n.settled
		l.named = append(l.named, n)
	}
	return left
}

// remember remembers the number of a URL, and whether that is settled.
func (l *Lookups) remember(n *named, u []byte, settled bool) {
	if l.recent == nil || len(u) > usual {
		return
	}
	r := &l.recent[n.hash%recently]
	if !n.known {
		r.hash, r.id, r.url = n.hash, n.id, append(r.url[:0], u...)
	}
	if r.hash == n.hash && r.id == n.id {
		r.settled = settled
	}
}

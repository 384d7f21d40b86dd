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
	hash uint64
	id   uint32
	url  []byte
}

// recently is how many of them are remembered: what most pages of a site have in common.
const recently = 2048

// named is a URL of a list.
type named struct {
	hash  uint64
	id    uint32
	known bool
}

// look finds what it can of a list without the table.
func (f *Finder) look(list iter.Seq2[int, []byte]) {
	f.named = f.named[:0]
	for _, u := range list {
		n := named{hash: xxh3.Hash(u)}
		if f.recent != nil {
			r := &f.recent[n.hash%recently]
			n.id, n.known = r.id, r.hash == n.hash && bytes.Equal(r.url, u)
		}
		f.named = append(f.named, n)
	}
}

// remember remembers the number of a URL.
func (f *Finder) remember(h uint64, id uint32, u []byte) {
	if f.recent != nil && len(u) <= usual {
		r := &f.recent[h%recently]
		r.hash, r.id, r.url = h, id, append(r.url[:0], u...)
	}
}

// MarkNamed is Table.Mark for URLs of which the numbers are not known. decide gets the URL's place in the
// list. One that has no number is left to unknown.
func (f *Finder) MarkNamed(
	t *Table, list iter.Seq2[int, []byte],
	decide func(i int, id uint32, s State, u site.URL) Mark, unknown func(i int),
) {
	f.look(list)
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for i, u := range list {
		l := &f.named[n]
		if n++; !l.known {
			id, ok := t.urls.findHash(l.hash, u)
			if !ok {
				unknown(i)
				continue
			}
			l.id = id
			f.remember(l.hash, id, u)
		}
		e := t.urls.at(l.id)
		e.mark(decide(i, l.id, State{*e}, t.unqueued(l.id, e)))
	}
}

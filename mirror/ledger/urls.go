// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"strings"
	"unsafe"

	"github.com/zeebo/xxh3"

	"mirrord/site"
)

// urls gives every URL of a site that was ever admitted a number, and keeps what a run must know of it at any
// moment. It costs about 30 bytes a URL beyond the URL itself. It has no lock: Table and Settled are the ways
// to it.
type urls struct {
	arena   [][]byte // URL bytes, never moved, so that strings may point into them
	chunks  [][]entry
	n       uint32
	mimes   []string
	mimeNum map[string]uint16
	index   []uint64 // open addressing: hash's upper half << 32 | id + 1
}

// entry is the state of one URL.
type entry struct {
	url     uint32 // arena chunk << 16 | offset
	urlLen  uint16
	outcome site.Outcome
	flags   uint8
	depth   uint16
	mime    uint16 // index into urls.mimes
	ref     uint32 // referrer's number plus one
	target  uint32 // see State.Target
	path    uint32 // mirror path: as url; 0 and pathLen 0: none
	pathLen uint16
	rate    uint8 // how often it changes, see Rate
	seen    Seen
}

const (
	fInSet    = 1 << iota // its body is part of the mirror
	fQueued               // it entered the frontier in this run
	fAnswered             // it was asked and decided in this run
	fRequis               // first seen as a page requisite
	fIdentity             // its mirror path is its URL path
	fDirty                // its body, type or path differs from the published version
	fMoved                // it entered, left or moved: pages that link to it are spliced again
	fKnown                // a record of an earlier run exists
)

const (
	arenaChunk = 64 << 10
	entryChunk = 4096
)

func newURLs() urls {
	return urls{index: make([]uint64, 1024), mimes: []string{""}, mimeNum: map[string]uint16{"": 0}}
}

// at returns the entry of a number.
func (t *urls) at(id uint32) *entry { return &t.chunks[id/entryChunk][id%entryChunk] }

func (t *urls) bytesAt(pos uint32, n uint16) []byte {
	c := t.arena[pos>>16]
	o := pos & 0xffff
	return c[o : o+uint32(n)]
}

// store copies b into the arena.
func (t *urls) store(b []byte) uint32 {
	last := len(t.arena) - 1
	if last < 0 || len(t.arena[last])+len(b) > cap(t.arena[last]) {
		t.arena = append(t.arena, make([]byte, 0, arenaChunk))
		last++
	}
	pos := uint32(last)<<16 | uint32(len(t.arena[last]))
	t.arena[last] = append(t.arena[last], b...)
	return pos
}

// urlOf returns the URL of a number without copying it.
func (t *urls) urlOf(id uint32) site.URL {
	e := t.at(id)
	b := t.bytesAt(e.url, e.urlLen)
	return site.Canonical(unsafe.String(unsafe.SliceData(b), len(b)))
}

// find returns the number of a URL.
func (t *urls) find(u []byte) (uint32, bool) {
	h := xxh3.Hash(u)
	mask := uint64(len(t.index) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		v := t.index[i]
		if v == 0 {
			return 0, false
		}
		if v>>32 == h>>32 {
			id := uint32(v) - 1
			if e := t.at(id); bytes.Equal(t.bytesAt(e.url, e.urlLen), u) {
				return id, true
			}
		}
	}
}

// add gives a URL that is not in the table the next number.
func (t *urls) add(u []byte) uint32 {
	if uint64(t.n+1)*4 > uint64(len(t.index))*3 {
		t.grow()
	}
	id := t.n
	if id%entryChunk == 0 {
		t.chunks = append(t.chunks, make([]entry, entryChunk))
	}
	t.n++
	*t.at(id) = entry{url: t.store(u), urlLen: uint16(len(u))}
	t.put(xxh3.Hash(u), id)
	return id
}

func (t *urls) put(h uint64, id uint32) {
	mask := uint64(len(t.index) - 1)
	i := h & mask
	for t.index[i] != 0 {
		i = (i + 1) & mask
	}
	t.index[i] = h&^uint64(1<<32-1) | uint64(id+1)
}

func (t *urls) grow() {
	t.index = make([]uint64, 2*len(t.index))
	for id := uint32(0); id < t.n; id++ {
		e := t.at(id)
		t.put(xxh3.Hash(t.bytesAt(e.url, e.urlLen)), id)
	}
}

// setPath keeps a mirror path.
func (t *urls) setPath(id uint32, p string) {
	e := t.at(id)
	e.flags &^= fIdentity
	if u := t.urlOf(id); len(p) > 0 && u.Path()[1:] == p {
		_, query := u.Query()
		if !query {
			e.flags |= fIdentity
		}
	}
	if e.flags&fIdentity != 0 {
		e.path, e.pathLen = 0, 0
		return
	}
	e.path, e.pathLen = t.store([]byte(p)), uint16(len(p))
}

// path returns the mirror path of a number, "" when it has none.
func (t *urls) path(id uint32) string {
	e := t.at(id)
	if e.flags&fIdentity != 0 {
		// What follows the first slash after "http://" and at least one byte of host; there is no query. Taking the
		// URL apart instead is most of the cost of sorting a large site.
		b := t.bytesAt(e.url, e.urlLen)
		b = b[len("http://")+1:]
		b = b[bytes.IndexByte(b, '/')+1:]
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	if e.pathLen == 0 {
		return ""
	}
	b := t.bytesAt(e.path, e.pathLen)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// mime returns the number of a MIME type.
func (t *urls) mime(m string) uint16 {
	n, ok := t.mimeNum[m]
	if !ok && len(t.mimes) < 1<<16 {
		n = uint16(len(t.mimes))
		m = strings.Clone(m)
		t.mimes = append(t.mimes, m)
		t.mimeNum[m] = n
	}
	return n
}

// MaxHops bounds a chain of redirects.
const MaxHops = 20

// final follows redirects to the number that holds the content.
func (t *urls) final(id uint32) (uint32, bool) {
	for range MaxHops {
		e := t.at(id)
		if e.target == 0 {
			return id, e.flags&fInSet != 0
		}
		id = e.target - 1
	}
	return id, false
}

// reserve makes room for the numbers below n. It is called on an empty table.
func (t *urls) reserve(n uint32) {
	for uint32(len(t.chunks))*entryChunk < n {
		t.chunks = append(t.chunks, make([]entry, entryChunk))
	}
	size := uint64(1024)
	for size*3 < uint64(n)*4 {
		size *= 2
	}
	t.n, t.index = n, make([]uint64, size)
}

// set gives a reserved number its URL.
func (t *urls) set(id uint32, u []byte) {
	if id >= t.n || t.at(id).urlLen > 0 {
		return
	}
	e := t.at(id)
	e.url, e.urlLen = t.store(u), uint16(len(u))
	t.put(xxh3.Hash(u), id)
}

// mark does what was decided.
func (e *entry) mark(m Mark) {
	e.seen |= m.Seen
	if m.Queue {
		e.flags |= fQueued
	}
	if m.Requisite {
		e.flags |= fRequis
	}
	if m.Reopen {
		e.flags &^= fAnswered
		e.outcome = site.Pending
	}
}

// refer notes how a URL came to be known.
func (e *entry) refer(how Referral) {
	e.ref, e.depth = how.From, uint16(min(how.Depth, 1<<16-1))
	if how.Requisite {
		e.flags |= fRequis
	}
}

// set sets or clears a flag.
func (e *entry) set(flag uint8, on bool) {
	e.flags &^= flag
	if on {
		e.flags |= flag
	}
}

// dropPath takes the mirror path of a URL.
func (e *entry) dropPath() {
	e.flags &^= fIdentity
	e.pathLen = 0
}

// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"bytes"
	"iter"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/internal/texts"
	"mirrord/site"
	"mirrord/store/record"
)

// urls gives every URL of a site that was ever admitted a number, and keeps what a run must know of it at any
// moment. It costs about 24 bytes a URL beyond the URL itself, its path and its place in the index. It has no
// lock: Table and Settled are the ways to it.
type urls struct {
	texts   texts.List // URLs and mirror paths
	chunks  [][]entry
	n       uint32
	spelled uint32 // URLs that are not in normal form
	mimes   []string
	mimeNum map[string]uint16
	index   []uint32          // open addressing: number + 1
	aside   map[uint32]uint32 // of entries with mPathAside: the number in texts of the mirror path
	frags   map[uint32]uint32 // of redirects that name a fragment: its number in texts
}

// entry is the state of one URL.
type entry struct {
	url     uint32 // number in texts; 0: it has no URL yet
	ref     uint32 // referrer's number plus one
	to      uint32 // see State.Target; with mPath the mirror path: number in texts
	hash    uint16 // upper bits of the URL's hash
	depth   uint16
	mime    uint16 // index into urls.mimes
	outcome site.Outcome
	flags   uint8
	rate    uint8 // how often it changes, see Rate
	more    uint8
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

// The mirror path of a URL is mostly its URL path. Another one has the place of the target, because a URL
// with a file rarely redirects.
const (
	mPath      = 1 << iota // it has such a path
	mPathAside             // and a target: the path is aside
)

const entryChunk = 4096

func newURLs() urls {
	return urls{
		index:   make([]uint32, 1024),
		mimes:   []string{""},
		mimeNum: map[string]uint16{"": 0},
		aside:   map[uint32]uint32{},
		frags:   map[uint32]uint32{},
	}
}

// at returns the entry of a number.
func (t *urls) at(id uint32) *entry { return &t.chunks[id/entryChunk][id%entryChunk] }

// usual is how many bytes most URLs and paths fit into.
const usual = 256

// urlOf returns the URL of a number.
func (t *urls) urlOf(id uint32) site.URL {
	var room [usual]byte
	return site.Canonical(string(t.texts.Append(room[:0], t.at(id).url)))
}

// unqueued is the URL of a number if it has not entered the frontier, else nothing: to make it takes longer
// than to decide.
func (t *urls) unqueued(id uint32, e *entry) site.URL {
	if e.flags&fQueued != 0 {
		return site.URL{}
	}
	return t.urlOf(id)
}

// hashOf is the hash of a URL, which equivalent ones share.
func hashOf(u []byte) uint64 {
	var room [usual]byte
	if n, other := site.AppendNormal(room[:0], u); other {
		return xxh3.Hash(n)
	}
	return xxh3.Hash(u)
}

// find returns the number of a URL, or of one that is equivalent.
func (t *urls) find(u []byte) (id uint32, ok bool) {
	var room [usual]byte
	for v := range t.hashed(hashOf(u)) {
		switch text := t.texts.Append(room[:0], t.at(v).url); {
		case bytes.Equal(text, u):
			return v, true
		case t.spelled > 0 || bytes.IndexByte(u, '%') >= 0:
			if isEquivalent(text, u) && (!ok || t.before(v, id)) {
				id, ok = v, true
			}
		}
	}
	return id, ok
}

// hashed returns the numbers whose URLs seem to have a hash.
func (t *urls) hashed(h uint64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := t.slot(h); t.index[i] != 0; i = t.after(i) {
			if v := t.index[i] - 1; t.at(v).hash == upper(h) && !yield(v) {
				return
			}
		}
	}
}

// isEquivalent reports whether two URLs that may have one hash have one normal form.
func isEquivalent(a, b []byte) bool {
	return site.Canonical(string(a)).Same(site.Canonical(string(b)))
}

// before reports which of two equivalent URLs stands for both: an entry point, else one of the mirror, else
// the one in normal form, else the older one.
func (t *urls) before(a, b uint32) bool {
	e, f := t.at(a), t.at(b)
	if x, y := e.ref == 0, f.ref == 0; x != y {
		return x
	}
	if x, y := e.flags&fInSet, f.flags&fInSet; x != y {
		return x > y
	}
	u, v := t.urlOf(a), t.urlOf(b)
	if x, y := u == u.Normal(), v == v.Normal(); x != y {
		return x
	}
	return a < b
}

// standing returns the number of the URL that stands for those that are equivalent to one.
func (t *urls) standing(id uint32) uint32 {
	if t.spelled == 0 {
		return id
	}
	var room [usual]byte
	u := t.texts.Append(room[:0], t.at(id).url)
	for v := range t.hashed(hashOf(u)) {
		if v != id && t.before(v, id) && isEquivalent(t.texts.Append(nil, t.at(v).url), u) {
			id = v
		}
	}
	return id
}

// upper is what an entry has of a hash, of which the index uses the lower bits.
func upper(h uint64) uint16 { return uint16(h >> 48) }

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
	t.give(id, u)
	return id
}

// give gives a number its URL.
func (t *urls) give(id uint32, u []byte) {
	h := hashOf(u)
	if _, other := site.AppendNormal(nil, u); other {
		t.spelled++
	}
	e := t.at(id)
	e.url, e.hash = t.texts.Add(u), upper(h)
	t.put(h, id)
}

// slot is where the search for a hash begins: as far in the index as its lower half is in all numbers, so
// that the index has any size.
func (t *urls) slot(h uint64) int { return int(uint64(uint32(h)) * uint64(len(t.index)) >> 32) }

// after is the slot after one.
func (t *urls) after(slot int) int {
	if slot++; slot == len(t.index) {
		return 0
	}
	return slot
}

func (t *urls) put(h uint64, id uint32) {
	i := t.slot(h)
	for t.index[i] != 0 {
		i = t.after(i)
	}
	t.index[i] = id + 1
}

func (t *urls) grow() {
	t.index = make([]uint32, len(t.index)+len(t.index)/2)
	var u []byte
	for id := uint32(0); id < t.n; id++ {
		if n := t.at(id).url; n > 0 {
			u = t.texts.Append(u[:0], n)
			t.put(hashOf(u), id)
		}
	}
}

// setPath keeps a mirror path.
func (t *urls) setPath(id uint32, p string) {
	e := t.at(id)
	t.dropPath(id)
	if len(p) == 0 {
		return
	}
	if t.isIdentity(e, p) {
		e.flags |= fIdentity
		return
	}
	target, text := e.to, t.texts.Add([]byte(p))
	e.to, e.more = text, mPath
	t.setTarget(id, target)
}

// isIdentity reports whether a mirror path is the URL path of an entry, which has no query.
func (t *urls) isIdentity(e *entry, path string) bool {
	var room [usual]byte
	return string(afterRoot(t.texts.Append(room[:0], e.url))) == path && !strings.Contains(path, "?")
}

// afterRoot returns what follows the first slash after "http://" and at least one byte of host: of a URL
// without a query its path.
func afterRoot(u []byte) []byte {
	u = u[len("http://")+1:]
	return u[bytes.IndexByte(u, '/')+1:]
}

// dropPath takes the mirror path of a URL.
func (t *urls) dropPath(id uint32) {
	e := t.at(id)
	e.flags &^= fIdentity
	switch e.more {
	case mPath:
		e.to = 0
	case mPath | mPathAside:
		delete(t.aside, id)
	}
	e.more = 0
}

// setTarget keeps the target of a URL, 0 for none.
func (t *urls) setTarget(id, target uint32) {
	e := t.at(id)
	switch {
	case e.more == mPath && target == 0: // it has none
		return
	case e.more == mPath:
		t.aside[id], e.more = e.to, mPath|mPathAside
	case e.more != 0 && target == 0:
		e.to, e.more = t.aside[id], mPath
		delete(t.aside, id)
		return
	}
	e.to = target
}

// MaxFragment is the longest fragment that is kept of a redirect, in bytes.
const MaxFragment = 2048

// setFragment keeps the fragment of where a record redirects to.
func (t *urls) setFragment(rec *record.Resource) {
	delete(t.frags, rec.ID)
	leads := rec.Target > 0 && !rec.InSet
	if leads && rec.Fragment != "" && len(rec.Fragment) <= MaxFragment {
		t.frags[rec.ID] = t.texts.Add([]byte(rec.Fragment))
	}
}

// fragment returns the fragment with which the redirects from a number lead to the content, "" for none. The
// last one that is named counts: a redirect without one passes on that of the address before (RFC 9110,
// section 10.2.2).
func (t *urls) fragment(id uint32) (fragment string) {
	if len(t.frags) == 0 {
		return ""
	}
	for range MaxHops {
		to := t.at(id).target()
		if to == 0 {
			break
		}
		if n := t.frags[id]; n > 0 {
			fragment = string(t.texts.Append(nil, n))
		}
		id = to - 1
	}
	return fragment
}

// target is State.Target.
func (e *entry) target() uint32 {
	if e.more == mPath {
		return 0
	}
	return e.to
}

// path returns the mirror path of a number, "" when it has none.
func (t *urls) path(id uint32) string {
	var room [usual]byte
	e := t.at(id)
	if e.flags&fIdentity != 0 {
		return string(afterRoot(t.texts.Append(room[:0], e.url)))
	}
	switch e.more {
	case mPath:
		return string(t.texts.Append(room[:0], e.to))
	case mPath | mPathAside:
		return string(t.texts.Append(room[:0], t.aside[id]))
	}
	return ""
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
		to := e.target()
		if to == 0 {
			return id, e.flags&fInSet != 0
		}
		id = to - 1
	}
	return id, false
}

// reserve allocates the numbers below n. It is called on an empty table.
func (t *urls) reserve(n uint32) {
	for uint32(len(t.chunks))*entryChunk < n {
		t.chunks = append(t.chunks, make([]entry, entryChunk))
	}
	t.n, t.index = n, make([]uint32, max(1024, uint64(n)*3/2))
}

// set gives a reserved number its URL.
func (t *urls) set(id uint32, u []byte) {
	if id < t.n && t.at(id).url == 0 {
		t.give(id, u)
	}
}

// waits reports whether the URL waits for its answer.
func (e *entry) waits() bool { return e.flags&(fQueued|fAnswered) == fQueued }

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

// SPDX-License-Identifier: Apache-2.0

package replay

import "mirrord/evolution/policy"

// What answers transfer. A page that is as the mirror has it is answered by a head (304), or by a head and
// its body when its server answers no request conditionally ([Builder.Whole]); one that changed by both. A
// listing is transferred whole. Sizes are those of the recording, without compression.

const (
	answerHead = 400 // bytes of a head
	entryBytes = 100 // of a line of a listing
)

// Whole says that these paths come with their bodies even if nothing has changed.
func (b *Builder) Whole(paths ...string) { b.whole = append(b.whole, paths...) }

// wholePages gives them the numbers of pages.
func (b *Builder) wholePages() {
	if len(b.whole) == 0 {
		return
	}
	b.h.whole = make([]bool, len(b.h.pages))
	for _, path := range b.whole {
		if p, ok := b.pages[path]; ok {
			b.h.whole[p] = true
		}
	}
}

// comesWhole reports whether a page comes with its body even if nothing has changed.
func (h *History) comesWhole(p Page) bool { return h.whole != nil && h.whole[p] }

// body is the bytes of a page of the site; 0 when they are not known.
func (w *World) body(p Page) int64 {
	if w.Site[p] == Gone {
		return 0
	}
	return max(0, w.size[p])
}

// wholeSize is the bytes of a page of the site that comes whole.
func (w *World) wholeSize(p Page) int64 {
	if !w.h.comesWhole(p) {
		return 0
	}
	return w.body(p)
}

// answer is what the answer for a page transfers now.
func (w *World) answer(p Page) int64 {
	if w.Site[p] == w.Mirror[p] {
		return answerHead + w.wholeSize(p)
	}
	return answerHead + w.body(p)
}

// listingBytes is what the listing of a directory transfers.
func (w *World) listingBytes(d Dir) int64 {
	entries := 0
	for _, p := range w.h.dirs[d].pages {
		if w.Site[p] != Gone {
			entries++
		}
	}
	for _, sub := range w.h.dirs[d].subs {
		if w.live[sub] > 0 {
			entries++
		}
	}
	return answerHead + entryBytes*int64(entries)
}

// fullBytes is what a full sync would transfer, when the one before was at the version before.
func (w *World) fullBytes() int64 {
	n := answerHead*int64(w.FullCost()) + w.wholeBytes
	if w.h.links == nil {
		n += entryBytes * int64(w.files+w.liveDirs-1)
	}
	for _, p := range w.Changed {
		if !w.h.comesWhole(p) {
			n += w.body(p)
		}
	}
	return n
}

// transfers are the bytes that a policy expects of answers: it knows those of what the mirror has.
type transfers struct {
	d *driver
	w *World
}

// Bytes returns how many bytes the answer for a unit has when it is as it was, and when it changed.
func (t transfers) Bytes(u policy.ID) (same, changed float64) {
	if int(u) >= len(t.d.units) {
		return answerHead, answerHead
	}
	x := t.d.units[u]
	if x.dir >= 0 { // of as many entries as the mirror has there
		n := answerHead + entryBytes*float64(t.w.heldEntries(x.dir))
		return n, n
	}
	body := answerHead + float64(max(0, t.w.heldSize[x.page]))
	if t.w.h.comesWhole(x.page) {
		return body, body
	}
	return answerHead, body
}

// heldEntries is how many entries the mirror has directly in a directory.
func (w *World) heldEntries(d Dir) (n int) {
	for _, p := range w.h.dirs[d].pages {
		if w.Mirror[p] != Gone {
			n++
		}
	}
	for _, sub := range w.h.dirs[d].subs {
		if w.known[sub] {
			n++
		}
	}
	return n
}

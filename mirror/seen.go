// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"sync"

	"mirrord/mirror/intake"
	"mirrord/mirror/ledger"
	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/store"
)

// contentSeen knows the pages of a mirror by what they say ("content seen?" of a crawler), so that a page
// with the words of another one is known, and takes little room. A site that lives as long as its one run has
// none of this. It is made ready by the first page that comes: most runs of most sites have few, or none.
type contentSeen struct {
	mu     sync.Mutex
	ready  bool
	kept   *store.Digests // nil: not ready, or it could not be read or written
	index  *text.SeenPages
	latest []uint32        // by the number of a URL: that of its newest digest, plus one
	own    uint32          // digests with this number and higher are of this process
	past   map[uint32]bool // digests of earlier runs that do not count any more
	asking uint32          // the URL whose page is being looked up, plus one
}

// likeWriter writes the documents that say what others say.
type likeWriter struct {
	mu sync.Mutex
	w  *store.FrameWriter
}

// appendLike stores a document as a delta over one that says the same.
func (r *run) appendLike(m store.FrameMeta, links, body []byte, over store.Place) (store.Place, error) {
	l := &r.likes
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		l.w = r.site.Frames.NewFrameWriter()
	}
	return r.site.Frames.AppendFrameLike(l.w, m, links, body, over)
}

// appendDocument stores a document: as what differs from the one that it takes the place of, where that is
// little or nothing else is known; else from one that says the same, at over; else in full.
func (r *run) appendDocument(p *processor, m store.FrameMeta, body []byte, old *store.Resource, over store.Place) (at store.Place, err error) {
	replaces := old.Body == store.PackBody
	switch {
	case over.Len == 0 && replaces:
		return r.site.Frames.AppendFrameOver(p.w, m, p.links, body, old.At)
	case over.Len == 0:
		return r.site.Frames.AppendFrame(p.w, m, p.links, body)
	case replaces:
		at, ok, err := r.site.Frames.AppendDelta(p.w, m, p.links, body, old.At)
		if ok || err != nil {
			return at, err
		}
	}
	return r.appendLike(m, p.links, body, over)
}

// pageText is what a page was found to say.
type pageText struct {
	page  store.PageDigest
	tally ledger.Tally // another page says it, or nearly
	n     uint32       // its number, plus one; 0: it is not kept, or was kept before
	over  store.Place  // of a document that says nearly the same; empty for none
}

// seenBefore makes the digest of a page, keeps it, and looks for another page that says the same, which it
// notes in now.
func (r *run) seenBefore(p *processor, now, old *store.Resource, body []byte, format relocate.Format) (said pageText) {
	words := intake.WordsOf(format, now.MIME, body)
	if words == intake.NoWords || !now.InSet || r.site.Volatile() {
		return said
	}
	if old.TextSum() == now.TextSum() { // it is scanned again
		now.Like, now.SameText = old.Like, old.SameText
		if r.isKept(now) {
			return said
		}
	}
	said.page = store.PageDigest{ID: now.ID, Body: now.TextSum(), Run: r.state.Number}
	said.page.Digest = p.read.Digest(body, now.Charset, words)
	said.page.Digest.Site = now.ID
	s := &r.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	err := r.readySeen()
	if s.kept == nil || err != nil {
		r.seenFails(err)
		return said
	}
	like, exact, err := r.likePage(&said)
	if err == nil {
		var n uint32
		if n, err = s.kept.Append(&said.page); err == nil {
			s.note(now.ID, n)
			said.n = n + 1
			err = s.index.Add(n, &said.page.Digest, like > 0)
		}
	}
	r.seenFails(err)
	now.Like, now.SameText = like, exact
	switch {
	case like == 0:
		now.SameText = false
	case exact:
		said.tally = ledger.AsSameText
	default:
		said.tally = ledger.AsNearText
	}
	return said
}

// isKept reports whether the digest of a body is kept already.
func (r *run) isKept(now *store.Resource) bool {
	s := &r.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.readySeen(); s.kept == nil || err != nil {
		r.seenFails(err)
		return false
	}
	n := s.newest(now.ID)
	if n == 0 {
		return false
	}
	had, ok, err := s.kept.At(n - 1)
	r.seenFails(err)
	return ok && had.Body == now.TextSum()
}

// likePage looks for a page that says what another one does, and for its document. It returns the number of
// its URL, plus one, 0 for none. The caller holds mu.
func (r *run) likePage(text *pageText) (like uint32, exact bool, err error) {
	s := &r.seen
	s.asking = text.page.ID + 1
	defer func() { s.asking = 0 }()
	for {
		k, ok, err := s.index.Like(&text.page.Digest)
		if err != nil || !ok {
			return 0, false, err
		}
		other, ok, err := s.kept.At(k.Page)
		if err != nil {
			return 0, false, err
		}
		if ok && k.Page >= s.own {
			text.over = other.At
			return other.ID + 1, k.Exact, nil
		}
		if ok { // documents may have moved since, and the page may say something else
			rec, known, err := r.site.Records.Get(r.table.URL(other.ID))
			if err != nil {
				return 0, false, err
			}
			if known && rec.InSet && rec.TextSum() == other.Body {
				text.over = rec.At
				return other.ID + 1, k.Exact, nil
			}
		}
		if s.past == nil {
			s.past = map[uint32]bool{}
		}
		s.past[k.Page] = true // and not in the way of others
	}
}

// storedPage notes where the document of a page lies. One that was stored in full, although it says what
// another page says that is still on its way, is found from now on.
func (r *run) storedPage(text *pageText, at store.Place) {
	if text.n == 0 {
		return
	}
	s := &r.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	text.page.At = at
	if s.kept == nil {
		return
	}
	err := s.kept.Set(text.n-1, &text.page)
	if err == nil && text.tally != 0 && text.over.Len == 0 {
		err = s.index.Add(text.n-1, &text.page.Digest, false)
	}
	r.seenFails(err)
}

// readySeen reads what is known of the mirror's pages. The caller holds mu.
func (r *run) readySeen() (err error) {
	s := &r.seen
	if s.ready {
		return nil
	}
	s.ready = true
	if s.kept, err = r.site.Digests(); err != nil {
		return err
	}
	s.own = s.kept.Len()
	for n, p := range s.kept.All() {
		if r.table.InSet(p.ID) { // the one that left would be in the way of those that say what it said
			s.note(p.ID, n)
		}
	}
	s.index = text.NewSeenPages(text.SeenOptions{Digest: s.digest, Current: s.isCurrent, Pages: s.pages()})
	for n, p := range s.kept.All() {
		if s.newest(p.ID) == n+1 {
			if err := s.index.Add(n, &p.Digest, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// pages is how many pages have a digest.
func (s *contentSeen) pages() (n int) {
	for _, at := range s.latest {
		if at > 0 {
			n++
		}
	}
	return n
}

func (s *contentSeen) newest(id uint32) uint32 {
	if int(id) >= len(s.latest) {
		return 0
	}
	return s.latest[id]
}

func (s *contentSeen) note(id, n uint32) {
	if int(id) >= len(s.latest) {
		s.latest = append(s.latest, make([]uint32, int(id)+1-len(s.latest))...)
	}
	s.latest[id] = n + 1
}

// digest reads one digest; one that is spoilt has no words.
func (s *contentSeen) digest(n uint32) (text.ContentDigest, error) {
	p, _, err := s.kept.At(n)
	return p.Digest, err
}

// isCurrent reports whether a digest is the newest of another page than the one that is looked up.
func (s *contentSeen) isCurrent(n uint32, d *text.ContentDigest) bool {
	return d.Site+1 != s.asking && s.newest(d.Site) == n+1 && !s.past[n]
}

// seenFails goes on without knowing what pages say: an error is no reason to end a run. The caller holds mu.
func (r *run) seenFails(err error) {
	if err == nil {
		return
	}
	r.log.Warn("pages that say the same are not looked for any more", "err", err)
	r.notes.Add("pages that say the same are not looked for any more: "+err.Error(), r.rules.Seeds[0])
	r.dropSeen()
}

// dropSeen lets go of the digests.
func (r *run) dropSeen() {
	s := &r.seen
	if s.kept == nil {
		return
	}
	if err := s.kept.Close(); err != nil {
		r.log.Warn("digests of pages", "err", err)
	}
	s.kept, s.index, s.latest, s.past = nil, nil, nil, nil
}

// endSeen lets go of the digests at the end of the retrieval. They are written anew when most of them are of
// what no page says any more.
func (r *run) endSeen() {
	s := &r.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
	if s.kept == nil {
		return
	}
	if int(s.kept.Len()) > 2*s.pages()+spareDigests {
		if err := s.kept.Keep(func(n uint32, p *store.PageDigest) bool { return s.newest(p.ID) == n+1 }); err != nil {
			r.log.Warn("digests of pages", "err", err)
		}
	}
	r.dropSeen()
}

// spareDigests is how many digests more than twice those that count are kept before they are written anew.
const spareDigests = 1000

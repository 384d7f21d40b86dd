// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"sync"

	"mirrord/internal/numbered"
	"mirrord/mirror/urls"
	"mirrord/replica/text"
	"mirrord/store"
)

// contentSeen knows the pages of a mirror by what they say ("content seen?" of a crawler), so that a page
// with the words of another one is known, and takes little room. It is made ready by the first page that
// comes: most runs of most sites have few, or none.
type contentSeen struct {
	*SaverOptions

	mu     sync.Mutex
	ready  bool
	kept   *store.Digests // nil: not ready, or it could not be read or written
	index  *text.SeenPages
	latest numbered.Values[uint32] // by the number of a URL: that of its newest digest, plus one
	own    uint32                  // digests with this number and higher are of this process
	past   map[uint32]bool         // digests of earlier runs that no longer count
	asking uint32                  // the URL whose page is being looked up, plus one
}

// pageText is what a page was found to say.
type pageText struct {
	page  store.PageDigest
	tally urls.Tally  // another page says it, or nearly
	n     uint32      // its number, plus one; 0: it is not kept, or was kept before
	over  store.Place // of a document that says nearly the same; empty for none
}

// look makes the digest of a page, keeps it, and looks for another page that says the same, which it notes in
// the record.
func (s *contentSeen) look(p *Page) (said pageText) {
	now, old := p.Now, p.Old
	if p.Digest == nil || !now.InSet || s.Digests == nil {
		return said
	}
	if old.TextSum() == now.TextSum() { // it is scanned again
		now.Like, now.SameText = old.Like, old.SameText
		if s.isKept(now) {
			return said
		}
	}
	said.page = store.PageDigest{ID: now.ID, Body: now.TextSum(), Run: s.Run}
	said.page.Digest = p.Digest()
	said.page.Digest.Site = now.ID
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.prepare()
	if s.kept == nil || err != nil {
		s.fails(err)
		return said
	}
	like, exact, err := s.likePage(&said)
	if err == nil {
		err = s.add(&said, like > 0)
	}
	s.fails(err)
	now.Like, now.SameText = like, exact
	switch {
	case like == 0:
	case exact:
		said.tally = urls.AsSameText
	default:
		said.tally = urls.AsNearText
	}
	return said
}

// add keeps the digest of a page, which is complete when the page is stored. The caller holds mu.
func (s *contentSeen) add(said *pageText, like bool) error {
	n, err := s.kept.Append(&said.page)
	if err != nil {
		return err
	}
	s.note(said.page.ID, n)
	said.n = n + 1
	return s.index.Add(n, &said.page.Digest, like)
}

// isKept reports whether the digest of a body is kept already.
func (s *contentSeen) isKept(now *store.Resource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.prepare(); s.kept == nil || err != nil {
		s.fails(err)
		return false
	}
	n := s.newest(now.ID)
	if n == 0 {
		return false
	}
	had, ok, err := s.kept.At(n - 1)
	s.fails(err)
	return ok && had.Body == now.TextSum()
}

// likePage looks for a page that says what another one does, and for its document. It returns the number of
// its URL, plus one, 0 for none. The caller holds mu.
func (s *contentSeen) likePage(said *pageText) (like uint32, exact bool, err error) {
	s.asking = said.page.ID + 1
	defer func() { s.asking = 0 }()
	for {
		k, ok, err := s.index.Like(&said.page.Digest)
		if err != nil || !ok {
			return 0, false, err
		}
		other, ok, err := s.kept.At(k.Page)
		if err != nil {
			return 0, false, err
		}
		if ok && k.Page >= s.own {
			said.over = other.At
			return other.ID + 1, k.Exact, nil
		}
		if ok { // documents may have moved since, and the page may say something else
			rec, known, err := s.Get(s.URL(other.ID))
			if err != nil {
				return 0, false, err
			}
			if known && rec.InSet && rec.TextSum() == other.Body {
				said.over = rec.At
				return other.ID + 1, k.Exact, nil
			}
		}
		if s.past == nil {
			s.past = map[uint32]bool{}
		}
		s.past[k.Page] = true // and not in the way of others
	}
}

// stored notes where the document of a page lies. One that was stored in full, although it says what
// another page says that is still on its way, is found from now on.
func (s *contentSeen) stored(said *pageText, at store.Place) {
	if said.n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	said.page.At = at
	if s.kept == nil {
		return
	}
	err := s.kept.Set(said.n-1, &said.page)
	if err == nil && said.tally != 0 && said.over.Len == 0 {
		err = s.index.Add(said.n-1, &said.page.Digest, false)
	}
	s.fails(err)
}

// storedBlob notes that a page which is no document is stored.
func (s *contentSeen) storedBlob(said *pageText) {
	if said.n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept != nil {
		s.fails(s.kept.Set(said.n-1, &said.page))
	}
}

// prepare reads the digests of the mirror's pages. The caller holds mu.
func (s *contentSeen) prepare() (err error) {
	if s.ready {
		return nil
	}
	s.ready = true
	if s.kept, err = s.Digests(); err != nil {
		return err
	}
	s.own = s.kept.Len()
	for n, p := range s.kept.All() {
		if s.InSet(p.ID) { // the one that left would be in the way of those that say what it said
			s.note(p.ID, n)
		}
	}
	if s.index, err = text.NewSeenPages(text.SeenOptions{
		Digest:  s.digest,
		Current: s.isCurrent,
		Pages:   s.pages(),
		Scratch: func() (text.SeenFile, error) { return s.kept.Scratch() },
	}); err != nil {
		return err
	}
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
	for range s.latest.All() {
		n++
	}
	return n
}

func (s *contentSeen) newest(id uint32) uint32 { return s.latest.Of(id) }

func (s *contentSeen) note(id, n uint32) { s.latest.Put(id, n+1) }

// digest reads one digest; a damaged one has no words.
func (s *contentSeen) digest(n uint32) (text.ContentDigest, error) {
	p, _, err := s.kept.At(n)
	return p.Digest, err
}

// isCurrent reports whether a digest is the newest of another page than the one that is looked up.
func (s *contentSeen) isCurrent(n uint32, d *text.ContentDigest) bool {
	return d.Site+1 != s.asking && s.newest(d.Site) == n+1 && !s.past[n]
}

// fails continues without knowing what pages say: an error is no reason to end a run. The caller holds mu.
func (s *contentSeen) fails(err error) {
	if err == nil {
		return
	}
	s.Failed(err)
	s.drop()
}

// drop lets go of the digests. The caller holds mu.
func (s *contentSeen) drop() {
	if s.kept == nil {
		return
	}
	err := s.kept.Close()
	if s.index != nil {
		err = errors.Join(err, s.index.Close())
	}
	if err != nil {
		s.Log.Warn("digests of pages", "err", err)
	}
	s.kept, s.index, s.latest, s.past = nil, nil, numbered.Values[uint32]{}, nil
}

// end lets go of the digests at the end of the retrieval. They are written again when most of them are of
// texts that no page has now.
func (s *contentSeen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
	if s.kept == nil {
		return
	}
	if int(s.kept.Len()) > 2*s.pages()+spareDigests {
		if err := s.kept.Keep(func(n uint32, p *store.PageDigest) bool {
			return s.newest(p.ID) == n+1
		}); err != nil {
			s.Log.Warn("digests of pages", "err", err)
		}
	}
	s.drop()
}

// spareDigests is how many digests more than twice those that count are kept before they are written again.
const spareDigests = 1000

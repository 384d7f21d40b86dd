// SPDX-License-Identifier: Apache-2.0

package process

import (
	"sync"

	"mirrord/internal/numbered"
	"mirrord/mirror/urls"
	"mirrord/replica/text"
	"mirrord/store/pages"
	"mirrord/store/record"
)

// contentSeen knows the pages of a mirror by what they say ("content seen?" of a crawler), so that a page
// with the gist of another one is known, and takes little room. It is made ready by the first page that
// comes: most runs of most sites have few, or none.
type contentSeen struct {
	o *SaverOptions

	mu     sync.Mutex
	ready  bool
	kept   *pages.Texts // nil: not ready, or it could not be read or written
	index  *text.SeenPages
	latest numbered.Values[uint32] // by the number of a URL: that of its newest entry, plus one
	own    uint32                  // entries with this number and higher are of this run
	past   urls.IDSet              // entries of earlier runs that no longer count
	fresh  map[uint32]record.Place // by the number of a URL: of documents whose records may be on their way
	asking uint32                  // the URL whose page is being looked up, plus one
}

// pageText is what a page was found to say.
type pageText struct {
	tally urls.Tally   // another page says it
	over  record.Place // of a document that says it; empty for none
}

// look finds out what a page says, keeps it, and looks for another page that says the same, which it notes in
// the record.
func (s *contentSeen) look(p *Page) (said pageText) {
	now, old := p.Now, p.Old
	if p.Said == nil || !now.InSet || s.o.Texts == nil {
		return said
	}
	again := old.TextSum() == now.TextSum()
	if again { // it is scanned again
		now.Like, now.SameText = old.Like, old.SameText
	}
	page := pages.TextEntry{ID: now.ID, Body: now.TextSum()}
	if !s.wants(&page, again) {
		return said
	}
	page.Said = p.Said() // which takes long: without the lock
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept != nil {
		s.fails(s.find(&page, now, &said))
	}
	return said
}

// wants reports whether it is to be found out what a page says.
func (s *contentSeen) wants(page *pages.TextEntry, again bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails(s.prepare())
	return s.kept != nil && !(again && s.isKept(page))
}

// find looks for another page that says the same, and adds the page. The caller holds mu.
func (s *contentSeen) find(page *pages.TextEntry, now *record.Resource, said *pageText) (err error) {
	if now.Like, now.SameText, err = s.likePage(page, said); err != nil {
		return err
	}
	switch {
	case now.Like == 0:
	case now.SameText:
		said.tally = urls.AsSameText
	default:
		said.tally = urls.AsNearText
	}
	n, err := s.kept.Append(page)
	if err != nil {
		return err
	}
	s.latest.Put(page.ID, n+1)
	// one that is stored in full, because the other is still on its way, is found from now on
	s.index.Add(n, page.Said, said.over.Len > 0)
	return nil
}

// isKept reports whether it is kept what a body says. The caller holds mu.
func (s *contentSeen) isKept(page *pages.TextEntry) bool {
	n := s.latest.Of(page.ID)
	if n == 0 {
		return false
	}
	had, ok, err := s.kept.At(n - 1)
	s.fails(err)
	return ok && had.Body == page.Body
}

// likePage looks for a page that says what another one does, and for its document. It returns the number of
// its URL, plus one, 0 for none. The caller holds mu.
func (s *contentSeen) likePage(page *pages.TextEntry, said *pageText) (like uint32, exact bool, err error) {
	s.asking = page.ID + 1
	defer func() { s.asking = 0 }()
	for {
		k, ok, err := s.index.Like(page.Said)
		if err != nil || !ok {
			return 0, false, err
		}
		other, ok, err := s.kept.At(k.Page)
		if err != nil {
			return 0, false, err
		}
		if ok {
			rec, known, err := s.o.Get(s.o.URL(other.ID))
			if err != nil {
				return 0, false, err
			}
			current := known && rec.InSet && rec.TextSum() == other.Body // else it may say something else now
			if current || k.Page >= s.own {
				if said.over = s.fresh[other.ID]; current {
					said.over = rec.At
				}
				return other.ID + 1, k.Exact, nil
			}
		}
		s.past.Put(k.Page, true) // and not in the way of others
	}
}

// stored notes where the document of a page lies.
func (s *contentSeen) stored(now *record.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		return
	}
	if len(s.fresh) == mostFresh || s.fresh == nil {
		s.fresh = make(map[uint32]record.Place, mostFresh)
	}
	s.fresh[now.ID] = now.At
}

// mostFresh is how many documents are known before their records are: some 10 seconds of a fast run.
const mostFresh = 4096

// prepare reads what the mirror's pages say. The caller holds mu.
func (s *contentSeen) prepare() (err error) {
	if s.ready {
		return nil
	}
	s.ready = true
	if s.kept, err = s.o.Texts(); err != nil {
		s.kept = nil
		return err
	}
	s.own = s.kept.Len()
	for n, p := range s.kept.All() {
		if s.o.InSet(p.ID) { // the one that left would be in the way of those that say what it said
			s.latest.Put(p.ID, n+1)
		}
	}
	s.index = text.NewSeenPages(s.said)
	for n, p := range s.kept.All() {
		if s.latest.Of(p.ID) == n+1 {
			s.index.Add(n, p.Said, true)
		}
	}
	return nil
}

// pages is how many pages have an entry.
func (s *contentSeen) pages() (n int) {
	for range s.latest.All() {
		n++
	}
	return n
}

// said is what a page says that counts: the newest of another URL than the one whose page is looked up.
func (s *contentSeen) said(n uint32) (text.Said, error) {
	p, ok, err := s.kept.At(n)
	if !ok || p.ID+1 == s.asking || s.latest.Of(p.ID) != n+1 || s.past.Has(n) {
		return text.Said{}, err
	}
	return p.Said, nil
}

// fails continues without knowing what pages say: an error is no reason to end a run. The caller holds mu.
func (s *contentSeen) fails(err error) {
	if err == nil {
		return
	}
	s.o.Failed(err)
	s.drop()
}

// drop lets go of the file. The caller holds mu.
func (s *contentSeen) drop() {
	if s.kept == nil {
		return
	}
	if err := s.kept.Close(); err != nil {
		s.o.Log.Warn("texts of pages", "err", err)
	}
	s.kept, s.index, s.latest, s.past, s.fresh = nil, nil, numbered.Values[uint32]{}, nil, nil
}

// end lets go of the file at the end of the retrieval. It is written again when most of its entries are of
// texts that no page has now.
func (s *contentSeen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
	if s.kept == nil {
		return
	}
	if int(s.kept.Len()) > 2*s.pages()+spareTexts {
		if err := s.kept.Keep(func(n uint32, p *pages.TextEntry) bool {
			return s.latest.Of(p.ID) == n+1
		}); err != nil {
			s.o.Log.Warn("texts of pages", "err", err)
		}
	}
	s.drop()
}

// spareTexts is how many entries more than twice those that count are kept before they are written again.
const spareTexts = 1000

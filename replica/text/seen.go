// SPDX-License-Identifier: Apache-2.0

package text

import "mirrord/replica/hash"

// SeenPages answers of one page after the other whether a page with the same gist was seen before ("content
// seen?" of a crawler; Manning, Raghavan, Schütze, section 20.2). A page is compared with at most one other,
// so nothing that a site does makes it slow. It takes 10 to 21 bytes a page; what the pages say lies wherever
// the caller keeps it. Not for concurrent use.
type SeenPages struct {
	said  func(page uint32) (Said, error)
	pages map[uint32]uint32 // by a part of the hash of their gist: a guess until it was looked at what they say
}

// NewSeenPages returns an index without pages. said is what a page says that was added; Text is 0 when the
// page no longer counts.
func NewSeenPages(said func(page uint32) (Said, error)) *SeenPages {
	return &SeenPages{said: said, pages: map[uint32]uint32{}}
}

// Known is what a page was found to be like.
type Known struct {
	Page  uint32 // the page seen before
	Exact bool   // it has the same words; else the same gist
}

// Like returns the page that was added and has the gist of x. Pages without words are like none.
func (s *SeenPages) Like(x Said) (k Known, ok bool, err error) {
	page, ok := s.pages[part(x)]
	if x.Text == 0 || !ok {
		return Known{}, false, nil
	}
	other, err := s.said(page)
	if err != nil || other.Text == 0 || other.Gist != x.Gist {
		return Known{}, false, err
	}
	return Known{Page: page, Exact: other.Text == x.Text}, true, nil
}

// Add notes a page. One that is said to be like another page leaves that its place: of pages that say the
// same the first is found.
func (s *SeenPages) Add(page uint32, x Said, like bool) {
	if _, taken := s.pages[part(x)]; x.Text != 0 && !(like && taken) {
		s.pages[part(x)] = page
	}
}

// part is by what a page is found. Of two pages with one part and different gists the later is found.
func part(x Said) uint32 { return uint32(hash.Mix(x.Gist) >> 32) }

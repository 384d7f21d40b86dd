// SPDX-License-Identifier: Apache-2.0

package text

import "mirrord/replica/hash"

// SeenPages answers of one page after the other whether a page with the same gist was seen before ("content
// seen?" of a crawler; Manning, Raghavan, Schütze, section 20.2). A page is compared with at most one other,
// so nothing that a site does makes it slow. It takes 8 to 12 bytes a page; what the pages say lies wherever
// the caller keeps it. Not for concurrent use.
type SeenPages struct {
	o     SeenOptions
	parts []uint16 // of the keys of pages that were added, by place; 0: free
	pages []uint32 // the numbers of those pages. A guess until it was looked at what they say
	full  int      // places in use
	known uint32   // pages that were added have lower numbers
}

// SeenOptions say where it is kept what pages say.
type SeenOptions struct {
	// Said is of a page that was added; Text is 0 when the page no longer counts
	Said  func(page uint32) (Said, error)
	Pages int // how many to expect
}

// NewSeenPages returns an index without pages.
func NewSeenPages(o SeenOptions) *SeenPages {
	s := &SeenPages{o: o}
	s.room(max(leastSeen, o.Pages*7/5))
	return s
}

// Known is what a page was found to be like.
type Known struct {
	Page  uint32 // the page seen before
	Exact bool   // it has the same words; else the same gist
}

// Like returns the page that was added and has the gist of x. Pages without words are like none.
func (s *SeenPages) Like(x Said) (k Known, ok bool, err error) {
	at, _ := s.place(x)
	if x.Text == 0 || s.parts[at] == 0 {
		return Known{}, false, nil
	}
	other, err := s.o.Said(s.pages[at])
	if err != nil || other.Text == 0 || other.Gist != x.Gist {
		return Known{}, false, err
	}
	return Known{Page: s.pages[at], Exact: other.Text == x.Text}, true, nil
}

// Add notes a page. What it says must be had from Said by then. One that is said to be like another page
// leaves that its place: of pages that say the same the first is found.
func (s *SeenPages) Add(page uint32, x Said, like bool) error {
	s.known = max(s.known, page+1)
	if x.Text == 0 {
		return nil
	}
	if (s.full+1)*5 > len(s.parts)*4 {
		return s.grow()
	}
	s.put(page, x, like)
	return nil
}

// grow makes the table larger by half and fills it from what the pages say: it keeps too little to move what
// it has.
func (s *SeenPages) grow() error {
	s.room(len(s.parts) + len(s.parts)/2)
	for page := range s.known {
		x, err := s.o.Said(page)
		if err != nil {
			return err
		}
		if x.Text != 0 {
			s.put(page, x, true)
		}
	}
	return nil
}

// room makes an empty table of n places.
func (s *SeenPages) room(n int) {
	s.parts, s.pages, s.full = nil, nil, 0 // gone before the new ones come
	s.parts, s.pages = make([]uint16, n), make([]uint32, n)
}

func (s *SeenPages) put(page uint32, x Said, like bool) {
	at, part := s.place(x)
	if s.parts[at] == 0 {
		s.full++
	} else if like {
		return
	}
	s.parts[at], s.pages[at] = part, page
}

// place returns where a gist is, or would be, and its part there: it replaces another one where too many are
// near, as a hostile site can arrange.
func (s *SeenPages) place(x Said) (at int, part uint16) {
	key := hash.Mix(x.Gist)
	i := s.home(key)
	part = max(1, uint16(key))
	for range mostProbes {
		if s.parts[i] == 0 || s.parts[i] == part {
			break
		}
		if i++; i == len(s.parts) {
			i = 0
		}
	}
	return i, part
}

// home is where a key belongs: as far in the table as some of its bits are in all numbers, so that the table
// has any size.
func (s *SeenPages) home(key uint64) int {
	return int(uint64(uint32(key>>16)) * uint64(len(s.parts)) >> 32)
}

// mostProbes is how many places are passed for a key: more than ever are when keys are as chance has them and
// four fifths of a table of 2^27 places are in use.
const mostProbes = 1 << 10

// leastSeen is how many places a table has at least.
const leastSeen = 1 << 10

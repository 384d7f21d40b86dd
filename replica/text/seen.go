// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/binary"

	"mirrord/replica/hash"
)

// seenBands is how many bands are looked at. Of pages that resemble one another by 0.95 all but one in a
// thousand agree in one of them, by 0.9 all but 14.
const seenBands = 4

// SeenPages answers of one page after the other whether it was seen before: with the same words, or nearly
// ("content seen?" of a crawler; Manning, Raghavan, Schütze, section 20.2). A page is compared with at most
// one page of each band, so nothing that a site does makes it slow. It takes 38 to 56 bytes a page, and 13 to
// 19 of more pages than 150,000, when it is given a file; the digests themselves lie wherever the caller
// keeps them. Not for concurrent use.
type SeenPages struct {
	SeenOptions
	least int
	parts []uint16    // of the keys of pages that were added, by place; 0: free
	pages seenNumbers // of those pages. A guess until the digest was looked at
	full  int         // places in use
	known uint32      // pages that were added have lower numbers
}

// SeenOptions say where digests lie and which pages are alike.
type SeenOptions struct {
	Digest      func(page uint32) (ContentDigest, error)  // of a page that was added
	Current     func(page uint32, of *ContentDigest) bool // says whether a page still counts; nil: all do
	Pages       int                                       // how many to expect
	Resemblance float64                                   // estimated, from which pages are alike; 0 means 0.9
	Scratch     func() (SeenFile, error)                  // makes a file; nil: all is in memory
}

// NewSeenPages returns an index without pages. The caller closes it.
func NewSeenPages(o SeenOptions) (*SeenPages, error) {
	if o.Resemblance <= 0 {
		o.Resemblance = 0.9
	}
	s := &SeenPages{SeenOptions: o, least: LeastEqual(o.Resemblance), pages: seenNumbers{open: o.Scratch}}
	return s, s.room(max(leastSeen, o.Pages*(seenBands+1)*7/5))
}

// Close lets go of the file.
func (s *SeenPages) Close() error { return s.pages.close() }

// Known is what a page was found to be like.
type Known struct {
	Page  uint32 // the page seen before
	Exact bool   // it has the same words; else nearly
}

// Like returns the page that was added and is most like one with digest d; one with the same words, if there
// is one. Pages without words are like none.
func (s *SeenPages) Like(d *ContentDigest) (k Known, ok bool, err error) {
	if d.Words == 0 {
		return Known{}, false, nil
	}
	best := s.least - 1
	for i := range seenBands + 1 {
		at, _ := s.place(seenKey(d, i))
		if s.parts[at] == 0 {
			continue
		}
		page, err := s.pages.get(at)
		if err != nil {
			return Known{}, false, err
		}
		if ok && page == k.Page {
			continue
		}
		other, err := s.Digest(page)
		if err != nil {
			return Known{}, false, err
		}
		if s.Current != nil && !s.Current(page, &other) {
			continue
		}
		if other.Text == d.Text && other.Words == d.Words {
			return Known{page, true}, true, nil
		}
		if n := other.Sketch.Equal(&d.Sketch); n > best {
			best, k, ok = n, Known{Page: page}, true
		}
	}
	return k, ok, nil
}

// Add notes a page. Its digest must be had from Digest by then. One that is said to be like another page
// leaves that its place: of pages that say the same the first is found.
func (s *SeenPages) Add(page uint32, d *ContentDigest, like bool) error {
	s.known = max(s.known, page+1)
	if d.Words == 0 {
		return nil
	}
	if (s.full+seenBands+1)*5 > len(s.parts)*4 {
		return s.grow()
	}
	return s.put(page, d, like)
}

// grow makes the table larger by half and fills it from the digests: it keeps too little to move what it has.
func (s *SeenPages) grow() error {
	if err := s.room(len(s.parts) + len(s.parts)/2); err != nil {
		return err
	}
	for page := range s.known {
		d, err := s.Digest(page)
		if err != nil {
			return err
		}
		if d.Words == 0 || (s.Current != nil && !s.Current(page, &d)) {
			continue
		}
		if err := s.put(page, &d, true); err != nil {
			return err
		}
	}
	return nil
}

// room makes an empty table of n places.
func (s *SeenPages) room(n int) error {
	s.parts, s.full = nil, 0 // gone before the new one comes
	s.parts = make([]uint16, n)
	return s.pages.room(n)
}

func (s *SeenPages) put(page uint32, d *ContentDigest, like bool) error {
	for i := range seenBands + 1 {
		at, part := s.place(seenKey(d, i))
		if s.parts[at] == 0 {
			s.full++
		} else if like {
			continue
		}
		s.parts[at] = part
		if err := s.pages.set(at, page); err != nil {
			return err
		}
	}
	return nil
}

// place returns where a key is, or would be, and its value: it replaces another one where too many are
// near, as a hostile site can arrange.
func (s *SeenPages) place(key uint64) (at int, part uint16) {
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

// seenKey is the key of a digest in band i, or, for the last one, of its words.
func seenKey(d *ContentDigest, i int) uint64 {
	if i == seenBands {
		return hash.Mix(d.Text)
	}
	return hash.Mix(uint64(i+1)<<32 | uint64(binary.LittleEndian.Uint32(d.Sketch[i*BandRows:])))
}

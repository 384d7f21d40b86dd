package replica

import "encoding/binary"

// seenBands is how many bands are looked at. Pages that resemble one another by 0.9 agree in one of them in all but 2 of 10 000 cases, by 0.8 in
// all but 15 of 1000.
const seenBands = 8

// Seen answers, page by page, whether a page was seen before: with the same words, or nearly ("content seen?" of a crawler). A digest is
// compared with at most one page of each band. It takes about 300 bytes a page. Not for concurrent use.
type Seen struct {
	least   int
	digests []Digest
	text    map[uint64]uint32
	bands   [seenBands]map[uint32]uint32 // the page seen last that has these bytes
}

// NewSeen returns an index that calls pages alike whose estimated resemblance is at least r; 0 means 0.9.
func NewSeen(r float64) *Seen {
	if r <= 0 {
		r = 0.9
	}
	s := &Seen{least: leastEqual(r), text: map[uint64]uint32{}}
	for i := range s.bands {
		s.bands[i] = map[uint32]uint32{}
	}
	return s
}

// Known is what a page was found to be.
type Known struct {
	Page  uint32 // the number that the page has: from 0 in the order of the calls
	Like  uint32 // the page seen before that it is most like; itself when there is none
	Exact bool   // that has the same words
}

// Add takes a page and says what it is. Pages without words are like none. A page of the same words as another is not kept once more, and
// the page that it is like is the first of them.
func (s *Seen) Add(d Digest) Known {
	k := Known{Page: uint32(len(s.digests))}
	k.Like = k.Page
	s.digests = append(s.digests, d)
	if d.Words == 0 {
		return k
	}
	if first, ok := s.text[d.Text]; ok && s.digests[first].Words == d.Words {
		k.Like, k.Exact = first, true
		return k
	}
	s.text[d.Text] = k.Page
	best := s.least - 1
	for i := range s.bands {
		key := binary.LittleEndian.Uint32(d.Sketch[i*bandRows:])
		if other, ok := s.bands[i][key]; ok {
			if n := s.digests[other].Sketch.equal(&d.Sketch); n > best || n == best && k.Like != k.Page && other < k.Like {
				best, k.Like = n, other
			}
		}
		s.bands[i][key] = k.Page
	}
	return k
}

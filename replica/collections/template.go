// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"math/bits"

	"mirrord/replica/text"
)

// Pages of one template resemble one another without saying the same. What a page says itself is, in its
// sketch, the bins that differ from those of other pages of its host in the same group.

const (
	siblingsKept  = 3    // pages of a host whose bins are compared
	siblingsLeast = 2    // with fewer the template is unknown
	mostHosts     = 4096 // whose pages are kept at a time
	ownShare      = 0.3  // of a page's own bins: those that another page which says the same has, at least
)

// bins is a set of bins of a sketch.
type bins [text.Bins / 64]uint64

func (b bins) count() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// equal counts the bins of the set that are the same in two sketches.
func (b bins) equal(s, t *text.Sketch) (n int) {
	for i, word := range b {
		for ; word != 0; word &= word - 1 {
			if at := 64*i + bits.TrailingZeros64(word); s[at] == t[at] {
				n++
			}
		}
	}
	return n
}

// siblings are the last pages of a host in a group, of different words.
type siblings struct {
	n      int // pages up to now
	text   [siblingsKept]uint64
	sketch [siblingsKept]text.Sketch
}

// templates are the siblings by host.
type templates map[uint64]*siblings

// own returns the bins that a page has for itself, and takes it up as a sibling of those that follow. Where
// few pages of its host are known, known is false.
func (t templates) own(m *member) (own bins, known bool) {
	if m.sketch == nil {
		return own, false
	}
	s := t[m.host]
	if s == nil {
		if len(t) >= mostHosts {
			clear(t)
		}
		s = new(siblings)
		t[m.host] = s
	}
	have := min(s.n, siblingsKept)
	for i := range have {
		if s.text[i] == m.text { // the same page in two places
			return own, false
		}
	}
	if known = have >= siblingsLeast; known {
		for at := range m.sketch {
			said := 0
			for i := range have {
				if s.sketch[i][at] == m.sketch[at] {
					said++
				}
			}
			if said < siblingsLeast {
				own[at/64] |= 1 << (at % 64)
			}
		}
	}
	s.text[s.n%siblingsKept], s.sketch[s.n%siblingsKept] = m.text, *m.sketch
	s.n++
	return own, known
}

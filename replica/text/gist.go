// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"

	"mirrord/replica/hash"
)

// Said is what a page says, in 16 bytes.
type Said struct {
	Text uint64 // fingerprint of its words, in order, as in a ContentDigest; 0 of a page without any
	// the same without numbers, words with digits (dates, counters, tokens) and the words of its own address,
	// which a program writes into each answer; Text of a page that has nothing else
	Gist uint64
}

// gist is what a Sketcher keeps in order to make a Said.
type gist struct {
	sum   uint64   // 0: no word yet
	own   []uint64 // the words of the page's address
	among uint64   // a bit for each of them
}

// Said finds out what a page says, which came from an address, with a charset in its header, "" for none. It
// makes no shingles: a sketch takes a third longer.
func (s *Sketcher) Said(body []byte, address, label string, markup bool) Said {
	g := &s.gist
	g.own, g.among = g.own[:0], 0
	for _, w := range Tokens(address) {
		h := wordHash(w)
		g.own, g.among = append(g.own, h), g.among|1<<(h&63)
	}
	s.brief = true
	s.read(body, label, markup)
	s.brief = false
	if s.words == 0 {
		return Said{}
	}
	x := Said{Text: s.said()}
	if x.Gist = x.Text; g.sum != 0 {
		x.Gist = max(1, hash.Mix(g.sum))
	}
	return x
}

// say takes the words that wait.
func (s *Sketcher) say() {
	g := &s.gist
	text, sum := s.text, g.sum
	for i, h := range s.wait[maxK : maxK+s.n] {
		text = (text ^ h) * hash.TextPrime
		text ^= text >> 32
		if s.nums[i] != 0 || (g.among>>(h&63)&1 != 0 && slices.Contains(g.own, h)) {
			continue
		}
		sum = (sum ^ h) * hash.TextPrime
		sum ^= sum >> 32
	}
	s.text, g.sum = text, sum
	s.words += s.n
	s.n = 0
}

// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math"
	"slices"

	"mirrord/replica/hash"
)

// ContentDigest is the stored digest of a page: 144 bytes.
type ContentDigest struct {
	Text   uint64 // fingerprint of its words, in order; 0 of a page without any
	Words  uint32 // how many
	Site   uint32 // for the caller: the number of its host or directory
	Sketch Sketch
}

// DigestForm is raised whenever the digest of some page changes. Digests of another form cannot be compared
// with new ones: who keeps digests keeps the form beside them, and makes them again when it is another one.
//
//	1: the first that was kept
//	2: words are hashed eight bytes at a time
//	3: UTF-16 without a mark, what says that it is UTF-8 and is not, and UTF-8 with errors are read
//	4: text read as Latin-1 is windows-1252, and UTF-16 that only the header names is read; meta elements
//	   come before an XML declaration, and none in comments count
//	5: what a page declares is looked for as browsers do
const DigestForm = 5

// SketchOptions say how sketches are made. Only sketches made alike can be compared.
type SketchOptions struct {
	K int // words of a shingle; 0 means 5, at most 32
}

// Sketcher makes digests of pages. It is not for concurrent use; make one for each goroutine. While it reads
// a page in neither UTF-8 nor Latin-1, it takes three times that page.
type Sketcher struct {
	k       int
	markup  markup
	densify densifier

	word  word // that is being read
	words int
	text  uint64   // of the words
	brief bool     // a Said is made, which has no shingles; else a digest, which has no gist
	gist  uint64   // of the words that belong to it; 0: none yet
	own   []uint64 // the words of the page's address
	roll  roller
	bins  [Bins]uint64
}

// NewSketcher returns a sketcher.
func NewSketcher(o SketchOptions) *Sketcher {
	if o.K <= 0 {
		o.K = 5
	}
	k := min(o.K, maxK)
	return &Sketcher{
		k:       k,
		roll:    newRoller(k),
		densify: densifier{k: Bins},
	}
}

// HTML makes the digest of a page, in one pass and without a copy unless its encoding is a rare one.
func (s *Sketcher) HTML(body []byte) ContentDigest { return s.make(body, "", true) }

// Plain makes the digest of text that is not HTML.
func (s *Sketcher) Plain(body []byte) ContentDigest { return s.make(body, "", false) }

// make makes the digest of a page that came with a charset in its header, "" for none.
func (s *Sketcher) make(body []byte, label string, isHTML bool) ContentDigest {
	s.brief = false
	s.read(body, label, isHTML)
	d := ContentDigest{Text: s.said(), Words: uint32(min(uint64(s.words), math.MaxUint32))}
	if s.words == 0 {
		return d
	}
	for i, least := range s.bins {
		if least == math.MaxUint64 {
			least = s.bins[s.densify.donor(i, func(j int) bool { return s.bins[j] != math.MaxUint64 })]
		}
		d.Sketch[i] = byte(least)
	}
	return d
}

// Said is what a page says, in 16 bytes.
type Said struct {
	Text uint64 // fingerprint of its words, in order, as in a ContentDigest; 0 of a page without any
	// the same without numbers, words with digits (dates, counters, tokens) and the words of its own address,
	// which a program writes into each answer; Text of a page that has nothing else
	Gist uint64
}

// Said finds out what a page says, which came from an address, with a charset in its header, "" for none.
func (s *Sketcher) Said(body []byte, address, label string, isHTML bool) Said {
	s.brief, s.own = true, s.own[:0]
	for _, w := range Tokens(address) {
		s.own = append(s.own, wordHash(w))
	}
	s.read(body, label, isHTML)
	x := Said{Text: s.said()}
	if x.Gist = x.Text; s.gist != 0 {
		x.Gist = max(1, hash.Mix(s.gist))
	}
	return x
}

// read takes the words of a page.
func (s *Sketcher) read(body []byte, label string, isHTML bool) {
	s.markup.feed(s, decode(body, label), isHTML)
	s.endWord()
	if 0 < s.words && s.words < s.k {
		s.addShingle(finish(s.roll.sum))
	}
}

func (s *Sketcher) reset() {
	s.word, s.words, s.text, s.gist = word{}, 0, hash.TextPrime, 0
	s.roll.reset()
	for i := range s.bins {
		s.bins[i] = math.MaxUint64
	}
}

func (s *Sketcher) tag(kind tagKind, _ []byte) {
	if kind != inline {
		s.endWord()
	}
}

// ascii takes characters as Tokens does.
func (s *Sketcher) ascii(text []byte) int {
	w := s.word
	for i, c := range text {
		switch {
		case IsLetter(c):
			w.add(c | 0x20)
		case '0' <= c && c <= '9':
			w.number = true
			w.add(c)
		case i > 0 && endsASCII(c):
			s.word = w
			return i
		case w.some:
			s.word = w
			s.endWord()
			w = word{}
		}
	}
	s.word = w
	return len(text)
}

// char takes a character as Tokens does.
func (s *Sketcher) char(r rune) {
	switch r = lowerRune(r); {
	case !isWord(r):
		s.endWord()
	case standsAlone(r):
		s.endWord()
		s.word.addRune(r)
		s.endWord()
	default:
		s.word.addRune(r)
	}
}

// endWord ends the word that is being read, if there is one.
func (s *Sketcher) endWord() {
	if !s.word.some {
		return
	}
	h := s.word.end()
	s.words++
	s.text = nextWord(s.text, h)
	switch {
	case !s.brief:
		if x := s.roll.add(h); s.words >= s.k {
			s.addShingle(x)
		}
	case !s.word.number && !slices.Contains(s.own, h):
		s.gist = nextWord(s.gist, h)
	}
	s.word = word{}
}

func (s *Sketcher) addShingle(x uint64) {
	bin := &s.bins[x>>(64-7)]
	*bin = min(*bin, x)
}

// nextWord is the fingerprint of one more word behind others.
func nextWord(sum, h uint64) uint64 {
	sum = (sum ^ h) * hash.TextPrime
	return sum ^ sum>>32
}

// said is the fingerprint of the words of the page, 0 without any.
func (s *Sketcher) said() uint64 {
	if s.words == 0 {
		return 0
	}
	return max(1, hash.Mix(s.text))
}

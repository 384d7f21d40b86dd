// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math"

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

// Sketcher makes digests of pages. It is not for concurrent use; make one for each goroutine. It takes 450 kB
// at most, and 1 MB for pages in other encodings; while it makes a digest of a page in neither UTF-8 nor
// Latin-1, also three times that page.
type Sketcher struct {
	k      int
	drop   uint64 // rollPrime^k
	runes  letters
	markup markup
	refs   refs
	ref    []byte // a character reference
	buf    []byte // a page that had to be decoded

	word  word // that is being read, between two steps of the scanner
	n     int  // how many words wait
	wait  [maxK + batch]uint64
	nums  [batch]uint64 // of the words that wait: not zero for one with a digit
	gist  gist
	brief bool // a Said is made, and no shingles
	words int  // before those that wait
	text  uint64
	sum   uint64 // polynomial of the last k words
	bins  [Bins]uint64

	densify densifier
}

// batch is how many words are read before their shingles are made: these are two loops, each with all it
// needs in registers.
const batch = 512

// keptBuffer is the size up to which the copy of a page is kept for the next one.
const keptBuffer = 1 << 20

// NewSketcher returns a sketcher.
func NewSketcher(o SketchOptions) *Sketcher {
	if o.K <= 0 {
		o.K = 5
	}
	s := &Sketcher{k: min(o.K, maxK), densify: densifier{k: Bins}}
	s.markup.tags = newTagTable()
	s.drop = newRoller(s.k).drop
	return s
}

// HTML makes the digest of a page, in one pass and without a copy unless its encoding is a rare one.
func (s *Sketcher) HTML(body []byte) ContentDigest { return s.make(body, "", true) }

// Plain makes the digest of text that is not HTML.
func (s *Sketcher) Plain(body []byte) ContentDigest { return s.make(body, "", false) }

// make makes the digest of a page that came with a charset in its header, "" for none.
func (s *Sketcher) make(body []byte, label string, markup bool) ContentDigest {
	s.read(body, label, markup)
	return s.digest()
}

// read takes the words of a page.
func (s *Sketcher) read(body []byte, label string, markup bool) {
	s.reset()
	d := decode(s.buf, body, label)
	if d.copied && cap(d.text) <= keptBuffer {
		s.buf = d.text
	}
	if !s.scan(&d, markup) {
		s.reset()
		s.scan(&d, markup)
	}
	s.take()
}

func (s *Sketcher) reset() {
	s.markup.noComment, s.markup.noQuotes, s.word = false, false, word{}
	clear(s.wait[:maxK])
	s.n, s.words, s.text, s.sum, s.gist.sum = 0, 0, hash.TextPrime, 0, 0
	for i := range s.bins {
		s.bins[i] = math.MaxUint64
	}
}

// emit takes the next word of the page; nums is not zero when it has a digit.
func (s *Sketcher) emit(h, nums uint64) {
	if s.n == batch {
		s.take()
	}
	s.wait[maxK+s.n], s.nums[s.n] = h, nums
	s.n++
}

// endWord ends the word that is being read, if there is one.
func (s *Sketcher) endWord() {
	if s.word.some {
		s.emit(s.word.end(), s.word.nums)
		s.word = word{}
	}
}

// take reads the words that wait.
func (s *Sketcher) take() {
	if s.brief {
		s.say()
	} else {
		s.shingle()
	}
}

// shingle makes the shingles that end with the words that wait. The last k words before them stand in front.
func (s *Sketcher) shingle() {
	text, sum, drop := s.text, s.sum, s.drop
	from := 0
	for ; from < s.n && s.words+from < s.k-1; from++ { // no k words yet
		h := s.wait[maxK+from]
		text = (text ^ h) * hash.TextPrime
		text ^= text >> 32
		sum = sum*hash.RollPrime + h
	}
	in := s.wait[maxK+from : maxK+s.n]
	out := s.wait[maxK+from-s.k:][:len(in)]
	for i, h := range in {
		text = (text ^ h) * hash.TextPrime
		text ^= text >> 32
		sum = sum*hash.RollPrime + (h - out[i]*drop)
		x := finish(sum)
		bin := &s.bins[x>>(64-7)]
		*bin = min(*bin, x)
	}
	s.text, s.sum = text, sum
	copy(s.wait[:maxK], s.wait[s.n:])
	s.words += s.n
	s.n = 0
}

// said is the fingerprint of the words of a page that has some.
func (s *Sketcher) said() uint64 { return max(1, hash.Mix(s.text)) }

func (s *Sketcher) digest() ContentDigest {
	d := ContentDigest{Words: uint32(min(uint64(s.words), math.MaxUint32))}
	if s.words == 0 {
		return d
	}
	if s.words < s.k {
		x := finish(s.sum)
		s.bins[x>>(64-7)] = x
	}
	d.Text = s.said()
	for i, least := range s.bins {
		if least == math.MaxUint64 {
			least = s.bins[s.densify.donor(i, func(j int) bool { return s.bins[j] != math.MaxUint64 })]
		}
		d.Sketch[i] = byte(least)
	}
	return d
}

package replica

import (
	"math"
	"unicode/utf8"
)

// DigestForm is the version of what a Digest says of a page: digests of different forms cannot be compared.
const DigestForm = 1

// Digest is what is kept of a page: 144 bytes.
type Digest struct {
	Text   uint64 // fingerprint of its words, in order; 0 of a page without any
	Words  uint32 // how many
	Site   uint32 // for the caller: the number of its host or directory
	Sketch Sketch
}

// SketchOptions say how sketches are made. Only sketches made alike can be compared.
type SketchOptions struct {
	K int // words of a shingle; 0 means 5, at most 32
}

// Sketcher makes digests of pages. It is not for concurrent use; make one for each goroutine.
type Sketcher struct {
	k     int
	table [256]byte // lower case of an ASCII letter or digit, else 0; other bytes that need more than that are special

	roll    roller
	markup  markup
	words   uint32
	text    uint64
	last    uint64 // hash of the last k words
	bins    [Bins]uint64
	densify densifier
	ref     []byte
}

// special marks, in the table of characters, bytes that are looked at one by one.
const special = 1

// NewSketcher returns a sketcher.
func NewSketcher(o SketchOptions) *Sketcher {
	if o.K <= 0 {
		o.K = 5
	}
	s := &Sketcher{k: min(o.K, maxK), densify: densifier{k: Bins}}
	s.roll = newRoller(s.k)
	for c := range s.table {
		switch b := byte(c); {
		case b >= utf8.RuneSelf || b == '<' || b == '&':
			s.table[c] = special
		case isLetter(b):
			s.table[c] = b | 0x20
		case '0' <= b && b <= '9':
			s.table[c] = b
		}
	}
	return s
}

// HTML makes the digest of a page, in one pass and without a copy unless its encoding is a rare one.
func (s *Sketcher) HTML(body []byte) Digest { return s.HTMLIn(body, "") }

// HTMLIn is HTML for a page that came with a charset in its header, "" for none.
func (s *Sketcher) HTMLIn(body []byte, label string) Digest {
	s.reset()
	b, latin1 := decode(body, label)
	s.scan(b, latin1, true)
	return s.digest()
}

// Plain makes the digest of text that is not HTML.
func (s *Sketcher) Plain(body []byte) Digest {
	s.reset()
	b, latin1 := decode(body, "")
	s.scan(b, latin1, false)
	return s.digest()
}

func (s *Sketcher) reset() {
	s.roll.reset()
	s.markup = markup{}
	s.words, s.text, s.last = 0, textPrime, 0
	for i := range s.bins {
		s.bins[i] = math.MaxUint64
	}
}

// scan feeds the words of b. A word is hashed as it is read: tags that part no words leave its hash as it stands.
func (s *Sketcher) scan(b []byte, latin1, markup bool) {
	h := uint64(tokenSeed)
	for i := 0; i < len(b); {
		c := b[i]
		l := s.table[c]
		if l > special {
			h = (h ^ uint64(l)) * tokenPrime
			i++
			continue
		}
		if l == 0 {
			i++
			if h != tokenSeed {
				s.word(h)
				h = tokenSeed
			}
			continue
		}
		switch {
		case c == '<' && markup && opens(b, i):
			next, kind := s.markup.skip(b, i)
			i = next
			if kind != inline && h != tokenSeed {
				s.word(h)
				h = tokenSeed
			}
		case c == '&' && markup:
			s.ref, i = entity(s.ref[:0], b, i)
			for rest := s.ref; len(rest) > 0; {
				r, size := utf8.DecodeRune(rest)
				rest = rest[size:]
				h = s.char(h, r)
			}
		case c < utf8.RuneSelf || latin1:
			h = s.char(h, rune(c))
			i++
		default:
			r, size := utf8.DecodeRune(b[i:])
			h = s.char(h, r)
			i += size
		}
	}
	if h != tokenSeed {
		s.word(h)
	}
}

// char adds one character to the word that h stands for.
func (s *Sketcher) char(h uint64, r rune) uint64 {
	r = lowerRune(r)
	if !isWord(r) {
		if h != tokenSeed {
			s.word(h)
		}
		return tokenSeed
	}
	alone := standsAlone(r)
	if alone && h != tokenSeed {
		s.word(h)
		h = tokenSeed
	}
	var buf [utf8.UTFMax]byte
	for _, c := range buf[:utf8.EncodeRune(buf[:], r)] {
		h = (h ^ uint64(c)) * tokenPrime
	}
	if alone {
		s.word(h)
		return tokenSeed
	}
	return h
}

// word takes the next word of the page.
func (s *Sketcher) word(h uint64) {
	h = endToken(h)
	s.words++
	s.text = (s.text ^ h) * textPrime
	s.text ^= s.text >> 32
	s.last = s.roll.add(h)
	if s.words >= uint32(s.k) {
		s.shingle(s.last)
	}
}

func (s *Sketcher) shingle(x uint64) {
	if bin := &s.bins[x>>(64-7)]; x < *bin {
		*bin = x
	}
}

func (s *Sketcher) digest() Digest {
	d := Digest{Words: s.words}
	if s.words == 0 {
		return d
	}
	if s.words < uint32(s.k) {
		s.shingle(s.last)
	}
	if d.Text = mix(s.text); d.Text == 0 {
		d.Text = 1
	}
	for i, least := range s.bins {
		if least == math.MaxUint64 {
			least = s.bins[s.densify.donor(i, func(j int) bool { return s.bins[j] != math.MaxUint64 })]
		}
		d.Sketch[i] = byte(least)
	}
	return d
}

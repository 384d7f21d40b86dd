// SPDX-License-Identifier: Apache-2.0

package text

import (
	"unicode/utf8"

	"mirrord/replica/hash"
)

// Shingles returns the set of hashes of all k successive tokens; of all tokens together when they are fewer
// than k; nothing of none.
func Shingles(tokens []string, k int) hash.Set {
	if len(tokens) == 0 {
		return nil
	}
	return hash.NewSet(ShingleList(tokens, k))
}

// ShingleList returns the hashes of all k successive tokens in their order, as [Shingles] has them as a
// set.
func ShingleList(tokens []string, k int) []uint64 {
	k = min(max(k, 1), maxK)
	out := make([]uint64, 0, max(1, len(tokens)-k+1))
	r := newRoller(k)
	for i, token := range tokens {
		if h := r.add(wordHash(token)); i >= k-1 || i == len(tokens)-1 {
			out = append(out, h)
		}
	}
	return out
}

// word is the hash of a word as far as it was read. Its bytes are taken eight at a time, the first one
// lowest.
type word struct {
	sum    uint64 // of the whole blocks of eight bytes
	part   uint64 // the bytes after them
	bits   uint   // how many bits part has; less than 64
	number bool   // there is a digit
	some   bool   // there are any bytes
}

func (w *word) add(c byte) {
	w.some = true
	w.part |= uint64(c) << w.bits
	if w.bits += 8; w.bits == 64 {
		w.sum = hash.Mum(w.sum^hash.TokenSeed^w.part, hash.BlockPrime)
		w.part, w.bits = 0, 0
	}
}

func (w *word) addRune(r rune) {
	w.number = w.number || ('0' <= r && r <= '9')
	var b [utf8.UTFMax]byte
	for _, c := range b[:utf8.EncodeRune(b[:], r)] {
		w.add(c)
	}
}

func (w *word) end() uint64 { return hash.Mum(w.sum^hash.TokenSeed^w.part, hash.TokenPrime) }

// wordHash is the hash of a whole word.
func wordHash(s string) uint64 {
	var w word
	for i := range len(s) {
		w.add(s[i])
	}
	return w.end()
}

// roller hashes the last k tokens in constant time: a polynomial over their hashes, modulo 2^64.
type roller struct {
	k    int
	drop uint64 // rollPrime^k

	ring [maxK]uint64
	at   int
	sum  uint64
}

// maxK bounds k, the length of a shingle in tokens.
const maxK = 32

func newRoller(k int) roller {
	r := roller{k: k, drop: 1}
	for range k {
		r.drop *= hash.RollPrime
	}
	return r
}

func (r *roller) reset() { *r = roller{k: r.k, drop: r.drop} }

// add takes one token and returns the hash of the last k, or of all while they are fewer.
func (r *roller) add(h uint64) uint64 {
	gone := r.ring[(r.at-r.k)&(maxK-1)]
	r.ring[r.at&(maxK-1)] = h
	r.sum = r.sum*hash.RollPrime + h - gone*r.drop
	r.at++
	return finish(r.sum)
}

// finish spreads the bits of a polynomial whose terms are spread already.
func finish(x uint64) uint64 { return hash.Mum(x^hash.TokenSeed, 0xc4ceb9fe1a85ec53) }

// SPDX-License-Identifier: Apache-2.0

package text

import (
	"mirrord/replica/hash"
)

// word is the hash of a word as far as it was read. Its bytes are taken eight at a time, the first one
// lowest, so that it does not matter in which pieces they came.
type word struct {
	sum  uint64 // of the whole blocks of eight bytes
	part uint64 // the bytes after them
	bits uint   // how many bits part has; less than 64
	nums uint64 // not zero: there is a digit
	some bool   // there are any bytes
}

// add appends the bytes of x, of which there are n bits, 64 at most. What x has beyond them is zero.
func (w *word) add(x uint64, n uint) {
	w.some = w.some || n > 0
	w.nums |= digits(x)
	w.part |= x << w.bits
	if w.bits += n; w.bits >= 64 {
		w.sum = hash.Mum(w.sum^hash.TokenSeed^w.part, hash.BlockPrime)
		w.bits -= 64
		w.part = x >> (n - w.bits)
	}
}

// digits is not zero when there is an ASCII digit among eight bytes of letters, of digits, of characters
// beyond ASCII and of zeros.
func digits(x uint64) uint64 { return x & 0x1010101010101010 &^ (x >> 2) &^ (x >> 3) }

func (w *word) end() uint64 { return endWord(w.sum, w.part) }

// endWord is the hash of a word of which part, of less than eight bytes, was not added yet.
func endWord(sum, part uint64) uint64 { return hash.Mum(sum^hash.TokenSeed^part, hash.TokenPrime) }

// wordHash is the hash of a whole word.
func wordHash(s string) uint64 {
	var w word
	for i := range len(s) {
		w.add(uint64(s[i]), 8)
	}
	return w.end()
}

// roller hashes the last k tokens in constant time: a polynomial over their hashes, modulo 2^64.
type roller struct {
	ring [maxK]uint64
	k    int
	drop uint64 // rollPrime^k
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

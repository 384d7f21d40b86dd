package replica

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// H is the hash of the golden mode: the first 8 bytes of SHA-256, big-endian. What is sampled by hash uses it in every mode, so that two
// programs that follow the same rules sample the same.
func H[T string | []byte](x T) uint64 {
	sum := sha256.Sum256([]byte(x))
	return binary.BigEndian.Uint64(sum[:])
}

// Constants of the fast hash: odd, with bits spread evenly.
const (
	tokenSeed  = 0x9e3779b97f4a7c15
	tokenPrime = 0xd6e8feb86659fd93
	blockPrime = 0x8ebc6af09c88c6e3
	rollPrime  = 0xa0761d6478bd642f
	textPrime  = 0xe7037ed1a0b428db
)

// mix spreads every bit of x over all of the result (the finalizer of MurmurHash3).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// tokenHash is the fast hash of a part of an address, byte by byte, so that it can be had of every beginning of a path.
func tokenHash[T string | []byte](token T) uint64 {
	h := uint64(tokenSeed)
	for i := 0; i < len(token); i++ {
		h = (h ^ uint64(token[i])) * tokenPrime
	}
	return endToken(h)
}

func endToken(h uint64) uint64 { return h ^ h>>29 }

// mum multiplies two numbers to 128 bits and folds the halves together: one multiplication spreads every bit (Wang Yi, wyhash).
func mum(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

// word is the hash of a word as far as it was read. Its bytes are taken eight at a time, the first one lowest, so that it does not matter in
// which pieces they came.
type word struct {
	sum  uint64 // of the whole blocks of eight bytes
	part uint64 // the bytes after them
	bits uint   // how many bits part has; less than 64
	some bool   // there are any bytes
}

// add appends the bytes of x, of which there are n bits, 64 at most. What x has beyond them is zero.
func (w *word) add(x uint64, n uint) {
	w.some = w.some || n > 0
	w.part |= x << w.bits
	if w.bits += n; w.bits >= 64 {
		w.sum = mum(w.sum^tokenSeed^w.part, blockPrime)
		w.bits -= 64
		w.part = x >> (n - w.bits)
	}
}

func (w *word) end() uint64 { return endWord(w.sum, w.part) }

// endWord is the hash of a word of which part, of less than eight bytes, was not added yet.
func endWord(sum, part uint64) uint64 { return mum(sum^tokenSeed^part, tokenPrime) }

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
		r.drop *= rollPrime
	}
	return r
}

// add takes one token and returns the hash of the last k, or of all while they are fewer.
func (r *roller) add(h uint64) uint64 {
	gone := r.ring[(r.at-r.k)&(maxK-1)]
	r.ring[r.at&(maxK-1)] = h
	r.sum = r.sum*rollPrime + h - gone*r.drop
	r.at++
	return finish(r.sum)
}

// finish spreads the bits of a polynomial whose terms are spread already.
func finish(x uint64) uint64 { return mum(x^tokenSeed, 0xc4ceb9fe1a85ec53) }

// mulMod is a*b modulo 2^61-1, for a and b below it.
func mulMod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	r := lo&mersenne + (lo>>61 | hi<<3)
	if r >= mersenne {
		r -= mersenne
	}
	return r
}

// mersenne is the prime 2^61-1.
const mersenne = 1<<61 - 1

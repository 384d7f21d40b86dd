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

// tokenHash is the fast hash of one token, as the scanner computes it byte by byte.
func tokenHash[T string | []byte](token T) uint64 {
	h := uint64(tokenSeed)
	for i := 0; i < len(token); i++ {
		h = (h ^ uint64(token[i])) * tokenPrime
	}
	return endToken(h)
}

func endToken(h uint64) uint64 { return h ^ h>>29 }

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

func (r *roller) reset() { r.ring, r.at, r.sum = [maxK]uint64{}, 0, 0 }

// add takes one token and returns the hash of the last k, or of all while they are fewer.
func (r *roller) add(h uint64) uint64 {
	gone := r.ring[(r.at-r.k)&(maxK-1)]
	r.ring[r.at&(maxK-1)] = h
	r.sum = r.sum*rollPrime + h - gone*r.drop
	r.at++
	return finish(r.sum)
}

// finish spreads the bits of a polynomial whose terms are spread already.
func finish(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xff51afd7ed558ccd
	return x ^ x>>29
}

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

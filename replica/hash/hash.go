// SPDX-License-Identifier: Apache-2.0

// Package hash has the hashes that the rooms of replica share, and sets of hashes. H is the same everywhere;
// the fast ones may change with the package, and stored ones carry a form (text.DigestForm).
package hash

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// H is the hash of the golden mode: the first 8 bytes of SHA-256, big-endian. Samples by hash use it in every
// mode, so that two programs that follow the same rules sample the same.
func H[T string | []byte](x T) uint64 {
	sum := sha256.Sum256([]byte(x))
	return binary.BigEndian.Uint64(sum[:])
}

// Constants of the fast hash: odd, with bits spread evenly.
const (
	TokenSeed  = 0x9e3779b97f4a7c15
	TokenPrime = 0xd6e8feb86659fd93
	BlockPrime = 0x8ebc6af09c88c6e3
	RollPrime  = 0xa0761d6478bd642f
	TextPrime  = 0xe7037ed1a0b428db
)

// Mix spreads every bit of x over all of the result (the finalizer of MurmurHash3).
func Mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Token is the fast hash of a part of an address, byte by byte, so that it can be had of every beginning of a
// path.
func Token[T string | []byte](token T) uint64 {
	h := uint64(TokenSeed)
	for i := 0; i < len(token); i++ {
		h = (h ^ uint64(token[i])) * TokenPrime
	}
	return EndToken(h)
}

func EndToken(h uint64) uint64 { return h ^ h>>29 }

// Mum multiplies two numbers to 128 bits and folds the halves together: one multiplication spreads every bit
// (Wang Yi, wyhash).
func Mum(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

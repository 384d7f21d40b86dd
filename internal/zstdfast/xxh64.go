// SPDX-License-Identifier: Apache-2.0

package zstdfast

import (
	"encoding/binary"
	"math/bits"
)

// The primes of XXH64.
const (
	prime1 = 11400714785074694791
	prime2 = 14029467366897019727
	prime3 = 1609587929392839161
	prime4 = 9650029242287828579
	prime5 = 2870177450012600261
)

// sum64 returns the XXH64 of b with seed 0, whose lower half is the checksum of a frame (RFC 8878 3.1.1).
func sum64(b []byte) uint64 {
	size := uint64(len(b))
	h := uint64(prime5)
	if len(b) >= 32 {
		var p1, p2 uint64 = prime1, prime2
		a, c, d, f := p1+p2, p2, uint64(0), -p1
		for ; len(b) >= 32; b = b[32:] {
			a = round(a, binary.LittleEndian.Uint64(b[0:8]))
			c = round(c, binary.LittleEndian.Uint64(b[8:16]))
			d = round(d, binary.LittleEndian.Uint64(b[16:24]))
			f = round(f, binary.LittleEndian.Uint64(b[24:32]))
		}
		h = bits.RotateLeft64(a, 1) + bits.RotateLeft64(c, 7) + bits.RotateLeft64(d, 12) + bits.RotateLeft64(f, 18)
		for _, v := range [4]uint64{a, c, d, f} {
			h = (h^round(0, v))*prime1 + prime4
		}
	}
	h += size
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^round(0, binary.LittleEndian.Uint64(b)), 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(b))*prime1, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

func round(sum, v uint64) uint64 { return bits.RotateLeft64(sum+v*prime2, 31) * prime1 }

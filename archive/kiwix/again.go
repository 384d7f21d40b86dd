// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"encoding/binary"
	"encoding/hex"
	"slices"

	"mirrord/phm"
)

// againFinder finds the files whose bytes a set has more than once: these share a blob. It takes eight bytes
// for each file while the table is read, and then only for those that come again.
type againFinder struct {
	sums  []uint64 // beginnings of digests
	twice map[uint64]bool
}

// digestOf returns the beginning of a file's digest.
func digestOf(f *phm.File) (d [16]byte) {
	if len(f.SHA256) < 2*len(d) {
		return d
	}
	if _, err := hex.Decode(d[:], []byte(f.SHA256[:2*len(d)])); err != nil {
		return [16]byte{}
	}
	return d
}

func beginning(d [16]byte) uint64 { return binary.BigEndian.Uint64(d[:]) }

// look notes a line of the table.
func (a *againFinder) look(f *phm.File) { a.sums = append(a.sums, beginning(digestOf(f))) }

// settle is called after the last line.
func (a *againFinder) settle() {
	slices.Sort(a.sums)
	a.twice = map[uint64]bool{}
	for i := 1; i < len(a.sums); i++ {
		if a.sums[i] == a.sums[i-1] {
			a.twice[a.sums[i]] = true
		}
	}
	a.sums = nil
}

// digest returns the digest of a file that may come again, zero for any other. It is safe for concurrent use.
func (a *againFinder) digest(f *phm.File) [16]byte {
	if d := digestOf(f); a.twice[beginning(d)] {
		return d
	}
	return [16]byte{}
}

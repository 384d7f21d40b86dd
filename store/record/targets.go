// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"math"
)

// Mention is added to the number of a URL that a document names and does not lead to: rel=nofollow,
// rel=canonical. Relocation needs to know of it; whether the URL is reached does not depend on it. Such
// numbers are greater than all others.
const Mention uint32 = 1 << 31

// Guess is added to the number of a URL that only a string in a script names. It is reached like any other;
// but as long as it is gone it need not be requested in every run. Such numbers are greater than those of
// links and less than mentions.
const Guess uint32 = 1 << 30

// Unnumbered stands last in the list of a document that names URLs which have no number, because no
// known URL links to them yet.
const Unnumbered = ^uint32(0)

// AppendTargets encodes the distinct URL numbers that a document links to. The numbers must be sorted;
// repeats are dropped.
func AppendTargets(b []byte, ids []uint32) []byte {
	prev := uint32(0)
	for i, id := range ids {
		if i > 0 && id == prev {
			continue
		}
		b = binary.AppendUvarint(b, uint64(id-prev))
		prev = id
	}
	return b
}

// Targets calls yield for each number of a list that AppendTargets made of sorted numbers, and reports
// whether the list is well formed as far as it was read.
func Targets(b []byte, yield func(id uint32) bool) bool {
	id := uint64(0)
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > math.MaxUint32 || id+v > math.MaxUint32 {
			return false
		}
		b = b[n:]
		id += v
		if !yield(uint32(id)) {
			return true
		}
	}
	return true
}

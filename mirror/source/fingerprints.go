// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"time"
)

// Fingerprints of a mirror say which files it has, so that who looks for the same files need not open its
// database: opening it is to copy it, of each other mirror, after a run of each. A mirror has them once a run
// of it has been complete, and they are as old as its own last search at most. Integers are little endian:
//
//	head   20 bytes: "mFp1", time in Unix seconds 8, largest fingerprint that may be there 4, number of them 4
//	       then the first 4 bytes of the digest of each file, ascending, equal ones each
//	end    crc32c of all that, 4 bytes
//
// Of a mirror of more than mostFingerprints files there are those up to a largest one: a sample by digest,
// the same files of all mirrors.
type fingerprints struct {
	made  time.Time
	upTo  uint32
	files []byte
}

// FingerprintsFile is the file of a site's folder with the encoded fingerprints.
const FingerprintsFile = "fingerprints"

const (
	fingerprintsMagic = "mFp1"
	fingerprintsHead  = 20
	mostFingerprints  = 1 << 20
)

var crc32c = crc32.MakeTable(crc32.Castagnoli)

// fingerprintOf is the fingerprint of a file.
func fingerprintOf(digest *[32]byte) uint32 { return binary.LittleEndian.Uint32(digest[:]) }

// fingerprintsUpTo is the largest fingerprint that is kept of a mirror of n files.
func fingerprintsUpTo(n uint64) uint32 {
	if n <= mostFingerprints {
		return math.MaxUint32
	}
	return uint32(math.MaxUint32 * (mostFingerprints / float64(n)))
}

// newFingerprints takes the fingerprints of all files up to the largest one.
func newFingerprints(files []uint32, upTo uint32, now time.Time) *fingerprints {
	slices.Sort(files)
	f := &fingerprints{made: now, upTo: upTo, files: make([]byte, 0, 4*len(files))}
	for _, x := range files {
		f.files = binary.LittleEndian.AppendUint32(f.files, x)
	}
	return f
}

func (f *fingerprints) encode() []byte {
	b := make([]byte, 0, fingerprintsHead+len(f.files)+4)
	b = append(b, fingerprintsMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.made.Unix()))
	b = binary.LittleEndian.AppendUint32(b, f.upTo)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.files)/4))
	b = append(b, f.files...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32c))
}

// readFingerprints reads what encode wrote; ok is false of anything else.
func readFingerprints(b []byte) (f fingerprints, ok bool) {
	n := len(b) - fingerprintsHead - 4
	if n < 0 || n%4 != 0 || !bytes.HasPrefix(b, []byte(fingerprintsMagic)) {
		return f, false
	}
	if crc32.Checksum(b[:len(b)-4], crc32c) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return f, false
	}
	f.made = time.Unix(int64(binary.LittleEndian.Uint64(b[4:])), 0)
	f.upTo = binary.LittleEndian.Uint32(b[12:])
	f.files = b[fingerprintsHead:][:n]
	return f, int(binary.LittleEndian.Uint32(b[16:])) == n/4
}

// at returns the n-th fingerprint.
func (f *fingerprints) at(n int) uint32 { return binary.LittleEndian.Uint32(f.files[4*n:]) }

// mayShare reports whether so many of the files may lie in another mirror too that a collection of them can
// be proposed.
func (f *fingerprints) mayShare(other *fingerprints) bool {
	upTo, least := min(f.upTo, other.upTo), findLeast
	if upTo != math.MaxUint32 {
		least = 1
	}
	common, k := 0, 0
	for n := range len(f.files) / 4 {
		x := f.at(n)
		if x > upTo {
			break
		}
		for k < len(other.files)/4 && other.at(k) < x {
			k++
		}
		if k == len(other.files)/4 {
			break
		}
		if other.at(k) == x {
			if common++; common == least {
				return true
			}
		}
	}
	return false
}

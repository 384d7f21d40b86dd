// SPDX-License-Identifier: Apache-2.0

package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/zeebo/xxh3"
)

// A one-off mirror identifies most of its documents by a quick digest instead of the SHA-256 of the body as
// it came: only its own next run compares it. It is the XXH3 of 128 bits and a mark. A site that makes two
// pages of one quick digest hides the change of its own page, which it could as well by answering 304.
var quickMark = [16]byte([]byte("XXH3-128 of body"))

// QuickDigest is the quick digest of a body.
func QuickDigest(body []byte) (d [32]byte) {
	sum := xxh3.Hash128(body)
	binary.BigEndian.PutUint64(d[:], sum.Hi)
	binary.BigEndian.PutUint64(d[8:], sum.Lo)
	copy(d[16:], quickMark[:])
	return d
}

// HexOf is a digest as file tables have it, in one allocation.
func HexOf(d [32]byte) string {
	var b [64]byte
	hex.Encode(b[:], d[:])
	return string(b[:])
}

// IsQuick reports whether a digest is a quick one.
func IsQuick(d [32]byte) bool { return [16]byte(d[16:]) == quickMark }

// DigestLike is the digest of a body, a quick one where another digest is.
func DigestLike(d [32]byte, body []byte) [32]byte {
	if IsQuick(d) {
		return QuickDigest(body)
	}
	return sha256.Sum256(body)
}

// IsDigestOf reports whether a digest, quick or SHA-256, is that of a body.
func IsDigestOf(d [32]byte, body []byte) bool { return DigestLike(d, body) == d }

// SPDX-License-Identifier: Apache-2.0

package record

import (
	"crypto/sha256"
	"strings"
	"testing"
)

// A digest differs from one of the other kind, and from that of another body.
func TestQuickDigest(t *testing.T) {
	for _, body := range []string{"", "a page", strings.Repeat("a long page", 9_000)} {
		b, other := []byte(body), []byte(body+".")
		sum, quick := sha256.Sum256(b), QuickDigest(b)
		if IsQuick(sum) || !IsQuick(quick) {
			t.Errorf("%d bytes: kinds %t, %t", len(b), IsQuick(sum), IsQuick(quick))
		}
		for _, d := range [][32]byte{sum, quick} {
			if !IsDigestOf(d, b) || IsDigestOf(d, other) || DigestLike(d, b) != d {
				t.Errorf("%d bytes: %x", len(b), d)
			}
		}
	}
}

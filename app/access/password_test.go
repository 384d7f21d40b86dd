// SPDX-License-Identifier: Apache-2.0

package access

import (
	"strings"
	"testing"
)

// Hashes of others are checked, too, and no broken one fits or costs what it says.
func TestHashes(t *testing.T) {
	h := NewHasher(64)
	hash := h.Hash("correct horse")
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=3,p=4$") || hash == h.Hash("correct horse") {
		t.Errorf("%s", hash)
	}
	if !h.Fits(hash, "correct horse") || h.Fits(hash, "correct horsE") || h.Fits("", "correct horse") {
		t.Error("a password fits wrongly")
	}
	// of the tests of the reference implementation
	const other = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	if !h.Fits(other, "password") {
		t.Error("the hash of the reference implementation does not fit")
	}
	for from, to := range map[string]string{
		"$argon2id": "$argon2i", "m=64": "m=4294967295", "t=3": "t=0", "p=4": "p=0", "v=19": "v=16", "$m": "$$m",
		hash: "x", hash[40:]: "",
	} {
		bad := strings.Replace(hash, from, to, 1)
		if h.Fits(bad, "correct horse") {
			t.Errorf("%s fits", bad)
		}
	}
	if p := NewPassword(); len(p) != 23 || CheckPassword("ann", p) != nil || p == NewPassword() {
		t.Errorf("%q", p)
	}
}

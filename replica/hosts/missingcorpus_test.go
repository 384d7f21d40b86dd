// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"math/rand/v2"
	"testing"

	"mirrord/replica/hash"
	"mirrord/testing/replicatest"
)

// Pages of the web from which bytes were taken, at their end or in their middle, are seen to lack words; and
// a whole page lacks nothing of itself.
func TestMissingPartsOfWebPages(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		t.Skip("no data beside the repository")
	}
	r := rand.New(rand.NewPCG(58, 7))
	tries := 0
	for i, p := range c.Pages {
		if i%4 != 0 {
			continue
		}
		raw := c.Blobs[p.Blob]
		body := func(b []byte) PageBody { return NewBody(b, true, true, 4) }
		held := body(raw)
		words := len(held.list)
		for _, share := range []float64{0.03, 0.1, 0.3, 0.6} {
			gone := int(share * float64(len(raw)))
			at := r.IntN(len(raw) - gone + 1)
			for where, left := range [][]byte{
				raw[:len(raw)-gone],
				append(append([]byte(nil), raw[:at]...), raw[at+gone:]...),
			} {
				came := body(left)
				if words-len(came.list) < 12 { // markup went, and hardly a word
					continue
				}
				tries++
				kin := held.Kin(came, hash.Set{}, 0.7)
				if (kin == Alike || kin == Grown) && !held.LacksPart(came) {
					const form = "page %d of %d words lacks %d, the end or the middle (%d): %v"
					t.Errorf(form, i, words, words-len(came.list), where, kin)
				}
			}
		}
	}
	t.Logf("%d tries", tries)
}

// SPDX-License-Identifier: Apache-2.0

package away

import (
	"os"
	"testing"

	"mirrord/store/bodies"
)

// No frame is appended to a pack of which parts lie in a depot: they would take its place. Nor is the number
// of one that a collection has removed used again.
func TestBeginBesideAway(t *testing.T) {
	for _, size := range []int64{0, 100} {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		p := bodies.Open(root, &Site{packs: map[uint32]*packParts{2: {}, 3: {}}})
		if err := p.Begin(2, size); err != nil {
			t.Fatal(err)
		}
		if num, size := p.Where(); num != 4 || size != 0 {
			t.Errorf("pack %d from %d on", num, size)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"testing"

	"mirrord/replica/text"
	"mirrord/testing/replicatest"
)

// Pages reported as nearly the same are, and nearly all that a Finder joins at that resemblance has a page
// like it.
func TestSeenAgainstGroup(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	_, digests := digestsOf(c)
	sets := grouped(t, digests, GroupOptions{Resemblance: 0.9}).Sets
	s, err := text.NewSeenPages(text.SeenOptions{Digest: func(page uint32) (text.ContentDigest, error) {
		return digests[page], nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first, missed := map[uint32]bool{}, 0
	for i, d := range digests {
		k, ok, err := s.Like(&d)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(uint32(i), &d, ok); err != nil {
			t.Fatal(err)
		}
		root := sets.Find(uint32(i))
		switch {
		case !ok && first[root]:
			missed++
		case ok && sets.Find(k.Page) != root:
			t.Errorf("page %d is like %d, which is in another group", i, k.Page)
		}
		first[root] = true
	}
	if missed*50 > len(digests) {
		t.Errorf("%d of %d pages were not known", missed, len(digests))
	}
}

// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"testing"

	"mirrord/replica/hash"
	"mirrord/replica/text"
	"mirrord/replica/unionfind"
	"mirrord/testing/replicatest"
)

// Error pages alike, and pages that share half of their bands with all and nothing else, take linear time:
// each is compared with few others.
func TestGroupIsLinear(t *testing.T) {
	const n = 10_000
	digests := make([]text.ContentDigest, n)
	for i := range digests {
		d := &digests[i]
		d.Words, d.Text = 9, 7
		if i >= n/2 { // the same bands of the first half of the sketch; nothing else, and another text each
			d.Text = hash.Mix(uint64(i))
			for j := 64; j < text.Bins; j++ {
				d.Sketch[j] = byte(hash.Mix(uint64(i)<<8 | uint64(j)))
			}
		}
	}
	g := grouped(t, digests, GroupOptions{Resemblance: 0.8}, 0)
	if g.Exact != n/2-1 {
		t.Errorf("%d exact, want %d", g.Exact, n/2-1)
	}
	if most := n * text.Bands * 8; g.Candidates > most {
		t.Errorf("%d pairs compared, want at most %d", g.Candidates, most)
	}
	if got := g.Sets.Find(n/2 - 1); got != 0 {
		t.Errorf("the set of the last error page is %d", got)
	}
}

// A Finder joins what comparing all pairs finds.
func TestGroupAgainstAllPairs(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	s := text.NewSketcher(text.SketchOptions{})
	var digests []text.ContentDigest
	for i := range c.Pages[:min(len(c.Pages), 3000)] {
		digests = append(digests, s.HTML(c.Blobs[c.Pages[i].Blob]))
	}
	want := unionfind.New(len(digests))
	for i := range digests {
		for j := range i {
			if digests[i].Words > 0 && digests[j].Words > 0 &&
				digests[i].Sketch.Resemblance(&digests[j].Sketch) >= 0.8 {
				want.Union(uint32(i), uint32(j))
			}
		}
	}
	got := grouped(t, digests, GroupOptions{Resemblance: 0.8}, 0).Sets
	wrong := 0
	for i := range digests {
		if got.Find(uint32(i)) != want.Find(uint32(i)) {
			wrong++
		}
	}
	if wrong*1000 > len(digests)*3 {
		t.Errorf("%d of %d pages are in another group", wrong, len(digests))
	}
}

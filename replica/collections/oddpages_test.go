// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/replica/text"
)

// What pages are without words, in strange encodings or of other kinds, and what of it is grouped.
func TestOddPages(t *testing.T) {
	s := text.NewSketcher(text.SketchOptions{})
	zh := strings.Repeat("日本語のページは単語の間に空白がない。", 20)
	ja := "<meta charset=utf-8>" + zh + "終"
	digests := []text.ContentDigest{
		s.HTML(nil), s.HTML([]byte("<html></html>")), s.HTML([]byte("\x89PNG\r\n\x00\x00")),
		s.HTML([]byte("... --- ...")),          // no words
		s.HTML([]byte(zh)), s.HTML([]byte(ja)), // alike
		s.HTML([]byte("<meta charset=nonsense>caf\xe9 au lait")), s.HTML([]byte("café au lait")), // the same words
	}
	for i := range 4 {
		if digests[i].Words != 0 || digests[i].Text != 0 {
			t.Errorf("page %d: %+v", i, digests[i])
		}
	}
	g := grouped(t, digests, GroupOptions{Resemblance: 0.8}, 0)
	got := ""
	for i := range digests {
		got += fmt.Sprint(g.Sets.Find(uint32(i)), " ")
	}
	if want := "0 1 2 3 4 4 6 6 "; got != want {
		t.Errorf("groups %s, want %s", got, want)
	}
}

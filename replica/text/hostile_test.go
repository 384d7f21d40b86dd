// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"mirrord/testing/replicatest"
)

// hostile are parts of pages made to take long: repeated, each would take hours if something were searched
// again at every place.
var hostile = []string{
	"<!--", "<a '", "<a \"", "<a b='\">", "<a ='", "<script>", "</script", "<style></", "&", "&#",
	"&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "<", "</", "<!", "<a <", "=' ", "<p a= '>",
	"\xff", "日", "<td>", "<pre>", "a\u0301", "<a b=\"' >", "<a b='\" >", "<a = =\" ", "<?", "<![CDATA[",
	"<script><!--", "<!-- -", "&eacute", "&amp;", "\x00", "<meta charset=", "<pre></pre>", "x<b>", "𠀀", "a\xe9",
}

func TestHostilePages(t *testing.T) {
	s, size := NewSketcher(SketchOptions{}), 1<<19
	for _, part := range hostile {
		page := []byte(strings.Repeat(part, size/len(part)))
		d := s.HTML(page)
		if tokens := Tokens(Extract(page)); int(d.Words) != len(tokens) || d.Text != textOf(tokens) {
			t.Errorf("%q: %d words, want %d", part, d.Words, len(tokens))
		}
	}
}

// BenchmarkHostilePages says for each part how much longer a byte of a page of 32 MB takes than one of a page
// of 1 MB: about 1 for each.
func BenchmarkHostilePages(b *testing.B) {
	s := NewSketcher(SketchOptions{})
	for _, part := range hostile {
		b.Run(strconv.Quote(part), func(b *testing.B) {
			var perByte [2]float64
			for b.Loop() {
				for i, size := range []int{1 << 20, 32 << 20} {
					page := []byte(strings.Repeat(part, size/len(part)))
					start := replicatest.CPUSeconds(b)
					for range (32 << 20) / size {
						s.HTML(page)
					}
					perByte[i] += (replicatest.CPUSeconds(b) - start) / (32 << 20)
				}
			}
			b.ReportMetric(perByte[1]/perByte[0], "ratio")
			b.ReportMetric(float64(b.N)/perByte[1]/1e6, "MB/cpu-s")
		})
	}
}

// A large page takes no memory beside itself, and its digest is that of its words.
func TestLargePage(t *testing.T) {
	page := bytes.Repeat([]byte("<p>some words of a page that does not end</p>\n"), (24<<20)/46)
	s := NewSketcher(SketchOptions{})
	d := s.HTML(page)
	if want := uint32((24 << 20) / 46 * 9); d.Words != want {
		t.Errorf("%d words, want %d", d.Words, want)
	}
	if n := testing.AllocsPerRun(1, func() { s.HTML(page[:1<<20]) }); n > 64 { // of its first 2 KB
		t.Errorf("%v allocations", n)
	}
}

// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"mirrord/replica/hash"
	"mirrord/testing/lab/reference"
	"mirrord/testing/replicatest"
)

// The one pass over bytes that makes a digest sees the words that Text and Tokens see.
func checkDigest(t *testing.T, s *Sketcher, name string, body []byte) {
	t.Helper()
	for _, html := range []bool{true, false} {
		text, d := ExtractAs(body, false), ContentDigest{}
		if html {
			text, d = Extract(body), s.HTML(body)
		} else {
			d = s.Plain(body)
		}
		tokens := Tokens(text)
		if int(d.Words) != len(tokens) {
			t.Fatalf("%s (html %v): %d words, want %d: %q", name, html, d.Words, len(tokens),
				tokens[:min(len(tokens), 50)])
		}
		if want := textOf(tokens); d.Text != want {
			t.Fatalf("%s (html %v): fingerprint %x, want %x: %q", name, html, d.Text, want,
				tokens[:min(len(tokens), 50)])
		}
		var least [Bins]uint64
		for i := range least {
			least[i] = math.MaxUint64
		}
		for _, x := range Shingles(tokens, s.k) {
			bin := &least[x>>(64-7)]
			*bin = min(*bin, x)
		}
		if s.bins != least {
			t.Fatalf("%s (html %v): other shingles than those of its words", name, html)
		}
		if name == "fuzz" {
			continue // empty bins are filled slowly in what follows
		}
		var want Sketch
		for i, least := range reference.OnePermutation(Shingles(tokens, s.k), Bins) {
			want[i] = byte(least)
		}
		if d.Sketch != want {
			t.Fatalf("%s (html %v): another sketch than that of its words", name, html)
		}
	}
}

// textOf is the fingerprint of words.
func textOf(tokens []string) uint64 {
	if len(tokens) == 0 {
		return 0
	}
	x := uint64(hash.TextPrime)
	for _, token := range tokens {
		x = (x ^ wordHash(token)) * hash.TextPrime
		x ^= x >> 32
	}
	return hash.Mix(x)
}

func TestDigestOfCorpus(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	n, s, every := 0, NewSketcher(SketchOptions{}), 3
	for name, body := range c.Blobs {
		if n++; n%every == 0 {
			checkDigest(t, s, name, body)
		}
	}
}

var pages = []string{
	"", " ", "a", "<", "&", "<a", "</", "<!--", "<!-->x", "<!-- a --> b <!-- c", "<script>a</script>b",
	"<script>a", "<style>x</style", "a<b>b</b>c", "a<br>b", "<td>a<td>b",
	"<pre>a\nb\r\nc</pre>d\ne", "&amp;&lt;&eacute;t&#233;&#x65;&bogus;&am", "&#0;&#xffffffffffff;&#1114112;",
	"<p title='a>b' x=\"c>d\">e", "<p title=\"it's\">f", "<p title=\"never closed> g <p>h",
	"日本語 abc テスト", "\xff\xfea\x00b\x00 \x00c\x00", "\xfe\xff\x00a\x00b", "\xef\xbb\xbfa b", "caf\xe9 cr\xe8me",
	"<meta charset=windows-1251>\xcf\xf0\xe8\xe2\xe5\xf2",
	"<meta charset=shift_jis>\x93\xfa\x96\x7b", "<?xml version='1.0' encoding='iso-8859-2'?>\xb1\xe6", "a\x00b",
	"İstanbul ΟΔΟΣ K", "<x-p>a</x-p>b", "1<2 and 3>2", "<p-x>a<p>b", "\xe2\x82",
	"abcdefgh", "abcdefghijklmnop q", "abcdefg<b>hijk</b>lmnopqrs<i>t</i>",
	"<td title=\"a\">b<td title=\"=\">c<a x= \"> d\" y='\"' z=\"\">e<a x=\"y\" />f<a \">g<a b'c=\">h\">i",
	"a<SECTION>b</Section >c<blockquote\n>d<toolonganame>e<h1\t>f<\x11p>g</>h</ p>i<p",
	"&eacute;t&eacute; &eacute;t&eacute &lt;p&gt; &amp;eacute; &;&#;&#x;&#233;&#233;x;", "\xe9t\xe9 d'\xc9t\xc9",
	"\xff\xfea\x00b\x00c\x00d\x00e\x00\x3d\xd8\x00\xdef\x00\x3d\xd8g\x00h",
	"\xfe\xff\x00a\x00b\x00c\x00d\x20\x19\xd8\x3d", "ｆｕｌｌ ＷＩＤＴＨ ㍻ 𝒜𠀀𠀁 ﬃ",
	"<meta charset=utf-8>\xff\xfeabc", "<meta charset=nonsense>abc", "½ ² Ⅷ ١٢", "a\u0301b",
	"<title>T</title>body<h1>H</h1>", "<SCRIPT>x</ScRiPt >y", strings.Repeat("<!--", 50),
	strings.Repeat("<a '", 50),
}

func TestDigestOfOddPages(t *testing.T) {
	for _, k := range []int{1, 3, 32} {
		s := NewSketcher(SketchOptions{K: k})
		for _, body := range pages {
			checkDigest(t, s, body, []byte(body))
		}
	}
}

func TestText(t *testing.T) {
	for body, want := range map[string]string{
		"<p title='a>b' x=\"c>d\">e":                        "e",
		"<p title=\"it's\">f":                               "f",
		"1<2 and 3>2":                                       "1<2 and 3>2",
		"<script>a</script >b<style>c</style>d":             "bd",
		"<!-- a --> b <!-- c":                               "b",
		"<pre>a\nb\r\n\r\nc</pre>d\ne":                      "a\nb\nc\nd e",
		"caf\xe9":                                           "café",
		"<meta charset=windows-1251>\xcf\xf0\xe8":           "При",
		"<meta charset=shift_jis>\x93\xfa\x96\x7b":          "日本",
		"<?xml version='1.0' encoding='iso-8859-2'?>\xb1":   "ą",
		"\xff\xfea\x00b\x00":                                "ab",
		"a\x00b":                                            "",
		"x&nbsp;&#160;y &copy;&notanentity; &amp;lt;b&#62;": "x y ©¬anentity; &lt;b>",
		"<x-p>a</x-p>b":                                     "ab",
	} {
		if got := Extract([]byte(body)); got != want {
			t.Errorf("Text(%q) = %q, want %q", body, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, body := range pages {
		f.Add([]byte(body))
	}
	for _, part := range []string{
		"word ", "ä日a<b>Ж</b>x ", "c\x9cur ", "&eacute;t&eacute; <p class=\"a\">", "a<script>b</script>c 𝒜𠀀 ",
	} { // more words than are hashed at a time
		f.Add([]byte(strings.Repeat(part, 600) + "<!-- \" ' end"))
	}
	s := NewSketcher(SketchOptions{K: 4})
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > 1<<16 {
			return
		}
		checkDigest(t, s, "fuzz", body)
		if said := Extract(body); strings.Contains("\n"+said, "\n\n") {
			t.Fatalf("an empty block in %q", said)
		}
	})
}

// Estimates are within four standard errors of the truth.
func TestEstimate(t *testing.T) {
	words := func(from, n int) []byte {
		var b bytes.Buffer
		for i := from; i < from+n; i++ {
			b.WriteString(" w")
			for x := hash.Mix(uint64(i)); x > 0; x /= 26 {
				b.WriteByte('a' + byte(x%26))
			}
		}
		return b.Bytes()
	}
	s := NewSketcher(SketchOptions{})
	a := words(0, 2000)
	da, sa := s.HTML(a), Shingles(Tokens(Extract(a)), 5)
	for _, shift := range []int{0, 50, 200, 400, 1000, 3000} {
		b := words(shift, 2000)
		db := s.HTML(b)
		want := hash.Resemblance(sa, Shingles(Tokens(Extract(b)), 5))
		if got := da.Sketch.Resemblance(&db.Sketch); math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/Bins)+0.02 {
			t.Errorf("shift %d: estimated %.3f, is %.3f", shift, got, want)
		}
		sb := Shingles(Tokens(Extract(b)), 5)
		got := agreement(reference.Permutations(sa, 200), reference.Permutations(sb, 200))
		if math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/200)+0.01 {
			t.Errorf("shift %d: 200 permutations estimate %.3f, is %.3f", shift, got, want)
		}
	}
}

// agreement is the share of equal entries of two sketches of the same kind.
func agreement(a, b []uint64) float64 {
	if len(a) == 0 || len(b) == 0 {
		if len(a) == len(b) {
			return 1
		}
		return 0
	}
	equal := 0
	for i := range a {
		if a[i] == b[i] {
			equal++
		}
	}
	return float64(equal) / float64(len(a))
}

package replica

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// hostile are parts of pages made to take long: repeated, each would take hours if something were searched again at every place.
var hostile = []string{
	"<!--", "<a '", "<a \"", "<a b='\">", "<a ='", "<script>", "</script", "<style></", "&", "&#", "&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "<", "</", "<!", "<a <", "=' ", "<p a= '>",
	"\xff", "日", "<td>", "<pre>", "a\u0301", "<a b=\"' >", "<a b='\" >", "<a = =\" ", "<?", "<![CDATA[", "<script><!--", "<!-- -", "&eacute", "&amp;", "\x00", "<meta charset=", "<pre></pre>", "x<b>", "𠀀", "a\xe9",
}

func TestHostilePages(t *testing.T) {
	s, size := NewSketcher(SketchOptions{}), 1<<19
	if raceEnabled {
		size = 1 << 15
	}
	for _, part := range hostile {
		page := []byte(strings.Repeat(part, size/len(part)))
		d := s.HTML(page)
		if tokens := Tokens(Text(page)); int(d.Words) != len(tokens) || d.Text != textOf(tokens) {
			t.Errorf("%q: %d words, want %d", part, d.Words, len(tokens))
		}
	}
}

// BenchmarkHostilePages says for each part how much longer a byte of a page of 32 MB takes than one of a page of 1 MB: about 1, whatever it is.
func BenchmarkHostilePages(b *testing.B) {
	s := NewSketcher(SketchOptions{})
	for _, part := range hostile {
		b.Run(strconv.Quote(part), func(b *testing.B) {
			var perByte [2]float64
			for b.Loop() {
				for i, size := range []int{1 << 20, 32 << 20} {
					page := []byte(strings.Repeat(part, size/len(part)))
					start := cpuSeconds(b)
					for range (32 << 20) / size {
						s.HTML(page)
					}
					perByte[i] += (cpuSeconds(b) - start) / (32 << 20)
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
	if n := testing.AllocsPerRun(1, func() { s.HTML(page[:1<<20]) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// What pages are without words, in strange encodings or of other kinds, and what of it is grouped.
func TestOddPages(t *testing.T) {
	s := NewSketcher(SketchOptions{})
	zh := strings.Repeat("日本語のページは単語の間に空白がない。", 20)
	ja := "<meta charset=utf-8>" + zh + "終"
	digests := []Digest{
		s.HTML(nil), s.HTML([]byte("<html></html>")), s.HTML([]byte("\x89PNG\r\n\x00\x00")), s.HTML([]byte("... --- ...")), // no words
		s.HTML([]byte(zh)), s.HTML([]byte(ja)), // alike
		s.HTML([]byte("<meta charset=nonsense>caf\xe9 au lait")), s.HTML([]byte("café au lait")), // the same words
	}
	for i := range 4 {
		if digests[i].Words != 0 || digests[i].Text != 0 {
			t.Errorf("page %d: %+v", i, digests[i])
		}
	}
	g := Group(digests, GroupOptions{})
	got := ""
	for i := range digests {
		got += fmt.Sprint(g.Sets.Find(uint32(i)), " ")
	}
	if want := "0 1 2 3 4 4 6 6 "; got != want {
		t.Errorf("groups %s, want %s", got, want)
	}
}

// A host with one page, hosts with none sampled, and hosts of one name in several ways.
func TestOddHosts(t *testing.T) {
	v := NewInventory(StageOne{MinURLs: 1})
	for _, u := range []string{"http://one.test/", "http://ONE.test:80/", "https://one.test.:443/", "http://[::1]:8080/x", "http://user:pass@two.test/x?y=http://three.test/#z", "http://nph.test/nph-x/a", "http://two.test/%",
		"http://one.test..:80/", "http://one.test.:8080/p", "http://one.test:8080/p", "http://B\xc3\x9cCHER.test/", "http://b\xc3\xbccher.test/", "http://\xc3\x9c.test/", "http://\xc3\xbc.test/", "http://\xff.test/", "http://A\xff.test/"} {
		if err := v.AddURL([]byte(u)); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	for _, u := range []string{"", "x", "http://", "http://:80/", "http://a b/", "http://a.test:x/", "ftp://a.test/", "http://a.test/\x00", "http://@/", "//a.test/", "http://0::80/", "http://a:b:80/", "http://[]/", "http://[::1]x/", "http://a]/", "http://.:80/", "http://..a/"} {
		if err := v.AddURL([]byte(u)); err == nil {
			t.Errorf("%q is taken", u)
		}
	}
	got := fmt.Sprint(v.Samples())
	if want := "[{[::1]:8080 1 [/x]} {a\xff.test 1 [/]} {bücher.test 1 [/]} {nph.test 1 []} {one.test 1 [/]} {one.test:8080 1 [/p]} {two.test 2 [/% /x?y=http://three.test/]} {ü.test 1 [/]} {\xff.test 1 [/]}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if pairs := v.Pairs(); len(pairs) != 0 {
		t.Errorf("pairs %v", pairs)
	}
}

// Lists made to take long or much memory: paths of very many words, one host with very many paths, many hosts with one, leaves that all have.
func TestHostileLists(t *testing.T) {
	v := NewInventory(StageOne{MaxLeaves: 10_000})
	for i := range 240 {
		long := []byte("http://long" + fmt.Sprint(i%2) + ".test/" + fmt.Sprint(i))
		for n := range 8000 {
			long = append(long, '-', 'a'+byte(n%13), 'a'+byte(n/13%13), 'a'+byte(n/169%13), 'a'+byte(n/2197%13))
		}
		if err := v.AddURL(long); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300_000 {
		if err := v.AddURL(fmt.Appendf(nil, "http://one.test/a%d/all/same.html", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30_000 {
		if err := v.AddURL(fmt.Appendf(nil, "http://many%d.test/all/same.html", i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := v.Hosts(); got != 30_003 {
		t.Errorf("%d hosts", got)
	}
	if s := v.Samples(); len(s) != 3 || s[2].URLs != 300_000 || len(s[2].Paths) != v.o.sampleSize(300_000) {
		t.Errorf("%d hosts were considered", len(s))
	}
	if pairs := v.Pairs(); len(pairs) != 1 || pairs[0].Host1 != "long0.test" {
		t.Errorf("pairs %v", pairs)
	}
	if len(v.leaves) > 10_000 {
		t.Errorf("%d leaves are kept", len(v.leaves))
	}
}

// Hosts that all have the same pages by their addresses are compared in time, and no more pairs are kept than there is room for.
func TestHostsAllAlike(t *testing.T) {
	v := NewInventory(StageOne{})
	hosts := 2200
	if raceEnabled {
		hosts = 300
	}
	for i := range hosts {
		for page := range 100 {
			v.Add(fmt.Appendf(nil, "h%d.test", i), fmt.Appendf(nil, "/manual/chapter%d.html", page))
		}
	}
	if n := len(v.Pairs()); n == 0 || n > maxPairs+4*hosts {
		t.Errorf("%d pairs", n)
	}
}

package replica

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Pages made to take long: each would take hours if something were searched again at every place. What they say does not matter.
func TestHostilePages(t *testing.T) {
	s := NewSketcher(SketchOptions{})
	for _, part := range []string{
		"<!--", "<a '", "<a \"", "<a b='\">", "<a ='", "<script>", "</script", "<style></", "&", "&#", "&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "<", "</", "<!", "<a <", "=' ", "<p a= '>",
		"\xff", "日", "<td>", "<pre>", "a\u0301",
	} {
		page := []byte(strings.Repeat(part, (1<<19)/len(part)))
		s.HTML(page)
		Text(page)
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
	for _, u := range []string{"http://one.test/", "http://ONE.test:80/", "https://one.test.:443/", "http://[::1]:8080/x", "http://user:pass@two.test/x?y=http://three.test/#z", "http://nph.test/nph-x/a", "http://two.test/%"} {
		if err := v.AddURL([]byte(u)); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	for _, u := range []string{"", "x", "http://", "http://:80/", "http://a b/", "http://a.test:x/", "ftp://a.test/", "http://a.test/\x00", "http://@/", "//a.test/"} {
		if err := v.AddURL([]byte(u)); err == nil {
			t.Errorf("%q is taken", u)
		}
	}
	got := fmt.Sprint(v.Samples())
	if want := "[{[::1]:8080 1 [/x]} {nph.test 1 []} {one.test 1 [/]} {two.test 2 [/% /x?y=http://three.test/]}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if pairs := v.Pairs(); len(pairs) != 0 {
		t.Errorf("pairs %v", pairs)
	}
}

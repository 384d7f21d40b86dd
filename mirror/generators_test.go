// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// A site by Doxygen, whose pages stand in a menu that is a script, comes whole with its search, stays in runs
// that find the script unchanged, and loses what the menu loses.
func TestMenuInScript(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	menu := `var menudata={children:[{text:"Files",url:"files.html"},{text:"Old",url:"old.html#x"}]}`
	w.Set(home+"/", mirrortest.HTML("Home", `<script src=menudata.js></script><script src=search/searchdata.js></script>`))
	w.Set(home+"/menudata.js", mirrortest.Page{Body: menu})
	w.Set(home+"/search/searchdata.js", mirrortest.Page{
		Body: `var indexSectionsWithContent={0:"ab"};var indexSectionNames={0:"all"};`,
	})
	for _, name := range []string{"/search/all_0.js", "/search/all_1.js"} {
		w.Set(home+name, mirrortest.Page{Body: "var searchData=[]"})
	}
	w.Set(home+"/files.html", mirrortest.HTML("Files", `<a href=a_8h.html>a.h</a>`))
	w.Set(home+"/a_8h.html", mirrortest.HTML("a.h", "a"))
	w.Set(home+"/old.html", mirrortest.HTML("Old", "old"))
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	want := []string{"files.html", "a_8h.html", "old.html", "search/all_0.js", "search/all_1.js"}
	for run := 2; run <= 10; run++ {
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
	tree := m.Tree()
	for _, p := range want {
		if tree[p] == "" {
			t.Errorf("%s is not in the mirror", p)
		}
	}
	w.Set(home+"/menudata.js", mirrortest.Page{Body: strings.Replace(menu, "old.html#x", "files.html", 1)})
	w.Set(home+"/old.html", mirrortest.Status(404))
	m.Run()
	m.Run()
	if tree := m.Tree(); tree["old.html"] != "" || tree["a_8h.html"] == "" {
		t.Errorf("the mirror has %d files: old.html %q", len(tree), tree["old.html"])
	}
}

// A site whose pages stand in a table of contents that a meta names, as DocFX makes it, comes whole, works at
// another place, stays in runs that find it unchanged, and loses what the table loses.
func TestContentsInMeta(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	head := `<meta property="docfx:navrel" content="%[1]stoc.html"><meta property="docfx:tocrel" content="/api/toc.html">` +
		`<script src=%[1]sstyles/docfx.js></script>`
	w.Set(home+"/", mirrortest.HTML("Home", fmt.Sprintf(head, "")))
	w.Set(home+"/toc.html", mirrortest.HTML("", `<div id=toc><a href=api/>API</a></div>`))
	w.Set(home+"/api/toc.html", mirrortest.HTML("", `<div id=toc><a href=a.html>A</a><a href=old.html>Old</a></div>`))
	for _, name := range []string{"/api/", "/api/a.html", "/api/old.html"} {
		w.Set(home+name, mirrortest.HTML(name, fmt.Sprintf(head, "../")+name))
	}
	w.Set(home+"/styles/docfx.js", mirrortest.Page{Body: `function f() { new Worker(rel + 'styles/search-worker.js') }`})
	w.Set(home+"/styles/search-worker.js", mirrortest.Page{Body: `importScripts('lunr.min.js'); get('../index.json')`})
	w.Set(home+"/styles/lunr.min.js", mirrortest.Page{Body: "var lunr"})
	w.Set(home+"/index.json", mirrortest.Page{Body: "{}"})
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for run := 2; run <= 4; run++ {
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
	tree := m.Tree()
	for _, p := range []string{
		"toc.html", "api/toc.html", "api/a.html", "api/old.html", "styles/lunr.min.js", "index.json",
	} {
		if tree[p] == "" {
			t.Errorf("%s is not in the mirror", p)
		}
	}
	if page := tree["api/a.html"]; !strings.Contains(page, `tocrel" content="toc.html"`) {
		t.Errorf("api/a.html is %q", page)
	}
	w.Set(home+"/api/toc.html", mirrortest.HTML("", `<div id=toc><a href=a.html>A</a></div>`))
	w.Set(home+"/api/old.html", mirrortest.Status(404))
	m.Run()
	m.Run()
	if tree := m.Tree(); tree["api/old.html"] != "" || tree["api/a.html"] == "" {
		t.Errorf("the mirror has %d files: old.html %q", len(tree), tree["api/old.html"])
	}
}

// Scripts that name missing files cost some requests, however much they name.
func TestMenuThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	var pages strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&pages, "%q,", fmt.Sprintf("p%d.html", i))
	}
	w.Set(home+"/", mirrortest.HTML("Home", `<script src=js/data.js></script><script src=js/searchdata.js></script>`))
	w.Set(home+"/js/data.js", mirrortest.Page{Body: "var pages=[" + pages.String() + "]"})
	w.Set(home+"/js/searchdata.js", mirrortest.Page{
		Body: `var indexSectionsWithContent={0:"` + strings.Repeat("a", 2000) + `"};var indexSectionNames={0:"all"};`,
	})
	s := mirrortest.New(t, w, job()).Run()
	wantVerdict(t, s, mirror.Complete, true)
	if n := len(w.Requests()); n > 80 {
		t.Errorf("%d requests\n%s", n, mirrortest.Text(s))
	}
}

// A site that refuses a crawler after some pages is no complete first mirror; the next run says what it does
// of what the mirror has.
func TestWall(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	var links strings.Builder
	for i := range 24 {
		fmt.Fprintf(&links, "<a href=/p%d.html>%d</a>", i, i)
		page := mirrortest.HTML(fmt.Sprint("Page ", i), strings.Repeat(fmt.Sprint("words of ", i, " "), 9))
		if i >= 10 {
			page = mirrortest.Status(403)
		}
		w.Set(fmt.Sprintf("%s/p%d.html", home, i), page)
	}
	w.Set(home+"/", mirrortest.HTML("Home", links.String()))
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Gaps, true)
	wantText(t, s, "the site refuses 14 URLs", "gives 11 files")
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// The parts of an index of Pagefind come, stay in runs that find them unchanged, and change with it.
func TestPagefind(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", `<script src=pagefind/pagefind-ui.js></script>`))
	part := func(name, body string) {
		page := mirrortest.Page{Body: body}
		if !strings.HasSuffix(name, ".js") {
			page.Header = map[string]string{"Content-Type": "application/octet-stream"}
		}
		w.Set(home+"/pagefind/"+name, page)
	}
	meta := func(fragment string) string {
		return "pagefind_dcd\x85e1.3.0\x81\x82d" + fragment + "\x05\x81\x83aaazden_3\x80\x80"
	}
	part("pagefind-ui.js", "import(`${path}pagefind.js`)")
	part("pagefind.js", "fetch(`${path}pagefind-entry.json`)")
	part("pagefind-entry.json", `{"languages":{"en":{"hash":"en_0","wasm":"en"}}}`)
	part("wasm.en.pagefind", "wasm")
	part("pagefind.en_0.pf_meta", meta("en_1"))
	part("index/en_3.pf_index", "words")
	part("fragment/en_1.pf_fragment", "one")
	part("fragment/en_2.pf_fragment", "two")
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantVerdict(t, m.Run(), mirror.Complete, false)
	want := func(present string, absent ...string) {
		tree := m.Tree()
		for _, p := range []string{"wasm.en.pagefind", "index/en_3.pf_index", present} {
			if tree["pagefind/"+p] == "" {
				t.Errorf("%s is not in the mirror", p)
			}
		}
		for _, p := range absent {
			if tree["pagefind/"+p] != "" {
				t.Errorf("%s is in the mirror", p)
			}
		}
	}
	want("fragment/en_1.pf_fragment", "fragment/en_2.pf_fragment")
	part("pagefind.en_0.pf_meta", meta("en_2"))
	w.Set(home+"/pagefind/fragment/en_1.pf_fragment", mirrortest.Status(404))
	m.Run()
	m.Run()
	want("fragment/en_2.pf_fragment", "fragment/en_1.pf_fragment")
}

// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"
)

// What the scripts of documentation generators load is found, as each of them writes it.
func TestGenerators(t *testing.T) {
	const rustdoc = `<meta name="generator" content="rustdoc"><link rel=icon href=/i>`
	for _, c := range []struct{ name, at, data, want string }{
		{
			"javadoc 17", "api/script.js", `function loadScripts(doc, tag) {
    createElem(doc, tag, 'search.js');
    createElem(doc, tag, 'type-search-index.js');
}
function createElem(doc, tag, path) { script.src = pathtoroot + path; }`,
			"api/search.js api/type-search-index.js",
		},
		{
			"javadoc 9", "api/script.js", `function loadScripts(doc, tag) {
    createElem(doc, tag, 'jquery/jszip/dist/jszip.js');
    $.get(pathtoroot + "member-search-index.zip").done(function() { f(pathtoroot + "member-search-index.zip"); });
    if (!memberSearchIndex) { createElem(doc, tag, 'member-search-index.js'); }`,
			"api/jquery/jszip/dist/jszip.js api/member-search-index.zip api/member-search-index.js",
		},
		{
			"javadoc 23", "api/script-files/script.js",
			`function loadScripts() { createElem(doc, tag, 'script-files/search.js'); createElem(doc, tag, 'tag-search-index.js'); }`,
			"api/script-files/search.js api/tag-search-index.js",
		},
		{"another script.js", "api/script.js", `createElem(doc, tag, 'x.js'); function f() {}`, ""},
		{
			"mdBook", "book/searcher-0123abcd.js", `fetch(path_to_root + 'searchindex.json').catch(function (e) {
script.src = path_to_root + 'searchindex-89ef.js'; searchindex = null;`,
			"book/searchindex.json book/searchindex-89ef.js",
		},
		{
			"MkDocs", "search/main.js", `function f() {} new Worker(joinUrl(base_url, "search/worker.js"));`,
			"search/worker.js search/lunr.js search/search_index.json",
		},
		{
			"Dokka 1.4.32", "api/scripts/main.js",
			`function(){fetch(xs("scripts/navigation-pane.json"))} function(){fetch(xs("scripts/pages.json"))}`,
			"api/scripts/navigation-pane.json api/scripts/pages.json",
		},
		{
			"Dokka", "scripts/navigation-loader.js", `fetch(pathToRoot + "navigation.html").then(r => r.text())`,
			"navigation.html",
		},
		{"gi-docgen", "gtk4/search.js", `function f() { fetchJSON('index.json', onDidLoadSearchIndex); }`, "gtk4/index.json"},
		{"Haddock", "quick-jump.min.js", `function(b){r.open("GET",b+"/doc-index.json",!0)}`, "doc-index.json"},
		{
			"the search of Doxygen", "html/search/searchdata.js", `var indexSectionsWithContent =
{
  0: "ab\u00e9\\",
  1: "a",
  3: "abcdefghijklmnopq"
};

var indexSectionNames =
{
  0: "all",
  1: "classes",
  2: "files",
  3: "pages"
};
var indexSectionLabels =
{
  0: "All"
};`,
			"html/search/all_0.js html/search/all_1.js html/search/all_2.js html/search/all_3.js " +
				"html/search/classes_0.js " +
				"html/search/pages_0.js html/search/pages_1.js html/search/pages_2.js html/search/pages_3.js " +
				"html/search/pages_4.js html/search/pages_5.js html/search/pages_6.js html/search/pages_7.js " +
				"html/search/pages_8.js html/search/pages_9.js html/search/pages_a.js html/search/pages_b.js " +
				"html/search/pages_c.js html/search/pages_d.js html/search/pages_e.js html/search/pages_f.js " +
				"html/search/pages_10.js",
		},
		{
			"the search of an old Doxygen", "search/search.js",
			`function f() { page = this.resultsPath + '/' + n + '_' + hexCode + '.html'; }`,
			"search/all_0.html search/nomatches.html",
		},
		{
			"the search of Doxygen 1.9.4", "search/search.js",
			`function f() { resultsPage = this.resultsPath + '/' + n + '_' + hexCode + this.extension; }`,
			"search/all_0.html search/nomatches.html",
		},
		{
			"the images of Doxygen's tree", "eigen_navtree_hacks.js",
			`function f() { n.html('<img src="'+relpath+'sync_on.png" title="'); src = node.relpath+"ftv2pnode.png" }`,
			"ftv2pnode.png sync_on.png",
		},
		{
			"what Doxygen unfolds", "dynsections.js", `function f() { $(img).attr('src',src.substring(0,8)+'open.png'); }`,
			"open.png",
		},
		{
			"the menu of Erlang", "js/flipmenu/flipmenu.js", `	flipImg_open   = "flip_open.gif";
	flipImg_static = "flip_static.gif"; function f() {}`,
			"js/flipmenu/flip_open.gif js/flipmenu/flip_static.gif",
		},
		{
			"its results", "search/files_9.html", `<link rel=icon href=/i><meta name="generator" content="Doxygen 1.8.16"/><body class="SRPage">`,
			"search/files_a.html",
		},
		{
			"the menu of Doxygen", "html/menudata.js", `var menudata={children:[
{text:"Main Page",url:"index.html"},
{text:"Related Functions",url:"functions_rela.html#x"}]}`,
			"html/functions_rela.html html/index.html",
		},
		{
			"the tree of Doxygen", "html/navtreedata.js", `var NAVTREE =
[
  [ "Doxygen", "index.html", [
    [ "A \"B\"", "a.html", null ],
    [ "Classes", "annotated.html", "annotated_dup" ],
    [ "Files", null, "files_dup" ]
  ] ]
];

var NAVTREEINDEX =
[
"a.html",
"m_8h.html#a1"
];

var SYNCONMSG = 'click';`,
			"html/a.html html/annotated.html html/annotated_dup.js html/files_dup.js html/index.html html/m_8h.html " +
				"html/navtreeindex0.js html/navtreeindex1.js",
		},
		{
			"a branch of it", "html/annotated_dup.js", `var annotated_dup =
[
    [ "ns", "namespacens.html", "namespacens" ],
    [ "C", "classC.html", "classC" ], [ "f", "classC.html#f", null ]
];`,
			"html/classC.html html/classC.js html/namespacens.html html/namespacens.js",
		},
		{
			"a branch in a directory of its own", "html/d3/dc9/ns.js", `var ns =
[
    [ "C", "d0/d1a/classC.html#x", "d0/d1a/classC" ]
];`,
			"html/d0/d1a/classC.html html/d0/d1a/classC.js",
		},
		{
			"rustdoc 1.63", "std/vec/index.html",
			rustdoc + `<div id="rustdoc-vars" data-root-path="../../" data-resource-suffix="1.63.0" data-themes="ayu" ></div>`,
			"search1.63.0.js search-index1.63.0.js",
		},
		{
			"rustdoc 1.75", "std/vec/index.html",
			rustdoc + `<meta name="rustdoc-vars" data-root-path="../../" data-static-root-path="../../static.files/" ` +
				`data-resource-suffix="" data-search-js="search-2b6c.js">`,
			"search-index.js static.files/search-2b6c.js",
		},
		{
			"the index of rustdoc 1.90", "doc/search.index/root1.90.0.js",
			`rr_('{"name":{"I":"AAAA","N":"Bbc","E":"OjAAAAAAAAA=","H":"AQIDBAUGoKGio6Sl"},"desc":{"N":"","H":""},` +
				`"type":{"N":"c","H":"AQIDBAX/"}}')`,
			"doc/search.index/name/010203040506.js doc/search.index/name/a0a1a2a3a4a5.js " +
				"doc/search.index/type/0102030405ff.js",
		},
		{"another root.js", "doc/root.js", `rr_('{"../x":{"N":"c","H":"AQIDBAUG"},"y":{"N":"ccccc","H":"AQ=="}}')`, ""},
		{
			"Starlight", "docs/_astro/ui-core.js",
			"function f(){} x({bundlePath:\"/docs/\".replace(/\\/$/,\"\")+\"/pagefind/\"}); " +
				"await import(`${l}pagefind.js`)",
			"docs/pagefind/pagefind.js",
		},
		{"Pagefind in a script", "js/a.js", `function f(){} new PagefindUI({ bundlePath: '/find' })`, "find/pagefind.js"},
		{
			"the interface of Pagefind", "pagefind/pagefind-ui.js", "function f(){} await import(`${a}pagefind.js`)",
			"pagefind/pagefind.js",
		},
		{
			"Pagefind", "pagefind/pagefind.js",
			"function f(){fetch(`${this.basePath}pagefind-entry.json?ts=${n}`);new Worker(`${p}pagefind-worker.js`)}",
			"pagefind/pagefind-entry.json pagefind/pagefind-worker.js",
		},
		{
			"Material for MkDocs", "guide/a/index.html",
			`<meta name="generator" content="mkdocs-1.5.3, mkdocs-material-9.4.6"><link rel=icon href=/i>` +
				`<script id="__config" type="application/json">{"base": "../..", "search": "../../assets/w.min.js"}</script>` +
				`{"base": "x"}`,
			"assets/w.min.js search/search_index.json",
		},
		{
			"Quarto", "a/b.html",
			`<meta name="generator" content="quarto-1.3.433"><link rel=icon href=/i><meta name="quarto:offset" content="../">`,
			"search.json",
		},
		{
			"VitePress", "guide/a.html",
			`<meta name="generator" content="VitePress v1.5.0"><link rel=icon href=/i>` +
				`<link rel="modulepreload" href="/assets/1. guide_a.md.BlA5-cEX.lean.js">`,
			"assets/1.%20guide_a.md.BlA5-cEX.js",
		},
		{
			"the first page of VitePress", "docs/index.html",
			`<meta name="generator" content="VitePress v1.5.0"><link rel=icon href=/i>` +
				`<link rel="modulepreload" href="/docs/assets/index.md.BlA5.lean.js"><script>` +
				`window.__VP_HASH_MAP__=JSON.parse("{\"98. a#b.md\":\"D2\",\"guide_a.md\":\"f2\",\"index.md\":\"f3\",\"guide_index.md\":\"f4\"}");` +
				`window.__VP_SITE_DATA__=JSON.parse("{\"x.md\":\"y\"}")</script>`,
			"docs/98.%20a%23b.html docs/assets/index.md.BlA5.js docs/guide/a.html",
		},
		{
			"menus of VitePress, which was silent before 1.0", "docs/index.html",
			`<link rel=icon href=/i><link rel="modulepreload" href="/docs/assets/index.md.BlA5.lean.js"><script>` +
				`window.__VP_HASH_MAP__ = JSON.parse("{\"en_new_debug.md\":\"D2\",\"en_faq.md\":\"f2\",\"a_b.md\":\"f3\"}");` +
				`window.__VP_SITE_DATA__=JSON.parse("{\"link\":\"/en/new_debug\",\"link\":\"/en/FAQ.html\",\"link\":\"/x\"}")</script>`,
			"docs/assets/index.md.BlA5.js docs/en/new_debug.html docs/en/FAQ.html docs/a/b.html",
		},
		{
			"a blog of VitePress", "docs/assets/chunks/theme.CSE9.js",
			`function f(){} JSON.parse('[{"frontmatter":{"url":"/x.html"},"excerpt":"","url":"/9. K a_b.html"}]')`,
			"docs/9.%20K%20a_b.html",
		},
		{
			"VitePress without .html", "docs/index.html",
			`<meta name="generator" content="VitePress v1.5.0"><link rel=icon href=/i>` +
				`<link rel="modulepreload" href="/docs/assets/index.md.BlA5.lean.js"><script>` +
				`window.__VP_HASH_MAP__=JSON.parse("{\"guide_a.md\":\"f2\"}");window.__VP_SITE_DATA__=JSON.parse("{\"cleanUrls\":true}")</script>`,
			"docs/assets/index.md.BlA5.js",
		},
		{
			"Docusaurus", "docs/assets/js/runtime~main.74786385.js",
			`b.u=e=>"assets/js/"+({53:"935f2afb",6103:"ccc49370"}[e]||e)+"."+{53:"dc12c5b6",4972:"706c64a1",6103:"f7"}[e]+".js",` +
				`b.miniCssF=e=>{},b.p="/docs/"`,
			"docs/assets/js/935f2afb.dc12c5b6.js docs/assets/js/4972.706c64a1.js docs/assets/js/ccc49370.f7.js",
		},
		{
			"webpack", "app/webpack-runtime-eabb.js",
			`c.u=function(e){return({532:"styles"}[e]||e)+"-"+{175:"3ca3",532:"0d06"}[e]+".js"},c.p="/app/"`,
			"app/175-3ca3.js app/styles-0d06.js",
		},
		{
			"webpack without names", "static/js/main.1.js",
			`r.u=e=>"static/js/"+e+"."+{787:"28cb"}[e]+".chunk.js",r.p="/"`, "static/js/787.28cb.chunk.js",
		},
		{"a sum of strings", "a.js", `a.p="/x/"; f(n+"."+{a:"b"}[e]+".txt")`, ""},
		{
			"Storybook", "ui/index.html",
			`<link rel=icon href=/i><link href="./sb-manager/globals.js" rel="modulepreload"/>`,
			"ui/iframe.html ui/index.json",
		},
		{
			"Vite, relative", "ui/assets/a.js",
			`const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["./a.js","./b-1.css"])))=>i.map(i=>d[i]);f(["./c.css"])`,
			"ui/assets/b-1.css",
		},
		{
			"Vite 5.1", "_nuxt/a.js",
			`const __vite__fileDeps=["./b.js","./Icon.css"],__vite__mapDeps=i=>i.map(i=>__vite__fileDeps[i]);`, "_nuxt/Icon.css",
		},
		{
			"Vite 5.0", "_app/entry/app.js",
			`function __vite__mapDeps(indexes) { if (!__vite__mapDeps.viteFileDeps) {
  __vite__mapDeps.viteFileDeps = ["../nodes/0.js","../assets/0.css"] } }`, "_app/assets/0.css",
		},
		{
			"Vite 4", "_app/entry/app.js",
			`const n=[()=>i(()=>import("../nodes/0.js"),["../nodes/0.js","../assets/0.css"],import.meta.url),f("../x.css"])]`,
			"_app/nodes/0.js _app/assets/0.css",
		},
		{
			"Vite", "ui/assets/chunks/a.js",
			`const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/a.js","assets/b-1.css"])))=>i.map(i=>d[i]);`,
			"ui/assets/b-1.css",
		},
		{
			"NexT for Hexo", "blog/2024/index.html",
			`<meta name="generator" content="Hexo 6.3.0"><link rel=icon href=/i>` +
				`<script class="next-config" type="application/json">{"root":"/blog/","path":"/blog/search.xml"}</script>` +
				`<script class="next-config" type="application/json">{"path":"a.html"}</script>`,
			"blog/search.xml",
		},
		{
			"DocFX with contents in JSON", "api/a.html",
			`<meta name="docfx:navrel" content="../toc.html"><meta name="docfx:tocrel" content="toc.html"><link rel=icon href=/i>`,
			"toc.json api/toc.json",
		},
		{
			"its search", "public/docfx.min.js", `function f(){new Worker(t+"public/search-worker.min.js",{type:"module"})}`,
			"public/search-worker.min.js",
		},
		{
			"the index of its search", "public/search-worker.min.js", `async function n(){let i=await fetch("../index.json")}`,
			"index.json",
		},
		{
			"an older one", "styles/search-worker.js", `(function () { importScripts('lunr.min.js');
  stopWordsRequest.open('GET', '../search-stopwords.json'); searchDataRequest.open('GET', '../index.json');`,
			"styles/lunr.min.js search-stopwords.json index.json",
		},
		{
			"GitBook", "book/gitbook/gitbook-plugin-lunr/search-lunr.js",
			`function f() { $.getJSON(gitbook.state.basePath+'/search_index.json') }`, "book/search_index.json",
		},
		{
			"bookdown", "libs/gitbook-2.6.7/js/plugin-search.js",
			`function f() { return $.getJSON(gitbook.state.basePath+"/search_index.json") }`, "search_index.json",
		},
		{
			"styles of GitBook", "a/b.html",
			`<meta name="generator" content="GitBook 3.2.3"><link rel=icon href=/i>` +
				`<script>f({"styles":{"website":"styles/website.css","pdf":"styles/pdf.css"}, "x": "y/z.png"})</script>`,
			"a/y/z.png",
		},
		{
			"Material for MkDocs, minified", "guide/a/index.html",
			`<meta name=generator content="mkdocs-1.6.1, mkdocs-material-9.7.0"><link rel=icon href=/i>` +
				`<script id=__config type=application/json>{"base": "../..", "search": "../../assets/w.min.js"}</script>`,
			"assets/w.min.js search/search_index.json",
		},
		{
			"Quarto, minified", "a/b.html",
			`<meta name=generator content=quarto-1.3.433><link rel=icon href=/i><meta name=quarto:offset content=../>`,
			"search.json",
		},
		{"a page of Doxygen", "functions_b.html", `<link rel=icon href=/i><meta name="generator" content="Doxygen 1.9"/>`, ""},
		{"a page about rustdoc", "a.html", `<p>rustdoc-vars</p><link rel=icon href=/i>`, ""},
	} {
		b := Body{URL: parse(t, "https://e.org/"+c.at), Data: []byte(c.data), MIME: "text/javascript"}
		if strings.HasSuffix(c.at, ".html") {
			b.MIME = "text/html"
		}
		want := strings.Fields(c.want)
		for i, ref := range want {
			kind := "requisite"
			if strings.HasSuffix(ref, ".html") {
				kind = "page"
			}
			want[i] = "guess " + kind + " https://e.org/" + ref
		}
		got := slices.DeleteFunc(found(NewReader(options(t, "")).Read(&b)),
			func(s string) bool { return !strings.Contains(s, "guess ") || strings.HasPrefix(s, "[") })
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(slices.Compact(got), slices.Compact(want)) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
		o := options(t, "")
		o.Scripts = false
		if got := found(NewReader(o).Read(&b)); slices.ContainsFunc(got, func(s string) bool {
			return strings.HasPrefix(s, "guess")
		}) {
			t.Errorf("%s, with scripts = false: %q", c.name, got)
		}
	}
}

// The parts of an index of Pagefind name one another; damaged ones name nothing.
func TestPagefind(t *testing.T) {
	meta := "pagefind_dcd\x85e1.3.0\x82\x82den_1\x18\xd9\x82den_2\x19\x01\x00" +
		"\x81\x83c001azden_3" + "\x81\x82ctagden_4" + "\x81\x82ddate\x82\x00\x01"
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	zw.Write([]byte(meta))
	zw.Close()
	const files = "fragment/en_1.pf_fragment fragment/en_2.pf_fragment index/en_3.pf_index filter/en_4.pf_filter"
	for _, c := range []struct{ name, at, data, want string }{
		{
			"entry", "pagefind-entry.json",
			`{"version":"1.3.0","languages":{"pt-br":{"hash":"pt_1","wasm":null},"en":{"hash":"en_1","wasm":"en"}}}`,
			"pagefind.en_1.pf_meta wasm.en.pagefind pagefind.pt_1.pf_meta wasm.unknown.pagefind",
		},
		{"meta", "pagefind.en_1.pf_meta", packed.String(), files},
		{"unpacked", "pagefind.en_1.pf_meta", meta, files},
		{"another entry", "pagefind-entry.json", "[]", ""},
		{"damaged", "pagefind.en_1.pf_meta", packed.String()[:20], ""},
		{"huge", "pagefind.en_1.pf_meta", "pagefind_dcd\x9b\xff\xff\xff\xff\xff\xff\xff\xff", ""},
		{"many", "pagefind.en_1.pf_meta", "pagefind_dcd\x9a\x00\x20\x00\x00" + strings.Repeat("\x80", 2<<20), ""},
		{"deep", "pagefind.en_1.pf_meta", "pagefind_dcd" + strings.Repeat("\x81", 1000), ""},
		{"another", "pagefind.en_1.pf_meta", "<html><a href=x>", ""},
	} {
		b := Body{URL: parse(t, "https://e.org/find/"+c.at), Data: []byte(c.data), MIME: "application/octet-stream"}
		var want []string
		for ref := range strings.FieldsSeq(c.want) {
			want = append(want, "guess requisite https://e.org/find/"+ref)
		}
		if got := found(NewReader(options(t, "")).Read(&b)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

// What a script of a generator loads is not bounded as guesses are, but ends when guesses lead nowhere.
func TestGeneratorsTire(t *testing.T) {
	var menu strings.Builder
	menu.WriteString("var menudata={children:[")
	for i := range 3 * docGuesses {
		menu.WriteString(`{text:"x",url:"p` + strings.Repeat("x", i) + `.html"},`)
	}
	menu.WriteString("]}")
	b := Body{URL: parse(t, "https://e.org/menudata.js"), Data: []byte(menu.String()), MIME: "text/javascript"}
	o := options(t, "")
	if x := NewReader(o).Read(&b); len(x.Candidates) != 3*docGuesses || len(x.Notes) > 0 {
		t.Errorf("%d candidates, notes %q", len(x.Candidates), x.Notes)
	}
	o.Tired = func() bool { return true }
	for _, c := range NewReader(o).Read(&b).Candidates {
		if c.Follow {
			t.Errorf("%s is followed", c.URL)
		}
	}
	b = Body{URL: parse(t, "https://e.org/script.js"), MIME: "text/javascript",
		Data: []byte(`createElem(doc, tag, 'type-search-index.js'); function f() {}`)}
	if got := found(NewReader(o).Read(&b)); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

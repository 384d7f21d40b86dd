// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/site"
)

func mustURL(tb testing.TB, s string) site.URL {
	tb.Helper()
	u, _, err := site.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// zoo is the ways in which a document refers to another: each must be found as exactly the given kind and
// URLs. The page is http://zoo.test/dir/page.html and every name is unique.
var zoo = []struct {
	name   string
	format Format
	doc    string
	kind   Kind
	want   []string // paths below http://zoo.test
}{
	{"a href", HTML, `<a href="a.html#top">x</a>`, Hyperlink, []string{"/dir/a.html"}},
	{"a unquoted", HTML, `<a href=a.html#top>x</a>`, Hyperlink, []string{"/dir/a.html"}},
	{"a with entities", HTML, `<a href='a&#46;html?x=1&amp;y=2#t'>x</a>`, Hyperlink,
		[]string{"/dir/a.html?x=1&y=2"}},
	{"area", HTML, `<map><area shape=rect coords=0,0,1,1 href="/area.html"></map>`, Hyperlink,
		[]string{"/area.html"}},
	{"img src", HTML, `<img src="i.png" alt="i.png">`, Requisite, []string{"/dir/i.png"}},
	{"img srcset", HTML, `<img srcset="a.png 1x, b,c.png 2x,d.png">`, Requisite,
		[]string{"/dir/a.png", "/dir/b,c.png", "/dir/d.png"}},
	{"picture source srcset", HTML,
		`<picture><source srcset="w.webp 640w, w2.webp 1280w" type=image/webp></picture>`, Requisite,
		[]string{"/dir/w.webp", "/dir/w2.webp"}},
	{"img data-src", HTML, `<img data-src="lazy/l.jpg" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">`,
		Requisite, []string{"/dir/lazy/l.jpg"}},
	{"backgrounds for scripts", HTML,
		`<div data-bg="b.jpg" data-background="#fff"></div><section data-background="s.png">` +
			`<video data-poster="p.webp" data-bg="url(x.png)"></video>`, Requisite,
		[]string{"/dir/b.jpg", "/dir/s.png", "/dir/p.webp"}},
	{"search indexes of themes", HTML,
		`<input data-offline-search-index-json-src="/i.1f.json" data-offline-search-base-href="/">` +
			`<form data-json="https://zoo.test/s/index.json"><input DATA-SEARCH-INDEX=search.json data-index="3">`,
		InScript, []string{"/i.1f.json", "https://zoo.test/s/index.json", "/dir/search.json"}},
	{"other images for scripts", HTML,
		`<div data-large_image="a.jpg" data-x='/b.png' data-y="../c.json" data-mfp-src="d.html" data-z=x/e.webp>`,
		InScript, []string{"/dir/a.jpg", "/b.png", "/c.json", "/dir/d.html"}},
	{"keys for scripts", HTML,
		`<li data-path="a.html" data-identifier="/b.html" data-file="c.png" data-url="https://zoo.test/d.html"` +
			` data-v="1.2.3" data-host="zoo.test" data-t="see a.png" data-o='{"/b.png":1.5}' data-p="[" data- data-e>`,
		InScript, nil},
	{"JSON for scripts", HTML,
		`<div data-images="[&quot;http:\/\/zoo.test\/img\/a.png&quot;,&quot;see b.png&quot;]"` +
			` data-settings='{"bg":[{"id":4.5,"url":"\/img\/c.png"}]}' data-wide="{'d': './d.webp'}">`,
		InScript, []string{"/img/a.png", "/img/c.png", "/dir/d.webp"}},
	{"hidden mail address", HTML, `<a href="/cdn-cgi/l/email-protection#2a43444c45"><a href="/cdn-cgi/l/x#1">`,
		Action, []string{"/cdn-cgi/l/email-protection"}},
	{"data-srcset", HTML, `<img data-srcset="l1.jpg 1x, l2.jpg 2x">`, Requisite,
		[]string{"/dir/l1.jpg", "/dir/l2.jpg"}},
	{"link stylesheet", HTML, `<link href="s.css" rel="StyleSheet">`, Requisite, []string{"/dir/s.css"}},
	{"link icon", HTML, `<link rel="shortcut icon" href=../fav.ico>`, Requisite, []string{"/fav.ico"}},
	{"link preload imagesrcset", HTML, `<link rel=preload as=image imagesrcset="p.png 1x" href="p0.png">`,
		Requisite, []string{"/dir/p.png", "/dir/p0.png"}},
	{"link manifest", HTML, `<link rel=manifest href="app.webmanifest">`, Requisite,
		[]string{"/dir/app.webmanifest"}},
	{"link feed", HTML, `<link rel=alternate type="application/rss+xml" href="feed.xml">`, Hyperlink,
		[]string{"/dir/feed.xml"}},
	{"link canonical", HTML, `<link rel=canonical href="http://zoo.test/dir/page.html">`, Reference,
		[]string{"/dir/page.html"}},
	{"script src", HTML, `<script src="s.js"></script>`, Requisite, []string{"/dir/s.js"}},
	{"iframe src", HTML, `<iframe src="f.html"></iframe>`, Frame, []string{"/dir/f.html"}},
	{"iframe srcdoc", HTML,
		`<iframe srcdoc="<p><a href='in.html?a=1&amp;amp;b=2'>x</a>&lt;a href=&quot;in2.html&quot;&gt;"></iframe>`,
		Hyperlink, []string{"/dir/in.html?a=1&b=2", "/dir/in2.html"}},
	{"frameset frame", HTML, `<frameset><frame src="fr.html"></frameset>`, Frame, []string{"/dir/fr.html"}},
	{"object data", HTML, `<object data="o.swf"></object>`, Requisite, []string{"/dir/o.swf"}},
	{"object html", HTML, `<object data="o.html"></object>`, Frame, []string{"/dir/o.html"}},
	{"param movie", HTML, `<param name="Movie" value="m.swf">`, Requisite, []string{"/dir/m.swf"}},
	{"embed", HTML, `<embed src="e.pdf">`, Requisite, []string{"/dir/e.pdf"}},
	{"video and poster", HTML, `<video src="v.mp4" poster="v.jpg"></video>`, Requisite,
		[]string{"/dir/v.mp4", "/dir/v.jpg"}},
	{"audio source", HTML, `<audio><source src="a.ogg"></audio>`, Requisite, []string{"/dir/a.ogg"}},
	{"track", HTML, `<video><track src="t.vtt"></video>`, Requisite, []string{"/dir/t.vtt"}},
	{"input image", HTML, `<input type=image src="b.gif">`, Requisite, []string{"/dir/b.gif"}},
	{"body background", HTML, `<body background="bg.gif">`, Requisite, []string{"/dir/bg.gif"}},
	{"table background", HTML, `<table background=tb.gif><td background='td.gif'>`, Requisite,
		[]string{"/dir/tb.gif", "/dir/td.gif"}},
	{"meta refresh", HTML, `<meta http-equiv=Refresh content="5; URL='r.html'">`, Hyperlink,
		[]string{"/dir/r.html"}},
	{"meta og:image", HTML,
		`<meta property="og:image" content="/og.png"><meta name="twitter:image" content="tw.png">`, Requisite,
		[]string{"/og.png", "/dir/tw.png"}},
	{"meta og:url", HTML, `<meta property="og:url" content="http://zoo.test/og">`, Reference, []string{"/og"}},
	{"cite", HTML, `<blockquote cite="q.html"></blockquote>`, Reference, []string{"/dir/q.html"}},
	{"longdesc", HTML,
		`<img longdesc=l.html#d1><frame longdesc="/f.html"><iframe longdesc='i.html?a=1&amp;b'></iframe><p longdesc=no.html>`, Hyperlink,
		[]string{"/dir/l.html", "/f.html", "/dir/i.html?a=1&b"}},
	{"form action", HTML, `<form action="/cgi"><button formaction="go">x</button></form><a ping="p1 p2">x</a>`,
		Action, []string{"/cgi", "/dir/go", "/dir/p1", "/dir/p2"}},
	{"style element url()", HTML, `<style>a{background:url( "x.png" )}b{background:url(y.png)}</style>`,
		Requisite, []string{"/dir/x.png", "/dir/y.png"}},
	{"style attribute with entities", HTML, `<p style="background:url(&quot;x.png&quot;)">`, Requisite,
		[]string{"/dir/x.png"}},
	{"style attribute single quotes", HTML, `<p style='background:url("x.png"), url(z.png)'>`, Requisite,
		[]string{"/dir/x.png", "/dir/z.png"}},
	{"@import", CSS,
		`@import "a.css" screen; @import url(b.css); @import/**/'c.css'; @namespace url(http://www.w3.org/1999/xhtml);`, Requisite, []string{"/dir/a.css", "/dir/b.css", "/dir/c.css"}},
	{"@import with escapes", CSS,
		`@\69mport "a.css"; @impor\74  'b.css' print; @\000049\4D PORT"c.css";@imp\ert "no.css"; @\69 mports "no.css"; @i\mport "d.css";`, Requisite,
		[]string{"/dir/a.css", "/dir/b.css", "/dir/c.css", "/dir/d.css"}},
	{"@font-face", CSS, `@font-face{src:url(f.woff2?#iefix) format("woff2"),url('f.ttf')}`, Requisite,
		[]string{"/dir/f.woff2?", "/dir/f.ttf"}},
	{"image-set string", CSS,
		`a{background:image-set("a.png" 1x, "b.png" type("image/png") 2x, url(c.png) 3x); content: "no.png"}`,
		Requisite, []string{"/dir/a.png", "/dir/b.png", "/dir/c.png"}},
	{"-webkit-image-set", CSS, `a{background:-webkit-image-set(url(a.png) 1x, "b.png" 2x)}`, Requisite,
		[]string{"/dir/a.png", "/dir/b.png"}},
	{"CSS escapes", CSS, `a{background:url(a\20 b.png);b:\75 rl("c\
d.png");c:url('\65 .png')}`, Requisite, []string{"/dir/a%20b.png", "/dir/cd.png", "/dir/e.png"}},
	{"svg use", HTML, `<svg><use href="sprite.svg#i"/><use xlink:href="old.svg#j"></use></svg>`, Requisite,
		[]string{"/dir/sprite.svg", "/dir/old.svg"}},
	{"svg image", HTML, `<svg><image href="i.png"/><feImage xlink:href="fe.png"/></svg>`, Requisite,
		[]string{"/dir/i.png", "/dir/fe.png"}},
	{"svg a", HTML, `<svg><a xlink:href="sv.html"><text>x</text></a></svg>`, Hyperlink,
		[]string{"/dir/sv.html"}},
	{"svg paint", HTML, `<svg><rect fill="url(p.svg#a)" filter="url(#local)"/></svg>`, Requisite,
		[]string{"/dir/p.svg"}},
	{"MathML href", HTML, `<math><mi href="m.html">x</mi></math>`, Hyperlink, []string{"/dir/m.html"}},
	{"svg style", HTML,
		`<svg><style>a{fill:url(&quot;x.svg#a&quot;)}</style><style><![CDATA[b{fill:url(y.svg)}]]></style><style>c{fill:url('z.svg?a&b')}</style></svg>`, Requisite, []string{"/dir/x.svg", "/dir/y.svg", "/dir/z.svg?a&b"}},
	{"svg style in srcdoc", HTML,
		`<iframe srcdoc="<svg><style>a{fill:url(&amp;quot;x.svg#a&amp;quot;)}</style></svg>"></iframe>`, Requisite,
		[]string{"/dir/x.svg"}},
	{"MathML xlink", HTML, `<math xlink:href="m1.html"><mrow xlink:href="m2.html"></mrow></math>`, Hyperlink,
		[]string{"/dir/m1.html", "/dir/m2.html"}},
	{"noscript", HTML, `<noscript><img src="ns.png"></noscript>`, Requisite, []string{"/dir/ns.png"}},
	{"template", HTML, `<template><a href="t.html">x</a></template>`, Hyperlink, []string{"/dir/t.html"}},
	{"html manifest", HTML, `<html manifest="cache.appcache">`, Requisite, []string{"/dir/cache.appcache"}},
	{"base in noscript", HTML, `<noscript><base href="/n/"></noscript><a href=a>`, Hyperlink, []string{"/dir/a"}},
	{"base after noscript", HTML, `<noscript><p></noscript x><base href="/b/"><a href=a>`, Hyperlink, []string{"/b/a"}},
	{"base in SVG", HTML, `<svg><base href="/s/"/></svg><a href=a>`, Hyperlink, []string{"/dir/a"}},
	{"base after SVG", HTML, `<svg><g/></svg><base href="/b/"><a href=a>`, Hyperlink, []string{"/b/a"}},
	{"base, root-relative, after and before", HTML,
		`<a href="x.html">x</a><base href="/other/"><a href="y.html">y</a><a href="#f">f</a>`, Hyperlink,
		[]string{"/other/x.html", "/other/y.html", "/other/"}},
	{"SVG file", SVG,
		`<?xml version="1.0"?><?xml-stylesheet href="s.css"?><svg xmlns="http://www.w3.org/2000/svg"><image href="i.png"/><style><![CDATA[a{fill:url(p.svg#x)}]]></style><style>b{fill:url(&quot;q.svg#x&quot;)}</style></svg>`, Requisite, []string{"/dir/s.css", "/dir/i.png", "/dir/p.svg", "/dir/q.svg"}},
	{"XHTML", SVG,
		`<html xmlns="http://www.w3.org/1999/xhtml"><body><a href="x.html?a&amp;b"/><a href='y.html'>y</a></body></html>`, Hyperlink, []string{"/dir/x.html?a&b", "/dir/y.html"}},
	{"RSS items", Feed,
		`<rss><channel><link>/</link><item><link>i1.html</link><description>&lt;a href="d1.html?a&amp;amp;b"&gt;</description></item><item><link><![CDATA[i2.html]]></link><description><![CDATA[<a href="d2.html">]]></description><enclosure url="e.mp3"/></item></channel></rss>`, Hyperlink,
		[]string{"/", "/dir/i1.html", "/dir/d1.html?a&b", "/dir/i2.html", "/dir/d2.html", "/dir/e.mp3"}},
	{"Atom entries", Feed,
		`<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://zoo.test/blog/"><link href="./"/><entry><link rel="alternate" href="e1"/><content type="html">&lt;a href='c1'></content><content type="xhtml"><div><a href="c2">x</a></div></content></entry></feed>`, Hyperlink,
		[]string{"/blog/", "/blog/e1", "/blog/c1", "/blog/c2"}},
	{"RSS 1.0", Feed, `<rdf:RDF><item rdf:about="x"><link>r.html</link></item></rdf:RDF>`, Hyperlink,
		[]string{"/dir/r.html"}},
	{"sitemap", Sitemap,
		`<urlset><url><loc> http://zoo.test/s1 </loc><lastmod>2024-01-02</lastmod></url><url><loc>http://zoo.test/s2?a&amp;b</loc></url></urlset>`, Discovered, []string{"/s1", "/s2?a&b"}},
	{"web manifest", Manifest, `{"name":"src","icons":[{"src":"i\u002epng","sizes":"1x1"},{"src":"..\/j.png"}]}`,
		Requisite, []string{"/dir/i.png", "/j.png"}},
	{"inline script", HTML,
		`<script>var i = new Image(); i.src = "roll/over.png"; open('/pop.html#x', "w"); load(` + "`../t.json`" +
			`)</script>`, InScript, []string{"/dir/roll/over.png", "/pop.html", "/t.json"}},
	{"inline script, absolute", HTML,
		`<script type="text/javascript">x = {"emoji":"http:\/\/zoo.test\/e.min.js?ver=5.2", 'host': '//zoo.test/h.css'}</script>`, InScript, []string{"/e.min.js?ver=5.2", "/h.css"}},
	{"inline script, escapes", HTML, `<script>a("\x2fx\u002ehtml", '\/y.html', "\u{2f}z.html")</script>`,
		InScript, []string{"/x.html", "/y.html", "/z.html"}},
	{"inline module", HTML,
		`<script type=module>import a from "./a.js"; import("../b.js"); export * from '/c.mjs'; new URL("d.png", import.meta.url)</script>`, InScript, []string{"/dir/a.js", "/b.js", "/c.mjs", "/dir/d.png"}},
	{"import map", HTML, `<script type=importmap>{"imports": {"lib/x.js": "./lib/x.js", "y": "/y.js"}}</script>`,
		InScript, []string{"/dir/lib/x.js", "/y.js"}},
	{"contents that DocFX loads", HTML,
		`<meta property="docfx:navrel" content="../toc.html"><meta name="docfx:tocrel" content=toc><meta property="docfx:rel" content="../">`,
		Frame, []string{"/toc.html", "/dir/toc"}},
	{"prefixes of an import map", HTML,
		`<script type=importmap>{"imports": {"t/": "/lib/", "t/a/": "./jsm/", "u/": "https://cdn.test/u/", "v": "/v/", "w/": null}}</script>` +
			`<script type=module>import {A} from 't/a/c/O.js'; import("t/x.js"); import "u/y.mjs"; import "v/z.js"; import "w/z.js"; import "t/" + x; f("t/a.png")</script>`,
		InScript, []string{"/dir/jsm/c/O.js", "/lib/x.js", "https://cdn.test/u/y.mjs", "/dir/t/a.png"}},
	{"an import map whose prefix is an address", HTML,
		`<script type=importmap>{"imports": {"./": "lib/"}}</script><script type=module>import "./x.js"; import "/y.js"</script>`,
		Discovered, []string{"/dir/lib/x.js", "/y.js"}},
	{"event handlers", HTML, `<a href=# onclick="go('p.html?a=1&amp;b=2')" onmouseover='i.src = "on.gif"'>x</a>`,
		InScript, []string{"/dir/p.html?a=1&b=2", "/dir/on.gif"}},
	{"script in srcdoc", HTML, `<iframe srcdoc="<script>f('/q.html')</script>"></iframe>`, InScript,
		[]string{"/q.html"}},
	{"script file", Script,
		`import{a as b}from"./chunk.js";import "/abs.js";f("/img/x.png");f("rel/not.png");f("https://zoo.test/y.woff2")`, Discovered, []string{"/dir/chunk.js", "/abs.js", "/img/x.png", "https://zoo.test/y.woff2"}},
	{"web manifest start_url", Manifest,
		`{"start_url":"/app?x","shortcuts":[{"name":"n","url":"s.html"}],"related_applications":[{"platform":"play","url":"http://shop.test/x"}],"protocol_handlers":[{"protocol":"web+x","url":"/p?q=%s"}]}`, Hyperlink, []string{"/app?x", "/dir/s.html"}},
}

// TestLinkZoo finds every kind of link, replaces it by another page of the set, and finds exactly the new
// ones in the result; a second relocation changes nothing.
func TestLinkZoo(t *testing.T) {
	kinds := map[string]bool{}
	for _, c := range zoo {
		kinds[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			raw := []byte(c.doc)
			in := Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: c.format}
			var d Doc
			if err := d.Scan(raw, in); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range d.Links {
				if l.Kind == c.kind {
					got = append(got, strings.TrimPrefix(string(l.URL), "http://zoo.test"))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("found %q, want %q", got, c.want)
			}
			checkRelocation(t, raw, in)
		})
	}
	if len(kinds) < 32 {
		t.Errorf("the zoo has %d kinds, want at least 32", len(kinds))
	}
}

// nastyTarget is a valid relative reference full of characters that some context must escape.
func nastyTarget(i int) []byte { return fmt.Appendf(nil, "../n%d/it's_(a)&b,c;d=~e.png?x=1&lt=2'", i) }

// targetOf is nastyTarget where any reference can be written. A string in a script is one only as long as it
// looks like one.
func targetOf(l *Link, i int) []byte {
	if l.Ctx&CtxJS != 0 {
		return fmt.Appendf(nil, "n%d/e.png", i)
	}
	return nastyTarget(i)
}

// checkRelocation holds what must hold for any document: spans are sound, splicing with identity changes
// nothing, and a scan of the spliced document gives the new targets; a second relocation gives the same
// bytes.
func checkRelocation(t *testing.T, raw []byte, in Input) {
	t.Helper()
	var d Doc
	if err := d.Scan(raw, in); err != nil {
		t.Fatal(err)
	}
	checkSpans(t, raw, &d)
	checkRefs(t, raw, in.URL, &d)
	same, edited := replaceLinks(nil, raw, d.Charset, d.Links, nil, func(i int) ([]byte, bool, bool) {
		return nil, false, false
	})
	if !bytes.Equal(same, raw) || edited != nil {
		t.Fatalf("a splice that replaces nothing changed\n%q to\n%q", raw, same)
	}
	out, _ := replaceLinks(nil, raw, d.Charset, d.Links, d.Edits, func(i int) ([]byte, bool, bool) {
		return targetOf(&d.Links[i], i), true, d.Links[i].URL != nil
	})
	in2 := in
	if d.CharsetFrom == FromHeader && d.Format != Script { // a script has no place for it
		in2.HeaderCharset = "" // it must now be declared in the document
	}
	var d2 Doc
	if err := d2.Scan(out, in2); err != nil {
		t.Fatal(err)
	}
	checkSpans(t, out, &d2)
	if d2.Charset != d.Charset && !(neutral(d.sc.cs, raw) && neutral(d2.sc.cs, raw)) {
		t.Fatalf("charset %s became %s in\n%q", d.Charset, d2.Charset, out)
	}
	if len(d2.Links) != len(d.Links) {
		t.Fatalf("%d links became %d in\n%q\n%q", len(d.Links), len(d2.Links), raw, out)
	}
	for i := range d.Links {
		l, l2 := &d.Links[i], &d2.Links[i]
		if l.URL == nil || l.Kind == Discovered {
			continue
		}
		want, _, err := in.URL.Resolve(string(targetOf(l, i)))
		if err != nil {
			t.Fatal(err)
		}
		got := string(l2.URL)
		// What a context cannot hold is percent-encoded: the same resource for any server.
		got, w := strings.ReplaceAll(got, "%27", "'"), strings.ReplaceAll(want.String(), "%27", "'")
		got, w = strings.ReplaceAll(got, "%7E", "~"), strings.ReplaceAll(w, "%7E", "~")
		if got != w {
			t.Fatalf("link %d of\n%q is %q (%q) in\n%q, want %q", i, raw, got, l2.Ref, out, w)
		}
	}
	again, edited := replaceLinks(nil, out, d2.Charset, d2.Links, d2.Edits, func(i int) ([]byte, bool, bool) {
		return targetOf(&d2.Links[i], i), true, d2.Links[i].URL != nil && d.Links[i].URL != nil
	})
	if !bytes.Equal(again, out) {
		t.Fatalf("a second relocation changed\n%q to\n%q (edits %v)", out, again, edited)
	}
}

func checkSpans(t *testing.T, raw []byte, d *Doc) {
	t.Helper()
	last := int32(0)
	for i, l := range d.Links {
		if l.Start < last || l.End < l.Start || int(l.End) > len(raw) {
			t.Fatalf("link %d has span %d:%d after %d in %d bytes %q", i, l.Start, l.End, last, len(raw), raw)
		}
		last = l.End
	}
	last = 0
	for i, e := range d.Edits {
		if e.Start < last || e.End < e.Start || int(e.End) > len(raw) || int(e.Link) >= len(d.Links) {
			t.Fatalf("edit %d %+v after %d in %d bytes %q", i, e, last, len(raw), raw)
		}
		last = e.End
		for _, l := range d.Links {
			// one that is only found is never replaced: a script may be written anew as a whole
			if l.Kind != Discovered && e.Start < l.End && l.Start < e.End {
				t.Fatalf("edit %+v overlaps link %d:%d of %q", e, l.Start, l.End, raw)
			}
		}
	}
}

// checkRefs holds every URL against its reference, which also shows memory that was used again too early.
func checkRefs(t *testing.T, raw []byte, base site.URL, d *Doc) {
	t.Helper()
	for _, e := range d.Edits {
		if e.Why == EditBase {
			return // another base, or several
		}
	}
	for i, l := range d.Links {
		want, _, err := base.Resolve(string(l.Ref))
		if got := string(l.URL); (err == nil && got != want.String()) || (err != nil && got != "") {
			t.Fatalf("link %d of %q: %q became %q, want %q, %v", i, raw, l.Ref, got, want, err)
		}
	}
}

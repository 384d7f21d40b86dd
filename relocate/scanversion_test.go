// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/found.txt, for a ScanVersion that was raised")

const foundFile = "testdata/found.txt"

// testdata/found.txt lists which links are found: for every attribute on every element, every relation type,
// meta, script extension, and in a sample of each format. The stored links of documents were found by these
// rules, so when the list changes, ScanVersion has to.
func TestScanVersion(t *testing.T) {
	got := fmt.Sprintf("scan version %d\n", ScanVersion) + found(t)
	raw, err := os.ReadFile(foundFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for _, l := range linkAttributes {
		if !strings.Contains(got, "\nattribute "+l.name+" on ") {
			t.Errorf("%s: on no element is it a link: no line of this list shows it", l.name)
		}
	}
	want := string(raw)
	if got == want {
		return
	}
	versionLine, _, _ := strings.Cut(got, "\n")
	wantedLine, _, _ := strings.Cut(want, "\n")
	switch {
	case versionLine == wantedLine:
		t.Errorf(
			"other links are found than ScanVersion %d finds: raise ScanVersion in attributes.go, so that stored "+
				"documents are scanned again; "+
				"then go test ./relocate -run TestScanVersion -update\n%s", ScanVersion, difference(want, got))
	case *update:
		if err := os.WriteFile(foundFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("ScanVersion is %d, %s has another: go test ./relocate -run TestScanVersion -update\n%s",
			ScanVersion, foundFile, difference(want, got))
	}
}

// difference lists the lines that only one of two texts has.
func difference(want, got string) string {
	var b strings.Builder
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, l := range w {
		if !slices.Contains(g, l) {
			b.WriteString("-" + l + "\n")
		}
	}
	for _, l := range g {
		if !slices.Contains(w, l) {
			b.WriteString("+" + l + "\n")
		}
	}
	return b.String()
}

func found(t *testing.T) string {
	var b strings.Builder
	line := func(f string, args ...any) { fmt.Fprintf(&b, f+"\n", args...) }
	attributes(t, line)
	for _, w := range slices.Sorted(maps.Keys(relWords)) {
		line("rel %s: %s; with hreflang %s", w, linksIn(t, HTML, `<link rel="`+w+`" href="v.html">`),
			linksIn(t, HTML, `<link rel="`+w+`" hreflang="de" href="v.html">`))
	}
	for _, w := range slices.Sorted(maps.Keys(metaKinds)) {
		line("meta %s: %s", w, linksIn(t, HTML, `<meta name="`+w+`" content="v.html">`))
	}
	extensions(line)
	for _, s := range samples() {
		line("%v sample: %s", s.format, linksIn(t, s.format, s.text))
	}
	return b.String()
}

// attributes lists on which elements which attributes are links.
func attributes(t *testing.T, line func(string, ...any)) {
	with := map[string][]string{ // other attributes that decide
		"link": {` rel="stylesheet"`, ` rel="next"`}, "input": {` type="image"`}, "param": {` name="movie"`},
		"meta": {` http-equiv="refresh"`},
	}
	tags := append(namesIn(tagNames), "unknown-element")
	for _, name := range namesIn(attrNames) {
		byResult := map[string][]string{}
		for _, tag := range tags {
			for _, more := range append(with[tag], "") {
				if strings.HasPrefix(more, " "+name+"=") {
					continue
				}
				var all []string
				for _, value := range []string{
					"v.png", "v.png 1x, w.png 2x", "url(v.png)", "f('/v.png')", "0; url=v.html",
				} {
					if r := linksIn(t, HTML, `<`+tag+more+` `+name+`="`+value+`">`); r != "" {
						all = append(all, value+" → "+r)
					}
				}
				if r := strings.Join(all, " | "); r != "" {
					byResult[r] = append(byResult[r], tag+more)
				}
			}
		}
		for _, r := range slices.Sorted(maps.Keys(byResult)) {
			line("attribute %s on %s: %s", name, elements(byResult[r], tags), r)
		}
	}
}

// elements lists those in on, or when it is most those that are not.
func elements(on, all []string) string {
	if len(on) < len(all)/2 {
		return strings.Join(on, ", ")
	}
	but := slices.DeleteFunc(slices.Clone(all), func(tag string) bool { return slices.Contains(on, tag) })
	return strings.TrimSpace("every element, without " + strings.Join(but, ", "))
}

// extensions lists the extensions by which a string of a script counts as an address.
func extensions(line func(string, ...any)) {
	var alone, within []string
	var try func(word []byte, most int)
	try = func(word []byte, most int) {
		if isAlone, known := fileExtension(string(word)); isAlone {
			alone = append(alone, string(word))
		} else if known {
			within = append(within, string(word))
		}
		if len(word) < most {
			for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789") {
				try(append(word, c), most)
			}
		}
	}
	try(make([]byte, 0, 8), 4)
	for _, w := range []string{
		"xhtml", "woff2", "geojson", "webmanifest", "jsonld", "ndjson", "shtml", "module",
	} {
		try([]byte(w), 0)
	}
	line("script: a name alone with %s", strings.Join(alone, " "))
	line("script: a path with %s", strings.Join(within, " "))
}

// linksIn returns the links found in a document.
func linksIn(t *testing.T, f Format, text string) string {
	t.Helper()
	var d Doc
	if err := d.Scan([]byte(text), Input{
		URL:           mustURL(t, "http://zoo.test/dir/page.html"),
		Format:        f,
		HeaderCharset: "utf-8",
	}); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range d.Links {
		out = append(out, fmt.Sprintf("%v %s", l.Kind, l.Ref))
	}
	return strings.Join(out, ", ")
}

// namesIn returns the names of a table in order.
func namesIn[ID ~uint8](table *names[ID]) []string {
	var all []string
	for _, n := range table {
		if n.id != 0 {
			all = append(all, n.name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

type sample struct {
	format Format
	text   string
}

func samples() []sample {
	return []sample{
		{HTML,
			`<style>@import "a.css"; p { background: url(b.png) }</style><script>f("/c.png"); import("./d.js")</script>` +
				`<object data="e.html"></object><object data="f.swf" type="x/y"></object><iframe srcdoc="<img src='g.png'>"></iframe>` +
				`<svg><image href="h.png"/><a xlink:href="i.html"/></svg><applet codebase="j/" code="k.class" archive="l.jar"></applet>`},
		{CSS,
			`@import "a.css"; @import url(b.css) print; p { background: url("c.png"), image-set("d.png" 1x, url(e.png) 2x) } @font-face { src: src(f) url(g.woff) } @namespace url(h)`},
		{SVG,
			`<?xml-stylesheet href="a.css"?><svg xmlns:xlink="x"><image xlink:href="b.png"/><a href="c.html"/><rect fill="url(d.svg#e)" style="mask: url(f.svg)"/><style>p{background:url(g.png)}</style></svg>`},
		{SVG,
			`<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:import href="a.xsl"/><img src="{b}.png"/><a href="c.html">x</a></xsl:stylesheet>`},
		{Feed,
			`<rss><channel><link>a.html</link><image><url>b.png</url></image><item><link>c.html</link><guid>http://zoo.test/d.html</guid><comments>e.html</comments><slash:comments>7</slash:comments>` +
				`<enclosure url="f.mp3"/><description>&lt;img src="g.png"></description></item></channel></rss>`},
		{Feed,
			`<feed><link href="a.html"/><link rel="self" href="b.xml"/><icon>c.png</icon><logo>d.png</logo><entry><link rel="enclosure" href="e.mp3"/><id>f</id>` +
				`<content type="html">&lt;a href="g.html"></content><content src="h.html"/></entry></feed>`},
		{Sitemap,
			`<urlset><url><loc>http://zoo.test/a.html</loc><image:image><image:loc>http://zoo.test/b.png</image:loc></image:image>` +
				`<xhtml:link rel="alternate" hreflang="de" href="http://zoo.test/c.html"/></url></urlset>`},
		{Manifest,
			`{"start_url":"a.html","scope":"b/","icons":[{"src":"c.png"}],"shortcuts":[{"url":"d.html"}],"share_target":{"action":"e"},"screenshots":[{"src":"f.png"}]}`},
		{Script, `f("/a.png"); import "./b.js"; g("http://zoo.test/c.html"); h("d.png"); k("/e.css" + x)`},
	}
}
